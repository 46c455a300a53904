// Package cluster makes several processes that share a PostgreSQL database act as
// one instance. Each such process is a replica.
//
// [Replicas] knows the other replicas: it announces this one with a heartbeat,
// forwards requests to the replica that holds their state, and broadcasts what
// others cannot read in the database. A [Lease] picks the one replica that does a
// piece of work for all. [Clock] follows the clock of the database, by which all
// replicas decide. [Follower] reloads what another replica has changed, and
// [MissLookup] looks for a credential that another replica issued a moment ago.
// [StreamStore] and [LimitPool] keep streams and limits in a shared Redis.
//
// Package app makes these parts and connects them to gateway, servers, catalog and
// apps. A nil *Replicas is a process that is alone: its methods do nothing.
//
// To read the code, begin with replicas.go and channel.go (how replicas find and
// trust each other), then forward.go and homes.go (requests), broadcast.go and
// replay_guard.go (messages), lease.go and clock.go.
package cluster

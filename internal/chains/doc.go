// Package chains follows the blockchains that the settings declare, and resolves the
// agents and files of the ERC-8004 registries on them.
//
// [Follower] runs one watcher of package erc8004 per chain and raises the events that
// come to count. Package worker asks it for the endpoint of an agent (Resolve) and for
// the content of a file (Content) before a delivery; package admin lists chains, their
// events and their agents through it. For each endpoint that a delivery goes to, the
// Follower keeps a discovered server in the store, which limits and records its calls.
// Package app makes the Follower and connects it to packages events, cluster and
// servers.
//
// Read follower.go first (what is followed, and the effects of an event), then
// deliveries.go (endpoints and files), discovered_servers.go (the servers that are kept
// for agents), admin.go (the admin API) and clients.go (how nodes and gateways are
// reached).
package chains

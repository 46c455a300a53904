package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Cluster asks all replicas that share the database for their state. internal/app
// implements it.
type Cluster interface {
	// Cluster returns the state of all replicas. A replica that does not answer is in it,
	// with the reason.
	Cluster(ctx context.Context) (ClusterState, error)
}

// ClusterState is the state of all replicas as the asked one sees it. Times are
// milliseconds.
type ClusterState struct {
	Shared   bool           `json:"shared" doc:"Whether replicas can share the database; true for PostgreSQL."`
	Schema   int64          `json:"schema" doc:"Latest schema migration of the database."`
	Database int64          `json:"database_clock_ms" doc:"Offset of the database's clock from the clock of the responding replica, in milliseconds; positive if the database is ahead."`
	Replicas []ReplicaState `json:"replicas" nullable:"false" doc:"Replicas that were seen in the last minute."`
	Leases   []LeaseState   `json:"leases" nullable:"false" doc:"Leader leases of the replicas."`
	Journals []JournalState `json:"journals" nullable:"false" doc:"Journals in the database, and journals of the replicas."`
}

// ReplicaState is one replica, from its start to its end.
type ReplicaState struct {
	ID      string    `json:"id" doc:"ID of the process; new at each start."`
	Name    string    `json:"name" doc:"Name of the data directory and of its journal."`
	URL     string    `json:"url,omitempty" doc:"URL at which the other replicas reach it. Absent if unknown."`
	Version string    `json:"version"`
	Started time.Time `json:"started_at"`
	Silent  int64     `json:"silent_ms" doc:"Time since the replica was last seen, in milliseconds of the database's clock."`
	Self    bool      `json:"self" doc:"Whether this replica sent the response."`

	Reachable bool     `json:"reachable" doc:"Whether the replica responded to the replica that sent this response."`
	Problem   string   `json:"problem,omitempty" doc:"Why the replica is unreachable."`
	Clock     int64    `json:"clock_ms" doc:"Offset of the replica's clock from the clock of the responding replica, in milliseconds; positive if it is ahead."`
	SealKey   string   `json:"seal_key,omitempty" doc:"Name of the key that encrypts new secrets."`
	SealKeys  []string `json:"seal_keys,omitempty" nullable:"false" doc:"Names of all keys that can decrypt secrets."`
	Redis     string   `json:"redis,omitempty" enum:"ok,away" doc:"State of the Redis that shares limits. Absent if no Redis is used."`
}

// LeaseState is a leader lease and the replica that holds it.
type LeaseState struct {
	Name    string `json:"name"`
	Replica string `json:"replica,omitempty" doc:"ID of the process that holds the lease. Absent if no replica holds it."`
	Left    int64  `json:"left_ms" doc:"Time until the lease expires unless it is renewed, in milliseconds."`
	Fence   int64  `json:"fence" doc:"Fencing token; it increases each time another replica takes the lease."`
}

// JournalState is the journal of one replica.
type JournalState struct {
	Replica  string   `json:"replica" doc:"Name of the replica that writes the journal."`
	Writing  bool     `json:"writing" doc:"Whether the replica runs and reported the state of its journal."`
	OK       bool     `json:"ok" doc:"Whether records are being written. If the replica does not run, whether no problem is known."`
	Records  uint64   `json:"records,omitempty" doc:"Number of the last record, if the replica runs."`
	Copied   uint64   `json:"copied" doc:"Number of the last record in the database."`
	Lag      uint64   `json:"lag" doc:"Number of records that the database does not have yet."`
	Problems []string `json:"problems,omitempty" nullable:"false"`
}

// clusterResponse is the answer to get-cluster.
type clusterResponse struct{ Body ClusterState }

// registerClusterRoutes registers the route that reports on all replicas.
func (a *api) registerClusterRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "get-cluster", Method: http.MethodGet, Path: "/cluster", Summary: "Show the state of all replicas that share the database", Tags: []string{"instance"},
	}, func(ctx context.Context, _ *empty) (*clusterResponse, error) {
		state, err := a.Cluster.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		return &clusterResponse{state}, nil
	})
}

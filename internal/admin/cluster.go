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
	Shared   bool           `json:"shared" doc:"Whether others can share the database: it is a PostgreSQL."`
	Schema   int64          `json:"schema" doc:"The newest migration of the database."`
	Database int64          `json:"database_clock_ms" doc:"How far the database's clock is ahead of the asked process's."`
	Replicas []ReplicaState `json:"replicas" nullable:"false" doc:"Every process that was seen in the last minute."`
	Leases   []LeaseState   `json:"leases" nullable:"false" doc:"Work that one does for all."`
	Journals []JournalState `json:"journals" nullable:"false" doc:"Every journal of which the database has records, and those of the replicas."`
}

// ReplicaState is one replica, from its start to its end.
type ReplicaState struct {
	ID      string    `json:"id" doc:"Of this run."`
	Name    string    `json:"name" doc:"Of its data directory, and so of its journal."`
	URL     string    `json:"url,omitempty" doc:"Where the others reach it; absent where nobody knows."`
	Version string    `json:"version"`
	Started time.Time `json:"started_at"`
	Silent  int64     `json:"silent_ms" doc:"Since when it was not seen, by the clock of the database."`
	Self    bool      `json:"self" doc:"It is the replica that answers."`

	Reachable bool     `json:"reachable" doc:"It answered the asked process."`
	Problem   string   `json:"problem,omitempty" doc:"Why it did not."`
	Clock     int64    `json:"clock_ms" doc:"How far its clock is ahead of the asked process's."`
	SealKey   string   `json:"seal_key,omitempty" doc:"The name of the key that it seals with."`
	SealKeys  []string `json:"seal_keys,omitempty" nullable:"false" doc:"The names of all keys that it opens with."`
	Redis     string   `json:"redis,omitempty" enum:"ok,away" doc:"The Redis that limits are shared through; absent where it uses none."`
}

// LeaseState is a leader lease and the replica that holds it.
type LeaseState struct {
	Name    string `json:"name"`
	Replica string `json:"replica,omitempty" doc:"The id of the process; absent where nobody has it now."`
	Left    int64  `json:"left_ms" doc:"For how long, unless it is renewed."`
	Fence   int64  `json:"fence" doc:"Grows whenever another takes it."`
}

// JournalState is the journal of one replica.
type JournalState struct {
	Replica  string   `json:"replica" doc:"The name of the replica that writes it."`
	Writing  bool     `json:"writing" doc:"The replica runs, and said how its journal is doing."`
	OK       bool     `json:"ok" doc:"Records are being written; where the replica does not run, nothing is known to be wrong."`
	Records  uint64   `json:"records,omitempty" doc:"The last record, where the replica runs."`
	Copied   uint64   `json:"copied" doc:"The last record that the database has."`
	Lag      uint64   `json:"lag" doc:"Records that the database does not have yet."`
	Problems []string `json:"problems,omitempty" nullable:"false"`
}

// clusterResponse is the answer to get-cluster.
type clusterResponse struct{ Body ClusterState }

// registerClusterRoutes registers the route that reports on all replicas.
func (a *api) registerClusterRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "get-cluster", Method: http.MethodGet, Path: "/cluster", Summary: "Say how all processes are that share the database", Tags: []string{"instance"},
	}, func(ctx context.Context, _ *empty) (*clusterResponse, error) {
		state, err := a.Cluster.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		return &clusterResponse{state}, nil
	})
}

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

const (
	// statePath is where replicas ask each other for their state.
	statePath = "/replica/state"
	// stateTimeout is how long to wait for another replica.
	stateTimeout = 5 * time.Second
	maxState     = 1 << 20
)

// State is the state of one replica, as it reports it.
type State struct {
	ID       string      `json:"id"`
	Time     time.Time   `json:"time"`
	SealKey  string      `json:"seal_key"`
	SealKeys []string    `json:"seal_keys"`
	Redis    string      `json:"redis"`
	Journal  audit.State `json:"journal"`
}

// serveState serves statePath.
func (p *Replicas) serveState(w http.ResponseWriter, r *http.Request) {
	s, err := p.parts.ReadState(r.Context())
	if err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s)
}

// askState asks another replica for its state, and returns how far its clock is
// ahead of ours.
func (p *Replicas) askState(ctx context.Context, n store.Replica) (s State, ahead time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	to := p.findReplica(ctx, n.ID)
	switch {
	case n.URL == "":
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "it listens on every address; set --replica-url so that the other replicas can reach it")
	case to == nil:
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "its last heartbeat was %v ago", n.Silent.Round(time.Second))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.url.JoinPath(statePath).String(), nil)
	if err != nil {
		return s, 0, err
	}
	asked := time.Now()
	resp, err := to.client.Do(req)
	if err != nil {
		return s, 0, err
	}
	defer resp.Body.Close()
	took := time.Since(asked)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxState))
	if err != nil {
		return s, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "%s responds with HTTP %d, perhaps because it runs another version", n.URL, resp.StatusCode)
	}
	if err := json.Unmarshal(body, &s); err != nil || s.ID != n.ID {
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "%s responds as another replica", n.URL)
	}
	return s, s.Time.Sub(asked.Add(took / 2)), nil
}

// Status implements admin.Cluster.
type Status struct {
	Store     *store.Store
	Replicas  *Replicas // nil if the process is alone
	Name      string    // of this instance
	Version   string
	ReadState func(ctx context.Context) (State, error) // of this replica
}

// Cluster asks all replicas for their state, at the same time.
func (c Status) Cluster(ctx context.Context) (admin.ClusterState, error) {
	out := admin.ClusterState{Shared: c.Replicas != nil, Replicas: []admin.ReplicaState{}, Leases: []admin.LeaseState{}, Journals: []admin.JournalState{}}
	var err error
	if out.Schema, err = c.Store.SchemaVersion(ctx); err != nil {
		return out, err
	}
	asked := time.Now()
	now, err := c.Store.Clock(ctx)
	if err != nil {
		return out, err
	}
	out.Database = now.Sub(asked.Add(time.Since(asked) / 2)).Milliseconds()
	replicas := []store.Replica{{Name: c.Name, Version: c.Version}} // a process that is alone has no row
	if c.Replicas != nil {
		if replicas, err = c.Store.Replicas(ctx); err != nil {
			return out, err
		}
	}
	states := make([]State, len(replicas))
	out.Replicas = make([]admin.ReplicaState, len(replicas))
	var all sync.WaitGroup
	for i, n := range replicas {
		all.Go(func() { out.Replicas[i], states[i] = c.queryReplica(ctx, n) })
	}
	all.Wait()
	if out.Leases, err = c.listLeases(ctx); err != nil {
		return out, err
	}
	out.Journals, err = c.listJournals(ctx, out.Replicas, states)
	return out, err
}

// queryReplica returns the state of one replica. A replica that does not answer is
// reported as a problem, not as an error, so that the others are still shown.
func (c Status) queryReplica(ctx context.Context, n store.Replica) (admin.ReplicaState, State) {
	out := admin.ReplicaState{ID: n.ID, Name: n.Name, URL: n.URL, Version: n.Version, Started: n.StartedAt, Silent: n.Silent.Milliseconds(), Self: n.ID == c.Replicas.Self()}
	var s State
	var ahead time.Duration
	var err error
	if out.Self {
		s, err = c.ReadState(ctx)
	} else {
		s, ahead, err = c.Replicas.askState(ctx, n)
	}
	if err != nil {
		out.Problem = problemText(err)
		return out, State{}
	}
	out.Reachable, out.Clock, out.SealKey, out.SealKeys, out.Redis = true, ahead.Milliseconds(), s.SealKey, s.SealKeys, s.Redis
	return out, s
}

// problemText returns the message of an error for operators. Internal errors are
// shown whole.
func problemText(err error) string {
	if e := junctor.AsError(err); e.Code != junctor.CodeInternal {
		return e.Message
	}
	return err.Error()
}

func (c Status) listLeases(ctx context.Context) ([]admin.LeaseState, error) {
	rows, err := c.Store.Leases(ctx)
	out := make([]admin.LeaseState, len(rows))
	for i, l := range rows {
		out[i] = admin.LeaseState{Name: l.Name, Replica: l.Replica, Left: max(l.Left, 0).Milliseconds(), Fence: l.Fence}
		if l.Left <= 0 {
			out[i].Replica = ""
		}
	}
	return out, err
}

// listJournals returns the journals of the replicas that answered, and those that only
// the database still has records of.
func (c Status) listJournals(ctx context.Context, replicas []admin.ReplicaState, states []State) ([]admin.JournalState, error) {
	out := []admin.JournalState{}
	known := map[string]bool{}
	for i, n := range replicas {
		if j := states[i].Journal; n.Reachable && !known[n.Name] {
			known[n.Name] = true
			one := admin.JournalState{Replica: n.Name, Writing: true, OK: j.OK, Records: j.Seq, Copied: j.Shipped, Lag: j.Lag, Problems: j.Problems}
			if j.Error != "" {
				one.Problems = append(one.Problems, j.Error)
			}
			out = append(out, one)
		}
	}
	stored, err := c.Store.AuditReplicas(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range stored {
		if known[name] {
			continue
		}
		last, err := c.Store.AuditShipped(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("the journal of %s: %w", name, err)
		}
		out = append(out, admin.JournalState{Replica: name, OK: true, Copied: last})
	}
	return out, nil
}

package app

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
	// statePath is where processes tell each other how they are.
	statePath = "/peer/state"
	// stateWithin is how long another process is waited for.
	stateWithin = 5 * time.Second
	maxState    = 1 << 20
)

// state is how one process is, as it says itself.
type state struct {
	ID       string      `json:"id"`
	Time     time.Time   `json:"time"`
	SealKey  string      `json:"seal_key"`
	SealKeys []string    `json:"seal_keys"`
	Redis    string      `json:"redis"`
	Journal  audit.State `json:"journal"`
}

// state says how this process is.
func (a *App) state(ctx context.Context) (state, error) {
	s := state{ID: a.peers.Self(), Journal: a.journal.State()}
	var err error
	if s.SealKey, s.SealKeys, err = a.vault.Keys(ctx); err != nil {
		return s, err
	}
	if a.pool != nil {
		ctx, cancel := context.WithTimeout(ctx, answersWithin)
		defer cancel()
		if s.Redis = "ok"; a.pool.redis.Ping(ctx).Err() != nil {
			s.Redis = "away"
		}
	}
	s.Time = time.Now() // last, since it is compared with when the answer comes
	return s, nil
}

// tellState answers another process.
func (a *App) tellState(w http.ResponseWriter, r *http.Request) {
	s, err := a.state(r.Context())
	if err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s)
}

// askState asks another process, and says how far its clock is ahead of ours.
func (p *peers) askState(ctx context.Context, n store.Node) (s state, ahead time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, stateWithin)
	defer cancel()
	to := p.find(ctx, n.ID)
	switch {
	case n.URL == "":
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "it listens on every address, and does not say where the others reach it")
	case to == nil:
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "it was not seen for %v", n.Silent.Round(time.Second))
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
	defer resp.Body.Close() // it was read
	took := time.Since(asked)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxState))
	if err != nil {
		return s, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "%s answers %d: it is of another version", n.URL, resp.StatusCode)
	}
	if err := json.Unmarshal(body, &s); err != nil || s.ID != n.ID {
		return s, 0, junctor.Errorf(junctor.CodeUnavailable, "%s answers for another process", n.URL)
	}
	return s, s.Time.Sub(asked.Add(took / 2)), nil
}

// cluster implements admin.Cluster.
type cluster struct{ app *App }

// Cluster asks every process, all at once.
func (c cluster) Cluster(ctx context.Context) (admin.ClusterState, error) {
	a := c.app
	out := admin.ClusterState{Shared: a.peers != nil, Nodes: []admin.NodeState{}, Leases: []admin.LeaseState{}, Journals: []admin.JournalState{}}
	var err error
	if out.Schema, err = a.store.SchemaVersion(ctx); err != nil {
		return out, err
	}
	asked := time.Now()
	now, err := a.store.Clock(ctx)
	if err != nil {
		return out, err
	}
	out.Database = now.Sub(asked.Add(time.Since(asked) / 2)).Milliseconds()
	nodes := []store.Node{{Name: a.node, Version: a.version}} // who is alone says so to nobody
	if a.peers != nil {
		if nodes, err = a.store.Nodes(ctx); err != nil {
			return out, err
		}
	}
	states := make([]state, len(nodes))
	out.Nodes = make([]admin.NodeState, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { out.Nodes[i], states[i] = c.node(ctx, n) })
	}
	all.Wait()
	if out.Leases, err = c.leases(ctx); err != nil {
		return out, err
	}
	out.Journals, err = c.journals(ctx, out.Nodes, states)
	return out, err
}

func (c cluster) node(ctx context.Context, n store.Node) (admin.NodeState, state) {
	out := admin.NodeState{ID: n.ID, Name: n.Name, URL: n.URL, Version: n.Version, Started: n.StartedAt, Silent: n.Silent.Milliseconds(), Asked: n.ID == c.app.peers.Self()}
	var s state
	var ahead time.Duration
	var err error
	if out.Asked {
		s, err = c.app.state(ctx)
	} else {
		s, ahead, err = c.app.peers.askState(ctx, n)
	}
	if err != nil {
		out.Problem = why(err)
		return out, state{}
	}
	out.Reachable, out.Clock, out.SealKey, out.SealKeys, out.Redis = true, ahead.Milliseconds(), s.SealKey, s.SealKeys, s.Redis
	return out, s
}

// why is an error for who looks after the processes.
func why(err error) string {
	if e := junctor.AsError(err); e.Code != junctor.CodeInternal {
		return e.Message
	}
	return err.Error()
}

func (c cluster) leases(ctx context.Context) ([]admin.LeaseState, error) {
	rows, err := c.app.store.Leases(ctx)
	out := make([]admin.LeaseState, len(rows))
	for i, l := range rows {
		out[i] = admin.LeaseState{Name: l.Name, Node: l.Node, Left: max(l.Left, 0).Milliseconds(), Fence: l.Fence}
		if l.Left <= 0 {
			out[i].Node = ""
		}
	}
	return out, err
}

// journals are those of the nodes that answered, and those that the database has
// records of.
func (c cluster) journals(ctx context.Context, nodes []admin.NodeState, states []state) ([]admin.JournalState, error) {
	out := []admin.JournalState{}
	known := map[string]bool{}
	for i, n := range nodes {
		if j := states[i].Journal; n.Reachable && !known[n.Name] {
			known[n.Name] = true
			one := admin.JournalState{Node: n.Name, Writing: true, OK: j.OK, Records: j.Seq, Copied: j.Shipped, Lag: j.Lag, Problems: j.Problems}
			if j.Error != "" {
				one.Problems = append(one.Problems, j.Error)
			}
			out = append(out, one)
		}
	}
	stored, err := c.app.store.AuditNodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range stored {
		if known[name] {
			continue
		}
		last, err := c.app.store.AuditShipped(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("the journal of %s: %w", name, err)
		}
		out = append(out, admin.JournalState{Node: name, OK: true, Copied: last})
	}
	return out, nil
}

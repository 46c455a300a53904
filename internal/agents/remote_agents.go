package agents

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// RemoteAgents offers agents of other parties as tools: the published agents whose
// model is of the kind a2a. Each tenant has a built-in server of its own, made when the
// first such agent appears.
type RemoteAgents struct {
	o       Options
	turns   *TurnFactory
	servers Servers // set by Registry.Attach

	mu      sync.Mutex
	open    bool // servers may be attached
	tenants map[junctor.TenantID]*servers.RemoteAgentsServer
	titles  map[junctor.TenantID]map[string]string // titles of the tools, by agent
}

func newRemoteAgents(o Options, turns *TurnFactory) *RemoteAgents {
	return &RemoteAgents{o: o, turns: turns, tenants: map[junctor.TenantID]*servers.RemoteAgentsServer{}, titles: map[junctor.TenantID]map[string]string{}}
}

// Server returns the server of a tenant; nil if the tenant never had a remote agent.
func (e *RemoteAgents) Server(tenant junctor.TenantID) *servers.RemoteAgentsServer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tenants[tenant]
}

// Start attaches the servers that exist. From then on, changes attach new servers.
func (e *RemoteAgents) Start(ctx context.Context) error {
	e.mu.Lock()
	e.open = true
	tenants := make([]junctor.TenantID, 0, len(e.tenants))
	for tenant := range e.tenants {
		tenants = append(tenants, tenant)
	}
	e.mu.Unlock()
	for _, tenant := range tenants {
		if err := e.offer(ctx, tenant); err != nil {
			return err
		}
	}
	return nil
}

// update makes the tools of a tenant's server match its agents.
func (e *RemoteAgents) update(ctx context.Context, tenant junctor.TenantID, agents []junctor.Agent) error {
	wanted, err := e.wanted(ctx, tenant, agents)
	if err != nil {
		return err
	}
	e.mu.Lock()
	s, titles, open := e.tenants[tenant], e.titles[tenant], e.open
	if s == nil && len(wanted) == 0 {
		e.mu.Unlock()
		return nil
	}
	if s == nil {
		if s, err = servers.NewRemoteAgentsServer(e.o.Log); err != nil {
			e.mu.Unlock()
			return err
		}
		e.tenants[tenant] = s
	}
	e.titles[tenant] = wanted
	e.mu.Unlock()
	for name, title := range titles {
		if wanted[name] != title {
			s.RemoveTool(name)
		}
	}
	for name, title := range wanted {
		if titles[name] != title {
			if err := e.add(s, tenant, name, title); err != nil {
				return err
			}
		}
	}
	switch {
	case !open:
		return nil
	case e.attached(tenant):
		if maps.Equal(titles, wanted) {
			return nil
		}
		return e.o.Catalog.Refresh(ctx, tenant, servers.RemoteAgentsID) // the next request sees it
	}
	return e.offer(ctx, tenant)
}

// attached reports whether the catalog shows the server of a tenant.
func (e *RemoteAgents) attached(tenant junctor.TenantID) bool {
	return e.servers.IsAttached(tenant, servers.RemoteAgentsID)
}

// wanted returns the titles of the agents that are offered as tools, by agent.
func (e *RemoteAgents) wanted(ctx context.Context, tenant junctor.TenantID, agents []junctor.Agent) (map[string]string, error) {
	wanted := map[string]string{}
	var kinds map[string]junctor.ModelKind
	for i := range agents {
		a := &agents[i]
		if !a.Published || a.Disabled || a.Brain == nil || a.Brain.Model == "" {
			continue
		}
		if kinds == nil {
			models, err := e.o.Store.For(tenant).Models(ctx)
			if err != nil {
				return nil, err
			}
			kinds = map[string]junctor.ModelKind{}
			for _, m := range models {
				kinds[m.Name] = m.Kind
			}
		}
		if kinds[a.Brain.Model] == junctor.ModelA2A {
			wanted[a.Name] = cmp.Or(a.Title, a.Name)
		}
	}
	return wanted, nil
}

// offer attaches the server of a tenant, unless it was removed or is switched off, or
// the tenant has another server with that id.
func (e *RemoteAgents) offer(ctx context.Context, tenant junctor.TenantID) error {
	if e.attached(tenant) {
		return nil
	}
	s, rows := e.Server(tenant), e.o.Store.For(tenant)
	if err := rows.EnsureBuiltin(ctx, servers.RemoteAgentsID, s.Title()); err != nil {
		return err
	}
	row, err := rows.Server(ctx, servers.RemoteAgentsID)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return nil
	case err != nil || row.Mode != junctor.ModeBuiltin || row.State == junctor.StateInactive:
		return err
	}
	if err = e.servers.AttachBuiltin(ctx, &row); junctor.CodeOf(err) == junctor.CodeConflict {
		return nil // the follower of server rows attached it first
	}
	return err
}

// add adds the tool of an agent. Each call is a turn of its own.
func (e *RemoteAgents) add(s *servers.RemoteAgentsServer, tenant junctor.TenantID, name, title string) error {
	return s.AddAgent(name, title, func(ctx context.Context, message string) (agent.TurnResult, error) {
		if _, err := e.o.Store.For(tenant).PublishedAgent(ctx, name); err != nil {
			return agent.TurnResult{}, err
		}
		turn, err := e.turns.NewTurn(ctx, tenant, name)
		if err != nil {
			return agent.TurnResult{}, err
		}
		turn.Messages = []agent.Message{{Role: agent.RoleUser, Text: message}}
		end := agent.Run(ctx, turn, func(agent.Event) {})
		switch {
		case ctx.Err() != nil:
			return agent.TurnResult{}, ctx.Err()
		case end.Outcome != agent.OutcomeDone:
			return agent.TurnResult{}, errors.New(end.Reason)
		}
		return end, nil
	})
}

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// elsewhere makes tools of agents that other parties run: of those that think
// with a model of the kind a2a and are published. Each tenant has a server of its
// own, from the first such agent on.
type elsewhere struct {
	app *App

	mu      sync.Mutex
	open    bool // servers may be attached
	servers map[junctor.TenantID]*builtin.Server
	told    map[junctor.TenantID]map[string]string // what the tools say of themselves, by agent
}

func newElsewhere(a *App) *elsewhere {
	return &elsewhere{app: a, servers: map[junctor.TenantID]*builtin.Server{}, told: map[junctor.TenantID]map[string]string{}}
}

// server gives a tenant's; nil where it has had no such agent.
func (e *elsewhere) server(tenant junctor.TenantID) *builtin.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.servers[tenant]
}

// begin attaches what there is. From here on changes attach what is new.
func (e *elsewhere) begin(ctx context.Context) error {
	e.mu.Lock()
	e.open = true
	tenants := make([]junctor.TenantID, 0, len(e.servers))
	for tenant := range e.servers {
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

// changed has a tenant's tools be those of its agents.
func (e *elsewhere) changed(ctx context.Context, tenant junctor.TenantID, agents []junctor.Agent) error {
	wanted, err := e.wanted(ctx, tenant, agents)
	if err != nil {
		return err
	}
	e.mu.Lock()
	s, told, open := e.servers[tenant], e.told[tenant], e.open
	if s == nil && len(wanted) == 0 {
		e.mu.Unlock()
		return nil
	}
	if s == nil {
		if s, err = builtin.New(servers.RemoteAgentsID, "Agents elsewhere", builtin.Options{
			Instructions: "Each tool is an agent of another party: give it a task in plain words. Each call is a conversation of its own.", Logger: e.app.log,
		}); err != nil {
			e.mu.Unlock()
			return err
		}
		e.servers[tenant] = s
	}
	e.told[tenant] = wanted
	e.mu.Unlock()
	for name, about := range told {
		if wanted[name] != about {
			s.RemoveTool(name)
		}
	}
	for name, about := range wanted {
		if told[name] != about {
			if err := e.add(s, tenant, name, about); err != nil {
				return err
			}
		}
	}
	switch {
	case !open:
		return nil
	case e.attached(tenant):
		if maps.Equal(told, wanted) {
			return nil
		}
		return e.app.catalog.Refresh(ctx, tenant, servers.RemoteAgentsID) // the next request sees it
	}
	return e.offer(ctx, tenant)
}

func (e *elsewhere) attached(tenant junctor.TenantID) bool {
	return e.app.servers.IsAttached(tenant, servers.RemoteAgentsID)
}

// wanted gives the agents that are to be tools, and what those say of themselves.
func (e *elsewhere) wanted(ctx context.Context, tenant junctor.TenantID, agents []junctor.Agent) (map[string]string, error) {
	wanted := map[string]string{}
	var kinds map[string]junctor.ModelKind
	for i := range agents {
		a := &agents[i]
		if !a.Published || a.Disabled || a.Brain == nil || a.Brain.Model == "" {
			continue
		}
		if kinds == nil {
			models, err := e.app.store.For(tenant).Models(ctx)
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

// offer has the tenant's catalogue show its server, unless it was removed or is
// switched off, or the tenant has another server of that id.
func (e *elsewhere) offer(ctx context.Context, tenant junctor.TenantID) error {
	if e.attached(tenant) {
		return nil
	}
	s, rows := e.server(tenant), e.app.store.For(tenant)
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
	if err = e.app.servers.AttachBuiltin(ctx, &row); junctor.CodeOf(err) == junctor.CodeConflict {
		return nil // who follows the rows of servers was faster
	}
	return err
}

type task struct {
	Message string `json:"message"`
}

const taskSchema = `{"type":"object","properties":{"message":{"type":"string","minLength":1,"maxLength":65536,"description":"What the agent is asked or told, in plain words and with all that it needs to know."}},
"required":["message"],"additionalProperties":false}`

// add makes the tool of an agent.
func (e *elsewhere) add(s *builtin.Server, tenant junctor.TenantID, name, about string) error {
	return builtin.AddTool(s, builtin.Tool{
		Name: name, Title: about, Description: fmt.Sprintf("Ask %s, an agent of another party, or have it do something. It answers in words, and remembers nothing of former calls.", about),
		InputSchema: json.RawMessage(taskSchema), Annotations: &builtin.Annotations{ReadOnly: new(false), OpenWorld: new(true)},
	}, func(ctx context.Context, _ *builtin.Call, in task) (builtin.Result, error) {
		if _, err := e.app.store.For(tenant).PublishedAgent(ctx, name); err != nil {
			return builtin.Result{}, err
		}
		turn, err := minds{e.app}.Mind(ctx, tenant, name)
		if err != nil {
			return builtin.Result{}, err
		}
		turn.Messages = []agent.Message{{Role: agent.RoleUser, Text: in.Message}}
		end := agent.Run(ctx, turn, func(agent.Event) {})
		switch {
		case ctx.Err() != nil:
			return builtin.Result{}, ctx.Err()
		case end.Outcome != agent.Done:
			return builtin.Result{}, errors.New(end.Reason)
		}
		return answered(end)
	})
}

// answered is what an agent said and showed.
func answered(end agent.End) (builtin.Result, error) {
	out := builtin.TextResult(cmp.Or(end.Text(), "(it said nothing)"))
	for _, shown := range end.Surfaces() {
		messages, err := a2ui.Encode(&shown, a2ui.V09, a2ui.Options{})
		if err != nil {
			return out, err
		}
		text, err := json.Marshal(messages)
		if err != nil {
			return out, err
		}
		out.Content = append(out.Content, builtin.Embedded(builtin.Contents{URI: "a2ui://" + shown.ID, MIMEType: a2ui.MimeType, Text: string(text)}))
	}
	return out, nil
}

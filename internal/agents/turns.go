package agents

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/rules"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/packs"
)

// toolBudget is how many bytes of tool definitions a model gets: some 16,000 tokens.
// It searches for the other tools.
const toolBudget = 64 << 10

// TurnFactory makes turns of stored agents. It implements admin.Talker.
type TurnFactory struct {
	o        Options
	models   *ModelRegistry
	pipeline Pipeline // set by Registry.Attach, like users
	users    Identity
}

// NewTurn returns a turn of an agent that acts by itself. The turn has no messages yet.
func (m *TurnFactory) NewTurn(ctx context.Context, tenant junctor.TenantID, name string) (agent.Turn, error) {
	one, err := m.o.Store.For(tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.newTurn(ctx, m.agentPrincipal(&one), one, "")
}

// agentPrincipal is the principal of an agent that acts by itself, with the credentials
// and groups of its owner.
func (m *TurnFactory) agentPrincipal(one *junctor.Agent) *junctor.Principal {
	owner := one.OwnerUser()
	return &junctor.Principal{
		Tenant: one.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Name: one.Name, Agent: one.Name, User: owner, Groups: m.users.UserGroups(one.Tenant, owner), Scopes: agentScopes(),
	}
}

// RoomTurns makes turns of agents in rooms. Their calls are recorded with the room:
// only its members read their requests and responses, and the agent's owner may not be
// one of them.
type RoomTurns struct{ *TurnFactory }

// NewTurn returns a turn of an agent in a room. It implements room.TurnSource.
func (m RoomTurns) NewTurn(ctx context.Context, tenant junctor.TenantID, room, name string) (agent.Turn, error) {
	one, err := m.o.Store.For(tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.newTurn(ctx, m.agentPrincipal(&one), one, room)
}

// NewTurnFor returns a turn for a principal that acts as the agent: its owner, an admin
// or the agent itself. For others, the agent does not exist.
func (m *TurnFactory) NewTurnFor(ctx context.Context, p *junctor.Principal, name string) (agent.Turn, error) {
	as, err := m.o.Catalog.Snapshot().For(p.Tenant).Acting(p, name)
	if err != nil {
		return agent.Turn{}, err
	}
	one, err := m.o.Store.For(p.Tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.newTurn(ctx, as, one, "")
}

// newTurn returns a turn of an agent that acts as p. room is the id of its room; "" if
// there is none.
func (m *TurnFactory) newTurn(ctx context.Context, p *junctor.Principal, one junctor.Agent, room string) (agent.Turn, error) {
	if one.Brain == nil {
		return agent.Turn{}, junctor.Errorf(junctor.CodeInvalid, "the agent %q has neither a model nor rules: set a model with junctor agent set %s --model NAME", one.Name, one.Name)
	}
	if one.Disabled {
		return agent.Turn{}, junctor.Errorf(junctor.CodeInvalid, "the agent %q is switched off", one.Name)
	}
	t := agent.Turn{Agent: one.Name, Instructions: one.Brain.Instructions, Catalogs: m.models.components.Known(ctx, p.Tenant)}
	if one.Brain.Limits != nil {
		t.Limits = *one.Brain.Limits
	}
	if one.Brain.Rules != "" {
		r, err := rules.Parse(one.Brain.Rules, packs.Templates)
		t.Provider, t.Tools = r, &turnTools{catalog: m.o.Catalog, pipeline: m.pipeline, p: p, room: room, listAll: true}
		return t, err
	}
	provider, row, err := m.models.Provider(ctx, p.Tenant, one.Brain.Model)
	if err != nil {
		return agent.Turn{}, err
	}
	t.Provider, t.Model = provider, row.Model
	if row.Kind != junctor.ModelA2A { // a remote agent has tools of its own
		t.Provider = toolListRecorder{Provider: provider, pipeline: m.pipeline, p: p}
		t.Tools = &turnTools{catalog: m.o.Catalog, pipeline: m.pipeline, p: p, room: room, view: catalog.Scope{Audience: catalog.AudienceModel, Budget: toolBudget}}
	}
	return t, nil
}

// RunAgent runs a turn of an agent for a principal that acts as it. It implements
// admin.Talker.
func (m *TurnFactory) RunAgent(ctx context.Context, p *junctor.Principal, name string, story []agent.Message, emit func(agent.Event)) (agent.TurnResult, error) {
	t, err := m.NewTurnFor(ctx, p, name)
	if err != nil {
		return agent.TurnResult{}, err
	}
	t.Messages = story
	began := time.Now()
	end := agent.Run(ctx, t, emit)
	m.o.Log.Debug("agent turn ended", "agent", name, "outcome", end.Outcome, "turns", end.Requests, "calls", end.Calls,
		"tokens_in", end.Usage.Input, "tokens_out", end.Usage.Output, "took", time.Since(began))
	return end, nil
}

// checkBrain refuses rules that cannot be parsed, and a model that does not exist.
func (a *Registry) checkBrain(ctx context.Context, tenant junctor.TenantID, b *junctor.Brain) error {
	if b == nil {
		return nil
	}
	if err := b.Check(); err != nil {
		return err
	}
	if b.Rules != "" {
		_, err := rules.Parse(b.Rules, packs.Templates)
		return err
	}
	row, err := a.o.Store.For(tenant).Model(ctx, b.Model)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return junctor.Errorf(junctor.CodeInvalid, "unknown model %q; junctor model ls lists the models", b.Model)
	case err == nil && row.Kind == junctor.ModelA2A && b.Instructions != "":
		return junctor.Errorf(junctor.CodeInvalid, "%q is a remote agent, which has instructions of its own: leave instructions out", b.Model)
	}
	return err
}

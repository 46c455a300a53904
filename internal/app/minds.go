package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/rules"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/packs"
)

// toolBudget is how many bytes of tools a model is told of: some 16,000 tokens.
// What is more it finds.
const toolBudget = 64 << 10

// minds makes stored agents think.
type minds struct{ app *App }

// Mind gives what an agent thinks with, when it acts by itself: a turn without a
// story.
func (m minds) Mind(ctx context.Context, tenant junctor.TenantID, name string) (agent.Turn, error) {
	one, err := m.app.store.For(tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.turn(ctx, agentPrincipal(&one), one, "")
}

// agentPrincipal is an agent that acts by itself, with what its owner has.
func agentPrincipal(one *junctor.Agent) *junctor.Principal {
	return &junctor.Principal{
		Tenant: one.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Name: one.Name, Agent: one.Name, User: one.OwnerUser(), Scopes: agentScopes(),
	}
}

// roomMinds makes agents think in rooms. Their calls are recorded with the room,
// whose members alone read what was sent and answered: the agent's owner may not
// be one of them.
type roomMinds struct{ minds }

// Mind implements room.Minds.
func (m roomMinds) Mind(ctx context.Context, tenant junctor.TenantID, room, name string) (agent.Turn, error) {
	one, err := m.app.store.For(tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.turn(ctx, agentPrincipal(&one), one, room)
}

// MindFor is the same when somebody acts as the agent: its owner, an admin, or it
// itself. To others there is no such agent.
func (m minds) MindFor(ctx context.Context, p *junctor.Principal, name string) (agent.Turn, error) {
	as, err := m.app.catalog.Snapshot().For(p.Tenant).Acting(p, name)
	if err != nil {
		return agent.Turn{}, err
	}
	one, err := m.app.store.For(p.Tenant).Agent(ctx, name)
	if err != nil {
		return agent.Turn{}, err
	}
	return m.turn(ctx, as, one, "")
}

// turn is a turn of an agent as p, in a room where there is one.
func (m minds) turn(ctx context.Context, p *junctor.Principal, one junctor.Agent, room string) (agent.Turn, error) {
	if one.Brain == nil {
		return agent.Turn{}, junctor.Errorf(junctor.CodeInvalid, "the agent %q has nothing to think with: give it a model or rules, as junctor agent set %s --model NAME does", one.Name, one.Name)
	}
	if one.Disabled {
		return agent.Turn{}, junctor.Errorf(junctor.CodeInvalid, "the agent %q is switched off", one.Name)
	}
	t := agent.Turn{Agent: one.Name, Instructions: one.Brain.Instructions}
	if one.Brain.Limits != nil {
		t.Limits = *one.Brain.Limits
	}
	if one.Brain.Rules != "" {
		r, err := rules.Parse(one.Brain.Rules, packs.Templates)
		t.Provider, t.Tools = r, &tools{app: m.app, p: p, room: room, whole: true}
		return t, err
	}
	provider, row, err := m.app.models.Provider(ctx, p.Tenant, one.Brain.Model)
	if err != nil {
		return agent.Turn{}, err
	}
	t.Provider, t.Model = provider, row.Model
	if row.Kind != junctor.ModelA2A { // an agent elsewhere has tools of its own
		t.Tools = &tools{app: m.app, p: p, room: room, view: catalog.View{Audience: catalog.AudienceModel, Budget: toolBudget}}
	}
	return t, nil
}

// RunAgent implements admin.Talker.
func (m minds) RunAgent(ctx context.Context, p *junctor.Principal, name string, story []agent.Message, emit func(agent.Event)) (agent.End, error) {
	t, err := m.MindFor(ctx, p, name)
	if err != nil {
		return agent.End{}, err
	}
	t.Messages = story
	began := time.Now()
	end := agent.Run(ctx, t, emit)
	m.app.log.Debug("an agent had a turn", "agent", name, "outcome", end.Outcome, "turns", end.Turns, "calls", end.Calls,
		"tokens_in", end.Usage.Input, "tokens_out", end.Usage.Output, "took", time.Since(began))
	return end, nil
}

// checkBrain refuses what an agent cannot think with.
func (a *App) checkBrain(ctx context.Context, tenant junctor.TenantID, b *junctor.Brain) error {
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
	row, err := a.store.For(tenant).Model(ctx, b.Model)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return junctor.Errorf(junctor.CodeInvalid, "there is no model %q to think with; junctor model ls lists them", b.Model)
	case err == nil && row.Kind == junctor.ModelA2A && b.Instructions != "":
		return junctor.Errorf(junctor.CodeInvalid, "%q is an agent elsewhere, which has instructions of its own: leave them out", b.Model)
	}
	return err
}

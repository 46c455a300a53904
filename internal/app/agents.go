package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// agents is the agents, their lists and what tools are for, as the admin API
// wants them.
type agents struct{ app *App }

func (a agents) shelf(p *junctor.Principal) *catalog.Shelf {
	return a.app.catalog.Snapshot().For(p.Tenant)
}

// Agents lists the tenant's agents. An agent sees itself.
func (a agents) Agents(ctx context.Context, p *junctor.Principal) ([]junctor.Agent, error) {
	list, err := a.app.store.For(p.Tenant).Agents(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(one junctor.Agent) bool { return p.Agent != "" && p.Agent != one.Name })
	for i := range list {
		a.dress(p, &list[i])
	}
	return list, nil
}

// Agent gives one.
func (a agents) Agent(ctx context.Context, p *junctor.Principal, name string) (junctor.Agent, error) {
	if p.Agent != "" && p.Agent != name {
		return junctor.Agent{}, junctor.Errorf(junctor.CodeNotFound, "there is no agent %q; junctor agent ls lists them", name)
	}
	one, err := a.app.store.For(p.Tenant).Agent(ctx, name)
	a.dress(p, &one)
	return one, err
}

// dress leaves out what names servers that the principal does not know of.
func (a agents) dress(p *junctor.Principal, one *junctor.Agent) {
	if p.Agent != "" || p.Has(junctor.ScopeAdmin) || p.Is(one.Owner) {
		return
	}
	one.UpdatedBy = ""
	if one.Brain != nil { // what it is told is its owner's
		one.Brain = &junctor.Brain{Model: one.Brain.Model, Limits: one.Brain.Limits}
	}
	sh := a.shelf(p)
	for _, list := range []*[]junctor.Grant{&one.Tools, &one.Resources, &one.Prompts} {
		*list = slices.DeleteFunc(*list, func(g junctor.Grant) bool {
			_, err := sh.Server(p, g.Server)
			return err != nil
		})
	}
}

// mine gives an agent that the principal may change.
func (a agents) mine(ctx context.Context, p *junctor.Principal, name string) (junctor.Agent, error) {
	one, err := a.app.store.For(p.Tenant).Agent(ctx, name)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "the agent %q is not yours: who made it, or an admin, can change it", name)
	}
	return one, err
}

// AddAgent stores an agent and makes its first key, which ends when the key of who
// makes it does.
func (a agents) AddAgent(ctx context.Context, p *junctor.Principal, name string, in admin.AgentBody) (junctor.Agent, junctor.Key, string, error) {
	fail := func(err error) (junctor.Agent, junctor.Key, string, error) {
		return junctor.Agent{}, junctor.Key{}, "", err
	}
	if err := mayMakeAgents(p); err != nil {
		return fail(err)
	}
	if err := junctor.CheckAgentName(name); err != nil {
		return fail(err)
	}
	one := junctor.Agent{Tenant: p.Tenant, Name: name, Role: junctor.RoleGeneral, Owner: p.ID()}
	if err := a.apply(ctx, p, &one, in); err != nil {
		return fail(err)
	}
	one, err := a.app.store.For(p.Tenant).By(p.ID()).AddAgent(ctx, one)
	if err != nil {
		return fail(err)
	}
	key, token, err := a.app.identity.CreateKey(ctx, p.Tenant, identity.NewKey{Name: name, Agent: name, Scopes: agentScopes(), ExpiresAt: p.Expires})
	if err == nil {
		err = a.settle(ctx, p.Tenant)
	}
	if err != nil { // an agent whose key nobody has seen is of no use
		if rerr := a.takeAway(context.WithoutCancel(ctx), p.Tenant, name); rerr != nil {
			a.app.log.Warn("an agent without a key is left behind; delete it", slog.String("agent", name), telemetry.Err(rerr))
		}
		return fail(err)
	}
	return one, key, token, nil
}

// mayMakeAgents says whether a principal may make and change agents: none may do
// more than who made it.
func mayMakeAgents(p *junctor.Principal) error {
	if !p.Has(junctor.ScopeAgentsWrite) {
		return junctor.Errorf(junctor.CodeDenied, "agents are made with the scope %s", junctor.ScopeAgentsWrite)
	}
	for _, scope := range agentScopes() {
		if !p.Has(scope) {
			return junctor.Errorf(junctor.CodeDenied, "an agent may call tools, so its maker needs the scope %s", scope)
		}
	}
	return nil
}

func agentScopes() []junctor.Scope {
	return []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}
}

// ChangeAgent changes what in has.
func (a agents) ChangeAgent(ctx context.Context, p *junctor.Principal, name string, in admin.AgentBody, version time.Time) (junctor.Agent, error) {
	if err := mayMakeAgents(p); err != nil { // what an agent is told decides what it calls
		return junctor.Agent{}, err
	}
	one, err := store.Retry(ctx, func() (junctor.Agent, error) {
		one, err := a.mine(ctx, p, name)
		if err != nil {
			return junctor.Agent{}, err
		}
		if err := a.app.file.CheckNotDeclared("agent", name, one.Declared); err != nil {
			return junctor.Agent{}, err
		}
		if err := junctor.CheckVersion(version, one.UpdatedAt); err != nil {
			return junctor.Agent{}, err
		}
		one.Declared = ""
		if err := a.apply(ctx, p, &one, in); err != nil {
			return junctor.Agent{}, err
		}
		return a.app.store.For(p.Tenant).By(p.ID()).UpdateAgent(ctx, one)
	})
	if err != nil {
		return junctor.Agent{}, err
	}
	return one, a.settle(ctx, p.Tenant)
}

// apply changes an agent, and judges what it is given.
func (a agents) apply(ctx context.Context, p *junctor.Principal, one *junctor.Agent, in admin.AgentBody) error {
	put(&one.Title, in.Title)
	put(&one.Role, in.Role)
	put(&one.Tier, in.Tier)
	put(&one.Disabled, in.Disabled)
	put(&one.Published, in.Published)
	one.Limits = in.Limits.Apply(one.Limits)
	if one.Limits != nil {
		if err := one.Limits.Check(); err != nil {
			return junctor.Errorf(junctor.CodeInvalid, "limits: %w", err)
		}
	}
	if in.Brain.Given {
		if err := a.app.checkBrain(ctx, p.Tenant, in.Brain.Brain); err != nil {
			return err
		}
		one.Brain = in.Brain.Brain
	}
	if err := one.CheckPublished(); err != nil {
		return err
	}
	if in.Tier != nil && *in.Tier != "" {
		if err := a.app.limits.knownTier(ctx, p.Tenant, *in.Tier); err != nil {
			return err
		}
	}
	if in.Role != nil {
		if err := a.CheckRole(ctx, p.Tenant, one.Role); err != nil {
			return err
		}
	}
	j := judge{agents: a, p: p, role: one.Role, roleIsNew: in.Role != nil}
	for _, of := range []struct {
		kind  junctor.Kind
		list  *[]junctor.Grant
		given *[]string
	}{{junctor.KindTool, &one.Tools, in.Tools}, {junctor.KindResource, &one.Resources, in.Resources}, {junctor.KindPrompt, &one.Prompts, in.Prompts}} {
		if err := j.list(ctx, of.kind, of.list, of.given); err != nil {
			return err
		}
	}
	return nil
}

// put changes a value where there is a new one.
func put[T any](at, value *T) {
	if value != nil {
		*at = *value
	}
}

// settle makes a change of agents one that the next request sees.
func (a agents) settle(ctx context.Context, tenant junctor.TenantID) error {
	ctx = context.WithoutCancel(ctx)
	if err := a.app.rights.reload(ctx, tenant); err != nil {
		return err
	}
	return a.app.identity.Reload(ctx)
}

// RemoveAgent deletes an agent.
func (a agents) RemoveAgent(ctx context.Context, p *junctor.Principal, name string) error {
	one, err := a.mine(ctx, p, name)
	if err != nil {
		return err
	}
	if err := a.app.file.CheckNotDeclared("agent", name, one.Declared); err != nil {
		return err
	}
	return a.takeAway(ctx, p.Tenant, name)
}

// takeAway removes an agent: first its keys open nothing any more, then it goes
// with its lists and secrets, and at last what is open ends. Where it fails in
// between, it can be repeated.
func (a agents) takeAway(ctx context.Context, tenant junctor.TenantID, name string) error {
	if err := a.app.identity.RevokeAgent(ctx, tenant, name); err != nil {
		return err
	}
	if err := a.app.store.For(tenant).DeleteAgent(ctx, name, time.Now()); err != nil {
		return err
	}
	if err := a.settle(ctx, tenant); err != nil {
		return err
	}
	return a.app.gateway.EndOf(context.WithoutCancel(ctx), func(q *junctor.Principal) bool { return q.Tenant == tenant && q.Agent == name })
}

// AgentTools lists the tools that an agent sees.
func (a agents) AgentTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.Tool, error) {
	one, err := a.Agent(ctx, p, name)
	if err != nil {
		return nil, err
	}
	sh := a.shelf(p)
	as := junctor.Principal{Tenant: p.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Agent: one.Name, Scopes: agentScopes()}
	return slices.DeleteFunc(sh.Describe(&as, catalog.Filter{}), func(t junctor.Tool) bool {
		_, err := sh.Server(p, t.Server)
		return err != nil
	}), nil
}

// Reload implements servers.Agents.
func (a agents) Reload(ctx context.Context, tenant junctor.TenantID) error {
	return a.app.rights.reload(ctx, tenant)
}

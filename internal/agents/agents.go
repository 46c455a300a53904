package agents

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

// Registry reads and changes the agents of all tenants, the grants of agents, and the
// roles that tools are for. It implements admin.Agents and admin.Tags. Methods that
// take a principal check what that principal may do.
type Registry struct {
	Components *ComponentCatalogs
	Models     *ModelRegistry
	Turns      *TurnFactory
	Remote     *RemoteAgents

	o      Options
	parts  Parts
	access *accessLoader
}

// New makes a registry. Load publishes the stored agents, Attach must follow before
// agents are changed or run, and Close releases connections to models.
func New(o Options) *Registry {
	a := &Registry{o: o, Components: newComponentCatalogs(o)}
	a.Models = &ModelRegistry{o: o, components: a.Components}
	a.Turns = &TurnFactory{o: o, models: a.Models}
	a.Remote = newRemoteAgents(o, a.Turns)
	a.access = &accessLoader{store: o.Store, catalog: o.Catalog, limits: o.Limits, remote: a.Remote}
	return a
}

// Attach connects the parts that are made after the registry. It must be called once,
// before any request is served.
func (a *Registry) Attach(parts Parts) {
	a.parts, a.Turns.pipeline, a.Turns.users, a.Remote.servers = parts, parts.Pipeline, parts.Identity, parts.Servers
}

// AppTools returns the source of the tools that App views offer.
func (a *Registry) AppTools() AppToolSource {
	return AppToolSource{host: a.parts.Apps, catalog: a.o.Catalog, users: a.parts.Identity}
}

// Close closes the idle connections to models.
func (a *Registry) Close() { a.Models.close() }

// shelf returns the catalog of the principal's tenant.
func (a *Registry) shelf(p *junctor.Principal) *catalog.Shelf {
	return a.o.Catalog.Snapshot().For(p.Tenant)
}

// Agents lists the tenant's agents. An agent sees only itself.
func (a *Registry) Agents(ctx context.Context, p *junctor.Principal) ([]junctor.Agent, error) {
	list, err := a.o.Store.For(p.Tenant).Agents(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(one junctor.Agent) bool { return p.Agent != "" && p.Agent != one.Name })
	for i := range list {
		a.redact(p, &list[i])
	}
	return list, nil
}

// Agent returns one agent. For an agent, no other agent exists.
func (a *Registry) Agent(ctx context.Context, p *junctor.Principal, name string) (junctor.Agent, error) {
	if p.Agent != "" && p.Agent != name {
		return junctor.Agent{}, junctor.Errorf(junctor.CodeNotFound, "unknown agent %q; junctor agent ls lists the agents", name)
	}
	one, err := a.o.Store.For(p.Tenant).Agent(ctx, name)
	a.redact(p, &one)
	return one, err
}

// redact removes what only the owner and admins may read: the instructions, and grants
// that name servers which the principal may not know of.
func (a *Registry) redact(p *junctor.Principal, one *junctor.Agent) {
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

// ownedAgent returns an agent that the principal may change.
func (a *Registry) ownedAgent(ctx context.Context, p *junctor.Principal, name string) (junctor.Agent, error) {
	one, err := a.o.Store.For(p.Tenant).Agent(ctx, name)
	if err == nil && !p.Has(junctor.ScopeAdmin) && !p.Is(one.Owner) {
		err = junctor.Errorf(junctor.CodeDenied, "you may not change the agent %q: only its owner or an admin may", name)
	}
	return one, err
}

// AddAgent stores an agent and creates its first key. The key expires when the
// credential of its maker does.
func (a *Registry) AddAgent(ctx context.Context, p *junctor.Principal, name string, in admin.AgentBody) (junctor.Agent, junctor.Key, string, error) {
	fail := func(err error) (junctor.Agent, junctor.Key, string, error) {
		return junctor.Agent{}, junctor.Key{}, "", err
	}
	if err := CheckMaker(p); err != nil {
		return fail(err)
	}
	if err := junctor.CheckAgentName(name); err != nil {
		return fail(err)
	}
	one := junctor.Agent{Tenant: p.Tenant, Name: name, Role: junctor.RoleGeneral, Owner: p.ID()}
	if err := a.applyBody(ctx, p, &one, in); err != nil {
		return fail(err)
	}
	one, err := a.o.Store.For(p.Tenant).By(p.ID()).AddAgent(ctx, one)
	if err != nil {
		return fail(err)
	}
	key, token, err := a.parts.Identity.CreateKey(ctx, p.Tenant, identity.NewKey{Name: name, Agent: name, Scopes: agentScopes(), ExpiresAt: p.Expires})
	if err == nil {
		err = a.PublishChange(ctx, p.Tenant)
	}
	if err != nil { // an agent whose key nobody has seen is of no use
		if rerr := a.deleteAgent(context.WithoutCancel(ctx), p.Tenant, name); rerr != nil {
			a.o.Log.Warn("agent was created without a key and could not be removed: delete it with junctor agent rm", slog.String("agent", name), telemetry.ErrorAttr(rerr))
		}
		return fail(err)
	}
	return one, key, token, nil
}

// CheckMaker refuses a principal that may not make and change agents. An agent must
// not be allowed more than its maker, so the maker needs the scopes of agents too.
func CheckMaker(p *junctor.Principal) error {
	if !p.Has(junctor.ScopeAgentsWrite) {
		return junctor.Errorf(junctor.CodeDenied, "creating and changing agents requires the scope %s", junctor.ScopeAgentsWrite)
	}
	for _, scope := range agentScopes() {
		if !p.Has(scope) {
			return junctor.Errorf(junctor.CodeDenied, "an agent may call tools, so creating and changing agents requires the scope %s too", scope)
		}
	}
	return nil
}

// agentScopes are the scopes of every agent.
func agentScopes() []junctor.Scope {
	return []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall}
}

// ChangeAgent changes the fields of an agent that in sets. A version other than zero
// must be the one that is stored.
func (a *Registry) ChangeAgent(ctx context.Context, p *junctor.Principal, name string, in admin.AgentBody, version time.Time) (junctor.Agent, error) {
	if err := CheckMaker(p); err != nil { // what an agent is told decides what it calls
		return junctor.Agent{}, err
	}
	one, err := store.Retry(ctx, func() (junctor.Agent, error) {
		one, err := a.ownedAgent(ctx, p, name)
		if err != nil {
			return junctor.Agent{}, err
		}
		if err := a.parts.CheckNotDeclared("agent", name, one.Declared); err != nil {
			return junctor.Agent{}, err
		}
		if err := junctor.CheckVersion(version, one.UpdatedAt); err != nil {
			return junctor.Agent{}, err
		}
		one.Declared = ""
		if err := a.applyBody(ctx, p, &one, in); err != nil {
			return junctor.Agent{}, err
		}
		return a.o.Store.For(p.Tenant).By(p.ID()).UpdateAgent(ctx, one)
	})
	if err != nil {
		return junctor.Agent{}, err
	}
	return one, a.PublishChange(ctx, p.Tenant)
}

// applyBody sets the fields of one that in sets, and checks them.
func (a *Registry) applyBody(ctx context.Context, p *junctor.Principal, one *junctor.Agent, in admin.AgentBody) error {
	setIfGiven(&one.Title, in.Title)
	setIfGiven(&one.Role, in.Role)
	setIfGiven(&one.Tier, in.Tier)
	setIfGiven(&one.Disabled, in.Disabled)
	setIfGiven(&one.Exposure, in.Exposure)
	setIfGiven(&one.Published, in.Published)
	if err := junctor.CheckExposure(one.Exposure); err != nil {
		return err
	}
	one.Limits = in.Limits.Apply(one.Limits)
	if one.Limits != nil {
		if err := one.Limits.Check(); err != nil {
			return junctor.Errorf(junctor.CodeInvalid, "limits: %w", err)
		}
	}
	if in.Brain.Given {
		if err := a.checkBrain(ctx, p.Tenant, in.Brain.Brain); err != nil {
			return err
		}
		one.Brain = in.Brain.Brain
	}
	if err := one.CheckPublished(); err != nil {
		return err
	}
	if in.Tier != nil && *in.Tier != "" {
		if err := a.o.Limits.CheckTier(ctx, p.Tenant, *in.Tier); err != nil {
			return err
		}
	}
	if in.Role != nil {
		if err := a.CheckRole(ctx, p.Tenant, one.Role); err != nil {
			return err
		}
	}
	j := grantCheck{Registry: a, p: p}
	for _, of := range []struct {
		kind  junctor.Kind
		list  *[]junctor.Grant
		given *[]string
	}{{junctor.KindTool, &one.Tools, in.Tools}, {junctor.KindResource, &one.Resources, in.Resources}, {junctor.KindPrompt, &one.Prompts, in.Prompts}} {
		if err := j.checkList(ctx, of.kind, of.list, of.given); err != nil {
			return err
		}
	}
	return nil
}

// setIfGiven sets *at to *value unless value is nil.
func setIfGiven[T any](at, value *T) {
	if value != nil {
		*at = *value
	}
}

// PublishChange publishes stored changes of a tenant's agents, so that the next request
// sees them.
func (a *Registry) PublishChange(ctx context.Context, tenant junctor.TenantID) error {
	ctx = context.WithoutCancel(ctx)
	if err := a.access.reload(ctx, tenant); err != nil {
		return err
	}
	return a.parts.Identity.Reload(ctx)
}

// RemoveAgent deletes an agent.
func (a *Registry) RemoveAgent(ctx context.Context, p *junctor.Principal, name string) error {
	one, err := a.ownedAgent(ctx, p, name)
	if err != nil {
		return err
	}
	if err := a.parts.CheckNotDeclared("agent", name, one.Declared); err != nil {
		return err
	}
	return a.deleteAgent(ctx, p.Tenant, name)
}

// deleteAgent revokes the keys of an agent, deletes it with its grants and secrets, and
// ends its sessions, in this order. If a step fails, the deletion can be repeated.
func (a *Registry) deleteAgent(ctx context.Context, tenant junctor.TenantID, name string) error {
	if err := a.parts.Identity.RevokeAgentKeys(ctx, tenant, name); err != nil {
		return err
	}
	if err := a.o.Store.For(tenant).DeleteAgent(ctx, name, time.Now()); err != nil {
		return err
	}
	if err := a.PublishChange(ctx, tenant); err != nil {
		return err
	}
	return a.parts.EndSessions(context.WithoutCancel(ctx), func(q *junctor.Principal) bool { return q.Tenant == tenant && q.Agent == name })
}

// AgentTools lists the tools that an agent sees.
func (a *Registry) AgentTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.Tool, error) {
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

// PublishedTools lists the tools that a published agent can call.
func (a *Registry) PublishedTools(_ context.Context, one *junctor.Agent) ([]junctor.Tool, error) {
	as := &junctor.Principal{Tenant: one.Tenant, Issuer: junctor.IssuerAgent, Subject: one.Name, Agent: one.Name, Scopes: agentScopes()}
	return a.o.Catalog.Snapshot().For(one.Tenant).Describe(as, catalog.Filter{}), nil
}

// Load publishes the agents and tags of all tenants.
func (a *Registry) Load(ctx context.Context) error { return a.access.loadAll(ctx) }

// Reload publishes the agents and tags of a tenant after they have changed. It
// implements servers.Agents.
func (a *Registry) Reload(ctx context.Context, tenant junctor.TenantID) error {
	return a.access.reload(ctx, tenant)
}

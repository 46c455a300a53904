package agents

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
)

// AgentsOf returns the names of the agents of an owner. It implements
// identity.OwnedAgents.
func (a *Registry) AgentsOf(ctx context.Context, tenant junctor.TenantID, owner string) ([]string, error) {
	list, err := a.o.Store.For(tenant).Agents(ctx)
	var names []string
	for i := range list {
		if list[i].Owner == owner {
			names = append(names, list[i].Name)
		}
	}
	return names, err
}

// HandOverAgents makes the principal the owner of owner's agents, and returns their names.
// It implements identity.OwnedAgents.
func (a *Registry) HandOverAgents(ctx context.Context, p *junctor.Principal, owner string) ([]string, error) {
	names, err := a.o.Store.For(p.Tenant).By(p.ID()).HandOverAgents(ctx, owner, p.ID())
	if err != nil {
		return names, err
	}
	if err := a.Reload(context.WithoutCancel(ctx), p.Tenant); err != nil || len(names) == 0 {
		return names, err
	}
	return names, a.PublishChange(ctx, p.Tenant)
}

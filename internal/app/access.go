package app

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store"
)

// rights keeps what the catalogue knows of agents and tags as the database has
// it. Each reading and its publication are one step, so that of two the later
// counts.
type rights struct {
	store   *store.Store
	catalog *catalog.Catalog
	limits  *quotas
	tools   *elsewhere // that agents are
	mu      sync.Mutex
}

// load reads those of all tenants.
func (r *rights) load(ctx context.Context) error {
	tenants, err := r.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		if err := r.reload(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// reload reads those of one tenant, after a change.
func (r *rights) reload(ctx context.Context, tenant junctor.TenantID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	agents, err := r.store.For(tenant).Agents(ctx)
	if err != nil {
		return err
	}
	tags, err := r.store.For(tenant).Tags(ctx)
	if err != nil {
		return err
	}
	r.catalog.SetTags(tenant, tags)
	r.catalog.SetAgents(tenant, agents)
	r.limits.agentsChanged(tenant, agents)
	return r.tools.changed(ctx, tenant, agents)
}

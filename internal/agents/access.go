package agents

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store"
)

// accessLoader publishes the stored agents and tags to the catalog, the limits and the
// remote agents. mu is held over each read and its publication, so that an older state
// never replaces a newer one.
type accessLoader struct {
	store   *store.Store
	catalog *catalog.Catalog
	limits  Limits
	remote  *RemoteAgents
	mu      sync.Mutex
}

// loadAll publishes the agents and tags of all tenants.
func (r *accessLoader) loadAll(ctx context.Context) error {
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

// reload publishes the agents and tags of one tenant.
func (r *accessLoader) reload(ctx context.Context, tenant junctor.TenantID) error {
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
	r.limits.SetAgents(tenant, agents)
	return r.remote.update(ctx, tenant, agents)
}

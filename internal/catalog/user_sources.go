package catalog

import (
	"maps"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// UserSources keeps a catalog in step with the sources that users choose. It is safe for
// concurrent use.
type UserSources struct {
	catalog *Catalog

	mu      sync.Mutex
	current map[junctor.TenantID]map[string]junctor.Sources // by the user's id
}

// NewUserSources returns a UserSources for a catalog that knows no users.
func NewUserSources(c *Catalog) *UserSources { return &UserSources{catalog: c} }

// SetUsers sets the users of all tenants.
func (s *UserSources) SetUsers(users []junctor.User) {
	now := map[junctor.TenantID]map[string]junctor.Sources{}
	for _, u := range users {
		if now[u.Tenant] == nil {
			now[u.Tenant] = map[string]junctor.Sources{}
		}
		now[u.Tenant][u.ID] = u.Sources
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant := range s.current {
		if now[tenant] == nil {
			now[tenant] = map[string]junctor.Sources{} // the tenant has lost its last user
		}
	}
	for tenant, sources := range now {
		if !maps.Equal(s.current[tenant], sources) {
			s.catalog.SetSources(tenant, sources)
		}
	}
	s.current = now
}

package servers

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// KnownServers are those that a principal may know of, by id, and since when each
// has its id: what happened before happened to another server.
func (s *Registry) KnownServers(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error) {
	rows, err := s.o.Store.For(p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	added := make(map[string]time.Time, len(rows))
	for i := range rows {
		if !s.isVisible(p, &rows[i]) {
			continue
		}
		added[rows[i].ID] = rows[i].CreatedAt
		if rows[i].Mode == junctor.ModeBuiltin {
			// It comes with the instance: nobody had its id before on that day.
			added[rows[i].ID] = rows[i].CreatedAt.UTC().Truncate(24 * time.Hour)
		}
	}
	return added, nil
}

// ServerLookup says from memory whether a principal may know of a server that is
// attached. It is for calls as they happen, which cannot wait for a database.
func (s *Registry) ServerLookup(p *junctor.Principal) func(id string) bool {
	if p.Agent != "" || !p.Has(junctor.ScopeAuditRead) {
		return func(string) bool { return false }
	}
	looker := *p
	looker.User = "" // which sources a user chose to be shown is no matter of access
	return func(id string) bool {
		_, err := s.o.Catalog.Snapshot().For(looker.Tenant).Server(&looker, id)
		return err == nil
	}
}

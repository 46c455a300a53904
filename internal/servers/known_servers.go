package servers

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// KnownServers returns the servers that a principal may know of, by id, with
// the time since when each has its id. Earlier calls belong to a former server
// of the same id.
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
			// Built-in servers had their id from the beginning.
			added[rows[i].ID] = rows[i].CreatedAt.UTC().Truncate(24 * time.Hour)
		}
	}
	return added, nil
}

// ServerLookup returns a function that reports, from memory, whether a
// principal may know of an attached server. It is for live calls, which cannot
// wait for a database.
func (s *Registry) ServerLookup(p *junctor.Principal) func(id string) bool {
	if p.Agent != "" || !p.Has(junctor.ScopeAuditRead) {
		return func(string) bool { return false }
	}
	looker := *p
	looker.User = "" // the user's choice of shown sources does not restrict access
	return func(id string) bool {
		_, err := s.o.Catalog.Snapshot().For(looker.Tenant).Server(&looker, id)
		return err == nil
	}
}

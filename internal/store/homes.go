package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Home gives the process that holds something for all processes, by a name, for as
// long as it lives. Where nobody does, or who did was not seen for as long as gone,
// it is node from now on.
func (t *Tenant) Home(ctx context.Context, name, node string, gone time.Duration) (string, error) {
	alive := `SELECT 1 FROM nodes WHERE nodes.tenant_id = ? AND nodes.id = homes.node AND nodes.seen_at > ` + t.s.dialect.Now() + ` - ?`
	text := func(row scanner) (home string, err error) { return home, row.Scan(&home) }
	for range 3 {
		home, err := one(ctx, t.s, text, `SELECT node FROM homes WHERE tenant_id = ? AND name = ? AND EXISTS (`+alive+`)`,
			string(t.id), name, string(junctor.DefaultTenant), gone.Microseconds())
		if err == nil {
			return home, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			var taken int64
			taken, err = t.s.do(ctx, `INSERT INTO homes (tenant_id, name, node) VALUES (?, ?, ?)
				ON CONFLICT (tenant_id, name) DO UPDATE SET node = excluded.node WHERE NOT EXISTS (`+alive+`)`,
				string(t.id), name, node, string(junctor.DefaultTenant), gone.Microseconds())
			if err == nil && taken > 0 {
				return node, nil
			}
		}
		if err != nil {
			return "", t.s.fail(ctx, err, "find who holds %q", name)
		}
		// Another has taken it a moment ago.
	}
	return "", junctor.Errorf(junctor.CodeUnavailable, "who holds %q changes again and again; try again", name)
}

// Held is something that a process holds for all of them.
type Held struct {
	Tenant     junctor.TenantID
	Name, Node string
}

// Homes lists what processes that live hold, of all tenants, by the beginning of its
// name.
func (s *Store) Homes(ctx context.Context, prefix string, gone time.Duration) ([]Held, error) {
	found, err := all(ctx, s, func(row scanner) (h Held, err error) {
		return h, row.Scan(&h.Tenant, &h.Name, &h.Node)
	}, `SELECT tenant_id, name, node FROM homes WHERE substr(name, 1, ?) = ? AND EXISTS (
			SELECT 1 FROM nodes WHERE nodes.tenant_id = ? AND nodes.id = homes.node AND nodes.seen_at > `+s.dialect.Now()+` - ?)`,
		len(prefix), prefix, string(junctor.DefaultTenant), gone.Microseconds())
	if err != nil {
		return nil, s.fail(ctx, err, "list what processes hold")
	}
	return found, nil
}

// LeaveHomes lets go of all that a process holds.
func (s *Store) LeaveHomes(ctx context.Context, node string) error {
	if _, err := s.do(ctx, `DELETE FROM homes WHERE node = ?`, node); err != nil {
		return s.fail(ctx, err, "let go of what this process holds")
	}
	return nil
}

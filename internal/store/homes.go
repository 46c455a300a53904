package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Home returns the replica that holds a resource, by its name, for all replicas. If no
// replica holds it, or its holder was not seen for as long as gone, replica becomes the
// holder. Several replicas that ask at the same time get the same answer.
func (t *Tenant) Home(ctx context.Context, name, replica string, gone time.Duration) (string, error) {
	alive := `SELECT 1 FROM replicas WHERE replicas.tenant_id = ? AND replicas.id = homes.replica AND replicas.seen_at > ` + t.s.dialect.Now() + ` - ?`
	text := func(row scanner) (home string, err error) { return home, row.Scan(&home) }
	for range 3 {
		home, err := readOne(ctx, t.s, text, `SELECT replica FROM homes WHERE tenant_id = ? AND name = ? AND EXISTS (`+alive+`)`,
			string(t.id), name, string(junctor.DefaultTenant), gone.Microseconds())
		if err == nil {
			return home, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			var taken int64
			taken, err = t.s.execWrite(ctx, `INSERT INTO homes (tenant_id, name, replica) VALUES (?, ?, ?)
				ON CONFLICT (tenant_id, name) DO UPDATE SET replica = excluded.replica WHERE NOT EXISTS (`+alive+`)`,
				string(t.id), name, replica, string(junctor.DefaultTenant), gone.Microseconds())
			if err == nil && taken > 0 {
				return replica, nil
			}
		}
		if err != nil {
			return "", t.s.wrapError(ctx, err, "find the replica that holds %q", name)
		}
		// Another has taken it a moment ago.
	}
	return "", junctor.Errorf(junctor.CodeUnavailable, "the replica that holds %q changed several times; try again", name)
}

// Held is a resource and the replica that holds it.
type Held struct {
	Tenant        junctor.TenantID
	Name, Replica string
}

// Homes lists the resources of all tenants that live replicas hold and whose names begin
// with prefix.
func (s *Store) Homes(ctx context.Context, prefix string, gone time.Duration) ([]Held, error) {
	found, err := readAll(ctx, s, func(row scanner) (h Held, err error) {
		return h, row.Scan(&h.Tenant, &h.Name, &h.Replica)
	}, `SELECT tenant_id, name, replica FROM homes WHERE substr(name, 1, ?) = ? AND EXISTS (
			SELECT 1 FROM replicas WHERE replicas.tenant_id = ? AND replicas.id = homes.replica AND replicas.seen_at > `+s.dialect.Now()+` - ?)`,
		len(prefix), prefix, string(junctor.DefaultTenant), gone.Microseconds())
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the assignments of replicas")
	}
	return found, nil
}

// LeaveHomes releases all resources that a replica holds, so that others need not wait
// until it counts as gone.
func (s *Store) LeaveHomes(ctx context.Context, replica string) error {
	if _, err := s.execWrite(ctx, `DELETE FROM homes WHERE replica = ?`, replica); err != nil {
		return s.wrapError(ctx, err, "release the assignments of this replica")
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// PublishedAgent gives the agent that other parties reach under a name, whatever
// its tenant; not_found where none is published or it is switched off.
func (s *Store) PublishedAgent(ctx context.Context, name string) (junctor.Agent, error) {
	return s.published(ctx, `SELECT tenant_id, name FROM published_agents WHERE name = ?`, name)
}

// FirstPublished gives the agent of the default tenant that was published first,
// of those that are switched on: the one that those meet who know no name.
func (s *Store) FirstPublished(ctx context.Context) (junctor.Agent, error) {
	return s.published(ctx, `SELECT p.tenant_id, p.name FROM published_agents p JOIN agents a ON a.tenant_id = p.tenant_id AND a.name = p.name
		WHERE p.tenant_id = ? AND a.disabled = 0 ORDER BY p.since, p.name LIMIT 1`, string(junctor.DefaultTenant))
}

func (s *Store) published(ctx context.Context, query, arg string) (junctor.Agent, error) {
	type place struct {
		tenant junctor.TenantID
		name   string
	}
	at, err := one(ctx, s, func(row scanner) (p place, err error) { return p, row.Scan(&p.tenant, &p.name) }, query, arg)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Agent{}, missing("there is no published agent of that name")
	}
	if err != nil {
		return junctor.Agent{}, s.fail(ctx, err, "look for a published agent")
	}
	a, err := s.For(at.tenant).Agent(ctx, at.name)
	if err == nil && a.Disabled {
		err = missing("there is no published agent of that name")
	}
	return a, err
}

// publish makes an agent one that other parties reach by its name, or takes it
// back. Conflict where another tenant's has the name.
func (t *Tenant) publish(ctx context.Context, tx *sql.Tx, a *junctor.Agent, at int64) error {
	if !a.Published {
		_, err := t.s.exec(ctx, tx, `DELETE FROM published_agents WHERE tenant_id = ? AND name = ?`, string(t.id), a.Name)
		return err
	}
	if _, err := t.s.exec(ctx, tx, `INSERT INTO published_agents (name, tenant_id, since) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`, a.Name, string(t.id), at); err != nil {
		return err
	}
	n, err := scanCount(tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT COUNT(*) FROM published_agents WHERE tenant_id = ? AND name = ?`), string(t.id), a.Name))
	if err == nil && n == 0 {
		err = junctor.Errorf(junctor.CodeConflict, "an agent %q is published already, by another tenant: the names of published agents are for all; give this one another name", a.Name)
	}
	return err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// PublishedAgent gives the agent that those find who know nothing but an address:
// its name, or TENANT.NAME. Of several tenants' agents the one that was published
// first has the bare name. not_found where none is published or it is switched
// off.
func (s *Store) PublishedAgent(ctx context.Context, address string) (junctor.Agent, error) {
	if tenant, name, ok := strings.Cut(address, "."); ok {
		return s.For(junctor.TenantID(tenant)).PublishedAgent(ctx, name)
	}
	return s.published(ctx, `SELECT tenant_id, name FROM published_agents WHERE name = ?`, address)
}

// PublishedAgent gives an agent of the tenant that other parties reach; not_found
// where it is not published, or is switched off.
func (t *Tenant) PublishedAgent(ctx context.Context, name string) (junctor.Agent, error) {
	a, err := t.Agent(ctx, name)
	if err == nil && (!a.Published || a.Disabled) {
		return junctor.Agent{}, missing("there is no published agent of that name")
	}
	return a, err
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
	return s.For(at.tenant).PublishedAgent(ctx, at.name)
}

// publish makes an agent one that other parties reach, or takes it back. Its bare
// name is its own unless another tenant's agent has it already.
func (t *Tenant) publish(ctx context.Context, tx *sql.Tx, a *junctor.Agent, at int64) error {
	if !a.Published {
		_, err := t.s.exec(ctx, tx, `DELETE FROM published_agents WHERE tenant_id = ? AND name = ?`, string(t.id), a.Name)
		return err
	}
	_, err := t.s.exec(ctx, tx, `INSERT INTO published_agents (name, tenant_id, since) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`, a.Name, string(t.id), at)
	return err
}

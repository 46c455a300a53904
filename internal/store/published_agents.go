package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// PublishedAgent returns the published agent at an address: NAME, or TENANT.NAME. If
// agents of several tenants have the name, the one that was published first has the bare
// name. It is not_found if the agent is not published or is disabled.
func (s *Store) PublishedAgent(ctx context.Context, address string) (junctor.Agent, error) {
	if tenant, name, ok := strings.Cut(address, "."); ok {
		return s.For(junctor.TenantID(tenant)).PublishedAgent(ctx, name)
	}
	return s.readPublished(ctx, `SELECT tenant_id, name FROM published_agents WHERE name = ?`, address)
}

// PublishedAgent returns a published agent of the tenant; not_found if it is not
// published, or is disabled.
func (t *Tenant) PublishedAgent(ctx context.Context, name string) (junctor.Agent, error) {
	a, err := t.Agent(ctx, name)
	if err == nil && (!a.Published || a.Disabled) {
		return junctor.Agent{}, notFound("no published agent has this name")
	}
	return a, err
}

// FirstPublished returns the agent of the default tenant that was published first and is
// not disabled: the one for requests that name no agent.
func (s *Store) FirstPublished(ctx context.Context) (junctor.Agent, error) {
	return s.readPublished(ctx, `SELECT p.tenant_id, p.name FROM published_agents p JOIN agents a ON a.tenant_id = p.tenant_id AND a.name = p.name
		WHERE p.tenant_id = ? AND a.disabled = 0 ORDER BY p.since, p.name LIMIT 1`, string(junctor.DefaultTenant))
}

// readPublished returns the published agent that a query selects. The query has one
// parameter.
func (s *Store) readPublished(ctx context.Context, query, arg string) (junctor.Agent, error) {
	type place struct {
		tenant junctor.TenantID
		name   string
	}
	at, err := readOne(ctx, s, func(row scanner) (p place, err error) { return p, row.Scan(&p.tenant, &p.name) }, query, arg)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Agent{}, notFound("no published agent has this name")
	}
	if err != nil {
		return junctor.Agent{}, s.wrapError(ctx, err, "look for a published agent")
	}
	return s.For(at.tenant).PublishedAgent(ctx, at.name)
}

// setPublished stores whether an agent is published. The bare name stays with another
// tenant's agent that has it already.
func (t *Tenant) setPublished(ctx context.Context, tx *sql.Tx, a *junctor.Agent, at int64) error {
	if !a.Published {
		_, err := t.s.exec(ctx, tx, `DELETE FROM published_agents WHERE tenant_id = ? AND name = ?`, string(t.id), a.Name)
		return err
	}
	_, err := t.s.exec(ctx, tx, `INSERT INTO published_agents (name, tenant_id, since) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`, a.Name, string(t.id), at)
	return err
}

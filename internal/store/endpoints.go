package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const endpointColumns = `tenant_id, agent, origin, url, transport, header, signed, trusted, created_at, updated_at, suspended, reference, updated_by`

// PutEndpoint stores an agent's endpoint under this tenant and gives it back. One whose
// UpdatedAt is zero is new; another one is what Endpoint gave, changed, and takes the
// place of the one of the same agent and origin. Precondition where somebody else stored
// or suspended it meanwhile, not_found where one that was read is gone.
func (t *Tenant) PutEndpoint(ctx context.Context, e junctor.AgentEndpoint) (junctor.AgentEndpoint, error) {
	row := &versionedRow{
		table: "agent_endpoints", where: "agent = ? AND origin = ?", key: []any{e.Agent, e.Origin}, version: e.UpdatedAt,
		called: fmt.Sprintf("the endpoint of the agent %q", e.Agent), missing: noEndpoint(e.Agent, e.Origin),
	}
	e.Tenant, e.UpdatedBy = t.id, t.by
	if !e.UpdatedAt.IsZero() {
		var err error
		e.UpdatedAt, err = t.update(ctx, row, `url = ?, transport = ?, header = ?, signed = ?, trusted = ?, suspended = ?, reference = ?`,
			e.URL, string(e.Transport), e.Header, number(e.Signed), number(e.Trusted), e.Suspended, e.Reference)
		return e, err
	}
	now := micros(time.Now())
	e.CreatedAt, e.UpdatedAt = fromMicros(now), fromMicros(now)
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO agent_endpoints (`+endpointColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, agent, origin) DO NOTHING`,
			string(t.id), e.Agent, e.Origin, e.URL, string(e.Transport), e.Header, number(e.Signed), number(e.Trusted), now, now, e.Suspended, e.Reference, t.by)
		if err == nil && n == 0 {
			err = t.staleRow(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return e, t.s.fail(ctx, err, "store the endpoint of the agent %q", e.Agent)
	}
	return e, nil
}

func noEndpoint(agent, origin string) error {
	return missing("no endpoint of the agent %q at %s is stored", agent, origin)
}

// Endpoints lists the tenant's endpoints of agents, or those of one agent, the
// one that was changed last first.
func (t *Tenant) Endpoints(ctx context.Context, agent string) ([]junctor.AgentEndpoint, error) {
	list, err := all(ctx, t.s, scanEndpoint, `SELECT `+endpointColumns+` FROM agent_endpoints WHERE tenant_id = ? AND (? = '' OR agent = ?)
		ORDER BY updated_at DESC, agent, origin`, string(t.id), agent, agent)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the endpoints of agents")
	}
	return list, nil
}

// Endpoint gives an agent's endpoint at an origin; not_found when there is none.
func (t *Tenant) Endpoint(ctx context.Context, agent, origin string) (junctor.AgentEndpoint, error) {
	e, err := one(ctx, t.s, scanEndpoint, `SELECT `+endpointColumns+` FROM agent_endpoints WHERE tenant_id = ? AND agent = ? AND origin = ?`, string(t.id), agent, origin)
	if errors.Is(err, sql.ErrNoRows) {
		return e, noEndpoint(agent, origin)
	}
	if err != nil {
		return e, t.s.fail(ctx, err, "read the endpoint of the agent %q", agent)
	}
	return e, nil
}

// RemoveEndpoint forgets an agent's endpoint at an origin; not_found when there
// is none.
func (t *Tenant) RemoveEndpoint(ctx context.Context, agent, origin string) error {
	n, err := t.s.do(ctx, `DELETE FROM agent_endpoints WHERE tenant_id = ? AND agent = ? AND origin = ?`, string(t.id), agent, origin)
	if err != nil {
		return t.s.fail(ctx, err, "remove the endpoint of the agent %q", agent)
	}
	if n == 0 {
		return noEndpoint(agent, origin)
	}
	return nil
}

// Execer runs statements in a transaction of the caller.
type Execer interface {
	Exec(ctx context.Context, query string, args ...any) (changed int64, err error)
}

// SuspendEndpoints suspends the tokens of an agent, in the transaction tx. They are not
// sent until somebody enters them again; why is shown to that person. The endpoints have
// another version then: one that was read before cannot be stored over this.
func SuspendEndpoints(ctx context.Context, tx Execer, tenant junctor.TenantID, agent, why string) error {
	if _, err := tx.Exec(ctx, `UPDATE agent_endpoints SET suspended = ?, updated_at = updated_at + 1, updated_by = '' WHERE tenant_id = ? AND agent = ?`, why, string(tenant), agent); err != nil {
		return fmt.Errorf("suspend the tokens of the agent %q: %w", agent, err)
	}
	return nil
}

func scanEndpoint(row scanner) (junctor.AgentEndpoint, error) {
	var e junctor.AgentEndpoint
	var created, updated, signed, trusted int64
	if err := row.Scan(&e.Tenant, &e.Agent, &e.Origin, &e.URL, &e.Transport, &e.Header, &signed, &trusted, &created, &updated, &e.Suspended, &e.Reference, &e.UpdatedBy); err != nil {
		return junctor.AgentEndpoint{}, err // without the year 1970 in it
	}
	e.Signed, e.Trusted, e.CreatedAt, e.UpdatedAt = signed == 1, trusted == 1, fromMicros(created), fromMicros(updated)
	return e, nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// endpointColumns are the columns that scanEndpoint reads, in its order. The other
// constants of this form belong to the scan function of their file.
const endpointColumns = `tenant_id, agent, origin, url, transport, header, signed, trusted, created_at, updated_at, suspended, reference, updated_by`

// PutEndpoint stores an agent's endpoint under this tenant and returns it. If its
// UpdatedAt is zero, it is new. Otherwise it is a changed copy of what Endpoint returned,
// and replaces the endpoint of the same agent and origin. The error is precondition if
// somebody else stored or suspended the endpoint meanwhile, and not_found if it was
// deleted.
func (t *Tenant) PutEndpoint(ctx context.Context, e junctor.AgentEndpoint) (junctor.AgentEndpoint, error) {
	row := &versionedRow{
		table: "agent_endpoints", where: "agent = ? AND origin = ?", key: []any{e.Agent, e.Origin}, version: e.UpdatedAt,
		label: fmt.Sprintf("the endpoint of the agent %q", e.Agent), notFound: endpointNotFound(e.Agent, e.Origin),
	}
	e.Tenant, e.UpdatedBy = t.id, t.changedBy
	if !e.UpdatedAt.IsZero() {
		var err error
		e.UpdatedAt, err = t.updateVersioned(ctx, row, `url = ?, transport = ?, header = ?, signed = ?, trusted = ?, suspended = ?, reference = ?`,
			e.URL, string(e.Transport), e.Header, boolToInt(e.Signed), boolToInt(e.Trusted), e.Suspended, e.Reference)
		return e, err
	}
	now := toMicros(time.Now())
	e.CreatedAt, e.UpdatedAt = fromMicros(now), fromMicros(now)
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `INSERT INTO agent_endpoints (`+endpointColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, agent, origin) DO NOTHING`,
			string(t.id), e.Agent, e.Origin, e.URL, string(e.Transport), e.Header, boolToInt(e.Signed), boolToInt(e.Trusted), now, now, e.Suspended, e.Reference, t.changedBy)
		if err == nil && n == 0 {
			err = t.staleRowError(ctx, tx, row)
		}
		return err
	})
	if err != nil {
		return e, t.s.wrapError(ctx, err, "store the endpoint of the agent %q", e.Agent)
	}
	return e, nil
}

// endpointNotFound is the error for an endpoint that the tenant does not have.
func endpointNotFound(agent, origin string) error {
	return notFound("the agent %q has no delivery endpoint at %s", agent, origin)
}

// Endpoints lists the endpoints of one agent, or with "" of all agents, the one that was
// changed last first.
func (t *Tenant) Endpoints(ctx context.Context, agent string) ([]junctor.AgentEndpoint, error) {
	list, err := readAll(ctx, t.s, scanEndpoint, `SELECT `+endpointColumns+` FROM agent_endpoints WHERE tenant_id = ? AND (? = '' OR agent = ?)
		ORDER BY updated_at DESC, agent, origin`, string(t.id), agent, agent)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the endpoints of agents")
	}
	return list, nil
}

// Endpoint returns an agent's endpoint at an origin; not_found if there is none.
func (t *Tenant) Endpoint(ctx context.Context, agent, origin string) (junctor.AgentEndpoint, error) {
	e, err := readOne(ctx, t.s, scanEndpoint, `SELECT `+endpointColumns+` FROM agent_endpoints WHERE tenant_id = ? AND agent = ? AND origin = ?`, string(t.id), agent, origin)
	if errors.Is(err, sql.ErrNoRows) {
		return e, endpointNotFound(agent, origin)
	}
	if err != nil {
		return e, t.s.wrapError(ctx, err, "read the endpoint of the agent %q", agent)
	}
	return e, nil
}

// RemoveEndpoint deletes an agent's endpoint at an origin; not_found if there is none.
func (t *Tenant) RemoveEndpoint(ctx context.Context, agent, origin string) error {
	n, err := t.s.execWrite(ctx, `DELETE FROM agent_endpoints WHERE tenant_id = ? AND agent = ? AND origin = ?`, string(t.id), agent, origin)
	if err != nil {
		return t.s.wrapError(ctx, err, "remove the endpoint of the agent %q", agent)
	}
	if n == 0 {
		return endpointNotFound(agent, origin)
	}
	return nil
}

// Execer runs statements in a transaction of the caller.
type Execer interface {
	// Exec runs a statement with question marks as placeholders and returns the number of
	// changed rows.
	Exec(ctx context.Context, query string, args ...any) (changed int64, err error)
}

// SuspendEndpoints suspends the tokens of an agent, in the transaction tx. They are not
// sent until a user enters them again; why is shown to that user. The endpoints get
// another version, so that an endpoint that was read before cannot be stored over the
// suspension.
func SuspendEndpoints(ctx context.Context, tx Execer, tenant junctor.TenantID, agent, why string) error {
	if _, err := tx.Exec(ctx, `UPDATE agent_endpoints SET suspended = ?, updated_at = updated_at + 1, updated_by = '' WHERE tenant_id = ? AND agent = ?`, why, string(tenant), agent); err != nil {
		return fmt.Errorf("suspend the tokens of the agent %q: %w", agent, err)
	}
	return nil
}

// scanEndpoint reads the columns of endpointColumns.
func scanEndpoint(row scanner) (junctor.AgentEndpoint, error) {
	var e junctor.AgentEndpoint
	var created, updated, signed, trusted int64
	if err := row.Scan(&e.Tenant, &e.Agent, &e.Origin, &e.URL, &e.Transport, &e.Header, &signed, &trusted, &created, &updated, &e.Suspended, &e.Reference, &e.UpdatedBy); err != nil {
		return junctor.AgentEndpoint{}, err // without the year 1970 in it
	}
	e.Signed, e.Trusted, e.CreatedAt, e.UpdatedAt = signed == 1, trusted == 1, fromMicros(created), fromMicros(updated)
	return e, nil
}

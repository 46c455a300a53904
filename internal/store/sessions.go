package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Session is the part of a legacy MCP session that its sealed id does not hold. It is
// bound to the principal that opened it.
type Session struct {
	ID            string
	Issuer        string
	Subject       string
	LogLevel      string   // "" when never set
	Subscriptions []string // resource URIs
	Capabilities  []byte   // the client's, where they are too long for the id; else nil
	ExpiresAt     time.Time
}

// SaveSession stores a session, in place of the one with its id. It is not_found if the
// session was revoked or belongs to another principal: a late write must not bring a
// session back, and nobody writes into the session of somebody else.
func (t *Tenant) SaveSession(ctx context.Context, ses Session) error {
	subscriptions, err := json.Marshal(ses.Subscriptions)
	if err != nil {
		return t.s.wrapError(ctx, err, "encode the subscriptions of a session")
	}
	n, err := t.s.execWrite(ctx, `INSERT INTO sessions (tenant_id, id, issuer, subject, log_level, subscriptions, capabilities, expires_at, revoked)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (tenant_id, id) DO UPDATE SET log_level = excluded.log_level, subscriptions = excluded.subscriptions,
			capabilities = excluded.capabilities, expires_at = excluded.expires_at
		WHERE sessions.revoked = 0 AND sessions.issuer = excluded.issuer AND sessions.subject = excluded.subject`,
		string(t.id), ses.ID, ses.Issuer, ses.Subject, ses.LogLevel, string(subscriptions), ses.Capabilities, toMicros(ses.ExpiresAt))
	if err != nil {
		return t.s.wrapError(ctx, err, "save a session")
	}
	if n == 0 {
		return notFound("the session has ended or belongs to another principal; start a new session")
	}
	return nil
}

// Session returns the stored part of a session; not_found if there is none, or the session
// was revoked. The caller judges expiry and principal.
func (t *Tenant) Session(ctx context.Context, id string) (Session, error) {
	ses, err := readOne(ctx, t.s, scanSession, `SELECT id, issuer, subject, log_level, subscriptions, capabilities, expires_at FROM sessions
		WHERE tenant_id = ? AND id = ? AND revoked = 0`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, notFound("nothing is stored for this session")
	}
	if err != nil {
		return Session{}, t.s.wrapError(ctx, err, "read a session")
	}
	return ses, nil
}

// RevokeSession ends a session, whether or not something is stored for it, and deletes the
// stored part. The revocation is kept until expires, when the sealed id stops being valid
// by itself.
func (t *Tenant) RevokeSession(ctx context.Context, id string, expires time.Time) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO sessions (tenant_id, id, issuer, subject, log_level, subscriptions, capabilities, expires_at, revoked)
		VALUES (?, ?, '', '', '', '[]', NULL, ?, 1)
		ON CONFLICT (tenant_id, id) DO UPDATE SET issuer = '', subject = '', log_level = '', subscriptions = '[]', capabilities = NULL,
			expires_at = CASE WHEN sessions.expires_at > excluded.expires_at THEN sessions.expires_at ELSE excluded.expires_at END, revoked = 1`,
		string(t.id), id, toMicros(expires))
	if err != nil {
		return t.s.wrapError(ctx, err, "end a session")
	}
	return nil
}

// Revoked reports whether a session was ended before it expired.
func (t *Tenant) Revoked(ctx context.Context, id string) (bool, error) {
	n, err := readOne(ctx, t.s, scanCount, `SELECT COUNT(*) FROM sessions WHERE tenant_id = ? AND id = ? AND revoked = 1`, string(t.id), id)
	if err != nil {
		return false, t.s.wrapError(ctx, err, "look up whether a session has ended")
	}
	return n > 0, nil
}

// UseState records that a state for one use was used, and reports whether this was the
// first time. Of any number of concurrent callers, on any number of replicas, exactly one
// is the first. The record is kept until expires, when the state has to be invalid by
// itself.
func (t *Tenant) UseState(ctx context.Context, id string, expires time.Time) (first bool, err error) {
	n, err := t.s.execWrite(ctx, `INSERT INTO used_states (tenant_id, id, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (tenant_id, id) DO NOTHING`, string(t.id), id, toMicros(expires))
	if err != nil {
		return false, t.s.wrapError(ctx, err, "note the use of a state")
	}
	return n == 1, nil
}

// ClientLife is how long a registered OAuth client is kept if no user consents to it.
const ClientLife = 24 * time.Hour

// Sweep deletes the sessions, used states, logins, tasks and tokens of all tenants that
// expired at or before now, and OAuth clients that no user consented to. It returns the
// number of deleted rows.
func (s *Store) Sweep(ctx context.Context, now time.Time) (int64, error) {
	var swept int64
	for _, old := range []struct {
		query string
		at    time.Time
	}{
		{`DELETE FROM sessions WHERE expires_at <= ?`, now},
		{`DELETE FROM used_states WHERE expires_at <= ?`, now},
		{`DELETE FROM tasks WHERE expires_at <= ?`, now},
		{`DELETE FROM logins WHERE expires_at <= ?`, now},
		{`DELETE FROM consent_tokens WHERE expires_at <= ?`, now},
		{`DELETE FROM clients WHERE used_at IS NULL AND created_at <= ?`, now.Add(-ClientLife)},
	} {
		n, err := s.execWrite(ctx, old.query, toMicros(old.at))
		if err != nil {
			return swept, s.wrapError(ctx, err, "delete expired rows")
		}
		swept += n
	}
	n, err := s.sweepAgentTasks(ctx, now)
	if err != nil {
		return swept, s.wrapError(ctx, err, "delete old tasks of agents")
	}
	return swept + n, nil
}

// scanSession reads the columns of a session.
func scanSession(row scanner) (Session, error) {
	var ses Session
	var subscriptions string
	var expires int64
	if err := row.Scan(&ses.ID, &ses.Issuer, &ses.Subject, &ses.LogLevel, &subscriptions, &ses.Capabilities, &expires); err != nil {
		return ses, err
	}
	if err := json.Unmarshal([]byte(subscriptions), &ses.Subscriptions); err != nil {
		return ses, fmt.Errorf("decode the subscriptions of a session: %w", err)
	}
	ses.ExpiresAt = fromMicros(expires)
	return ses, nil
}

// scanCount reads a single number.
func scanCount(row scanner) (int64, error) {
	var n int64
	err := row.Scan(&n)
	return n, err
}

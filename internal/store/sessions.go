package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Session is what has to be kept of a legacy MCP session beyond what its
// sealed id says. It is bound to the principal that made it.
type Session struct {
	ID            string
	Issuer        string
	Subject       string
	LogLevel      string   // "" when never set
	Subscriptions []string // resource URIs
	Capabilities  []byte   // the client's, where they are too long for the id; else nil
	ExpiresAt     time.Time
}

// SaveSession stores a session, in place of what was stored under its id.
// not_found when it was revoked, or belongs to another principal: a late write
// brings no session back, and nobody writes into another's.
func (t *Tenant) SaveSession(ctx context.Context, ses Session) error {
	subscriptions, err := json.Marshal(ses.Subscriptions)
	if err != nil {
		return t.s.fail(ctx, err, "encode the subscriptions of a session")
	}
	n, err := t.s.do(ctx, `INSERT INTO sessions (tenant_id, id, issuer, subject, log_level, subscriptions, capabilities, expires_at, revoked)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (tenant_id, id) DO UPDATE SET log_level = excluded.log_level, subscriptions = excluded.subscriptions,
			capabilities = excluded.capabilities, expires_at = excluded.expires_at
		WHERE sessions.revoked = 0 AND sessions.issuer = excluded.issuer AND sessions.subject = excluded.subject`,
		string(t.id), ses.ID, ses.Issuer, ses.Subject, ses.LogLevel, string(subscriptions), ses.Capabilities, micros(ses.ExpiresAt))
	if err != nil {
		return t.s.fail(ctx, err, "save a session")
	}
	if n == 0 {
		return missing("the session has ended, or is not yours; start a new one")
	}
	return nil
}

// Session gives what is stored of a session; not_found when nothing is, or the
// session was revoked. Whether it has expired, and whose it is, the caller
// judges.
func (t *Tenant) Session(ctx context.Context, id string) (Session, error) {
	ses, err := one(ctx, t.s, scanSession, `SELECT id, issuer, subject, log_level, subscriptions, capabilities, expires_at FROM sessions
		WHERE tenant_id = ? AND id = ? AND revoked = 0`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, missing("nothing is stored for this session")
	}
	if err != nil {
		return Session{}, t.s.fail(ctx, err, "read a session")
	}
	return ses, nil
}

// RevokeSession ends a session, stored or not. That it ended is remembered
// until expires, when its sealed id stops being valid by itself; what was
// stored of it is dropped.
func (t *Tenant) RevokeSession(ctx context.Context, id string, expires time.Time) error {
	_, err := t.s.do(ctx, `INSERT INTO sessions (tenant_id, id, issuer, subject, log_level, subscriptions, capabilities, expires_at, revoked)
		VALUES (?, ?, '', '', '', '[]', NULL, ?, 1)
		ON CONFLICT (tenant_id, id) DO UPDATE SET issuer = '', subject = '', log_level = '', subscriptions = '[]', capabilities = NULL,
			expires_at = CASE WHEN sessions.expires_at > excluded.expires_at THEN sessions.expires_at ELSE excluded.expires_at END, revoked = 1`,
		string(t.id), id, micros(expires))
	if err != nil {
		return t.s.fail(ctx, err, "end a session")
	}
	return nil
}

// Revoked says whether a session was ended before its time.
func (t *Tenant) Revoked(ctx context.Context, id string) (bool, error) {
	n, err := one(ctx, t.s, scanCount, `SELECT COUNT(*) FROM sessions WHERE tenant_id = ? AND id = ? AND revoked = 1`, string(t.id), id)
	if err != nil {
		return false, t.s.fail(ctx, err, "look up whether a session has ended")
	}
	return n > 0, nil
}

// UseState notes that a state, handed out for one use, was used, and says
// whether this was the first time. Of any number of callers, in any number of
// processes, one is the first. The note is kept until expires, when the state
// must no longer be valid by itself.
func (t *Tenant) UseState(ctx context.Context, id string, expires time.Time) (first bool, err error) {
	n, err := t.s.do(ctx, `INSERT INTO used_states (tenant_id, id, expires_at) VALUES (?, ?, ?)
		ON CONFLICT (tenant_id, id) DO NOTHING`, string(t.id), id, micros(expires))
	if err != nil {
		return false, t.s.fail(ctx, err, "note the use of a state")
	}
	return n == 1, nil
}

// ClientLife is how long a program that registered itself is remembered before
// somebody consents to it.
const ClientLife = 24 * time.Hour

// Sweep deletes the sessions, used states, logins, tasks and tokens of all tenants that expired at or
// before now, and programs that nobody wanted, and says how many rows that were.
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
		n, err := s.do(ctx, old.query, micros(old.at))
		if err != nil {
			return swept, s.fail(ctx, err, "sweep what has expired")
		}
		swept += n
	}
	n, err := s.sweepAgentTasks(ctx, now)
	if err != nil {
		return swept, s.fail(ctx, err, "sweep old tasks of agents")
	}
	return swept + n, nil
}

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

func scanCount(row scanner) (int64, error) {
	var n int64
	err := row.Scan(&n)
	return n, err
}

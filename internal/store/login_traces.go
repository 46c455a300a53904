package store

import (
	"context"
	"database/sql"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
)

// How many traces are kept. maxTracesPerLogin is the number for one user at one server,
// counted apart for successes and failures: many failures must not push out the last
// success. maxTracesPerTenant bounds the traces of a tenant.
const (
	maxTracesPerLogin  = 10
	maxTracesPerTenant = 2000
)

// AddTrace stores the trace of a login at a server and deletes the oldest ones beyond the
// limits. If the server or the user no longer exists, it stores nothing.
func (t *Tenant) AddTrace(ctx context.Context, trace junctor.Trace) error {
	body, err := json.Marshal(trace)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "cannot store a trace: %w", err)
	}
	ok := 0
	if trace.OK {
		ok = 1
	}
	user := sql.NullString{String: trace.User, Valid: trace.User != ""}
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		if _, err := t.s.exec(ctx, tx, `INSERT INTO login_traces (tenant_id, id, server, user_id, ok, body) VALUES (?, ?, ?, ?, ?, ?)`,
			string(t.id), trace.ID, trace.Server, user, ok, string(body)); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM login_traces WHERE tenant_id = ? AND server = ? AND COALESCE(user_id, '') = ? AND ok = ? AND id <=
			(SELECT id FROM login_traces WHERE tenant_id = ? AND server = ? AND COALESCE(user_id, '') = ? AND ok = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
			string(t.id), trace.Server, trace.User, ok, string(t.id), trace.Server, trace.User, ok, maxTracesPerLogin); err != nil {
			return err
		}
		_, err := t.s.exec(ctx, tx, `DELETE FROM login_traces WHERE tenant_id = ? AND id <=
			(SELECT id FROM login_traces WHERE tenant_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`, string(t.id), string(t.id), maxTracesPerTenant)
		return err
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return nil
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the trace of a login at the server %q", trace.Server)
	}
	return nil
}

// Traces lists up to most traces of logins at a server, newest first: of one user, or with
// "" of all users and of shared logins.
func (t *Tenant) Traces(ctx context.Context, server, user string, most int) ([]junctor.Trace, error) {
	list, err := readAll(ctx, t.s, func(row scanner) (trace junctor.Trace, err error) {
		var body string
		if err = row.Scan(&body); err == nil {
			err = json.Unmarshal([]byte(body), &trace)
		}
		return trace, err
	}, `SELECT body FROM login_traces WHERE tenant_id = ? AND server = ? AND (? = '' OR user_id = ?) ORDER BY id DESC LIMIT ?`,
		string(t.id), server, user, user, most)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the traces of the logins at the server %q", server)
	}
	return list, nil
}

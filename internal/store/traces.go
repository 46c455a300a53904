package store

import (
	"context"
	"database/sql"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
)

// How many traces are kept: of one party at one server, those that went well and
// those that did not each, and of a tenant.
const (
	tracesOfLogin  = 10
	tracesOfTenant = 2000
)

// AddTrace stores how a login at a server went, in place of the oldest where
// there are enough. Nothing is stored where the server or the user is no more.
func (t *Tenant) AddTrace(ctx context.Context, trace junctor.Trace) error {
	body, err := json.Marshal(trace)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "a trace cannot be stored: %w", err)
	}
	ok := 0
	if trace.OK {
		ok = 1
	}
	user := sql.NullString{String: trace.User, Valid: trace.User != ""}
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := t.s.exec(ctx, tx, `INSERT INTO login_traces (tenant_id, id, server, user_id, ok, body) VALUES (?, ?, ?, ?, ?, ?)`,
			string(t.id), trace.ID, trace.Server, user, ok, string(body)); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM login_traces WHERE tenant_id = ? AND server = ? AND COALESCE(user_id, '') = ? AND ok = ? AND id <=
			(SELECT id FROM login_traces WHERE tenant_id = ? AND server = ? AND COALESCE(user_id, '') = ? AND ok = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
			string(t.id), trace.Server, trace.User, ok, string(t.id), trace.Server, trace.User, ok, tracesOfLogin); err != nil {
			return err
		}
		_, err := t.s.exec(ctx, tx, `DELETE FROM login_traces WHERE tenant_id = ? AND id <=
			(SELECT id FROM login_traces WHERE tenant_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`, string(t.id), string(t.id), tracesOfTenant)
		return err
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return nil
	}
	if err != nil {
		return t.s.fail(ctx, err, "store how a login at the server %q went", trace.Server)
	}
	return nil
}

// Traces lists how the logins at a server went, the newest first and at most so
// many: everybody's and all users', or those of one user alone.
func (t *Tenant) Traces(ctx context.Context, server, user string, most int) ([]junctor.Trace, error) {
	list, err := all(ctx, t.s, func(row scanner) (trace junctor.Trace, err error) {
		var body string
		if err = row.Scan(&body); err == nil {
			err = json.Unmarshal([]byte(body), &trace)
		}
		return trace, err
	}, `SELECT body FROM login_traces WHERE tenant_id = ? AND server = ? AND (? = '' OR user_id = ?) ORDER BY id DESC LIMIT ?`,
		string(t.id), server, user, user, most)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list how the logins at the server %q went", server)
	}
	return list, nil
}

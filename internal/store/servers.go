package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const serverColumns = `tenant_id, id, mode, title, state, last_error, config, created_at, updated_at, updated_by`

// serverConfig is what the column config holds: all of a server that is not
// asked for by queries.
type serverConfig struct {
	Owner      string              `json:"owner,omitempty"`
	Private    bool                `json:"private,omitempty"`
	Credential string              `json:"credential,omitempty"`
	Trusted    bool                `json:"trusted,omitempty"`
	Declared   string              `json:"declared,omitempty"`
	Found      string              `json:"found,omitempty"`
	Connection *junctor.Connection `json:"connection,omitempty"`
	API        *junctor.API        `json:"api,omitempty"`
}

// EnsureBuiltin creates the row of a built-in server, active, unless that id is
// taken or was ever removed: what the operator removed stays away.
func (t *Tenant) EnsureBuiltin(ctx context.Context, id, title string) error {
	if err := junctor.CheckServerID(id); err != nil {
		return err
	}
	now := micros(time.Now())
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		// The casts are for databases that take a bare parameter in a SELECT for text.
		_, err := t.s.exec(ctx, tx, `INSERT INTO servers (`+serverColumns+`)
			SELECT ?, ?, ?, ?, ?, '', '{}', CAST(? AS BIGINT), CAST(? AS BIGINT), ''
			WHERE NOT EXISTS (SELECT 1 FROM removed_servers WHERE tenant_id = ? AND id = ?)
			ON CONFLICT (tenant_id, id) DO NOTHING`,
			string(t.id), id, string(junctor.ModeBuiltin), title, string(junctor.StateActive), now, now, string(t.id), id)
		return err
	})
	if err != nil {
		return t.s.fail(ctx, err, "create the built-in server %q", id)
	}
	return nil
}

// Servers lists the tenant's servers by id.
func (t *Tenant) Servers(ctx context.Context) ([]junctor.Server, error) {
	list, err := all(ctx, t.s, scanServer, `SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? ORDER BY id`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the servers")
	}
	return list, nil
}

// Server gives one server; not_found when the tenant has none with that id.
func (t *Tenant) Server(ctx context.Context, id string) (junctor.Server, error) {
	srv, err := one(ctx, t.s, scanServer, `SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Server{}, missing("there is no server %q", id)
	}
	if err != nil {
		return junctor.Server{}, t.s.fail(ctx, err, "read the server %q", id)
	}
	return srv, nil
}

// SetServerState stores how a server is doing; lastError is kept with
// StateError only. not_found when the tenant has no such server.
func (t *Tenant) SetServerState(ctx context.Context, id string, state junctor.ServerState, lastError string) error {
	switch state {
	case junctor.StateError:
	case junctor.StateActive, junctor.StateInactive:
		lastError = ""
	default:
		return junctor.Errorf(junctor.CodeInvalid, "%q is not a state of a server: use active, inactive or error", string(state))
	}
	now := micros(time.Now())
	n, err := t.s.do(ctx, `UPDATE servers SET state = ?, last_error = ?, updated_at = `+laterVersion+`, updated_by = ? WHERE tenant_id = ? AND id = ?`,
		string(state), lastError, now, now, t.by, string(t.id), id)
	if err != nil {
		return t.s.fail(ctx, err, "set the state of the server %q", id)
	}
	if n == 0 {
		return missing("there is no server %q", id)
	}
	return nil
}

// SwitchServer is SetServerState of a server that was read: precondition where somebody
// else changed it meanwhile.
func (t *Tenant) SwitchServer(ctx context.Context, id string, state junctor.ServerState, version time.Time) error {
	row := &versionedRow{table: "servers", where: "id = ?", key: []any{id}, version: version, called: fmt.Sprintf("the server %q", id), missing: missing("there is no server %q", id)}
	_, err := t.update(ctx, row, `state = ?, last_error = ''`, string(state))
	return err
}

// RemoveServer deletes a server for good, with what users entered for it, and
// notes that it was removed and whose it was, so that EnsureBuiltin does not bring
// it back and nobody takes its name over. not_found when the tenant has no such
// server.
func (t *Tenant) RemoveServer(ctx context.Context, id string) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		row, err := scanServer(tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? AND id = ?`), string(t.id), id))
		if errors.Is(err, sql.ErrNoRows) {
			return missing("there is no server %q", id)
		}
		if err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return missing("there is no server %q", id)
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND name IN (?, ?) AND owner LIKE ?`,
			string(t.id), junctor.UserSecret(id), junctor.UserPins(id), junctor.UserOwner("%")); err != nil {
			return err
		}
		_, err = t.s.exec(ctx, tx, `INSERT INTO removed_servers (tenant_id, id, removed_at, owner) VALUES (?, ?, ?, ?)
			ON CONFLICT (tenant_id, id) DO UPDATE SET removed_at = excluded.removed_at, owner = excluded.owner`,
			string(t.id), id, micros(time.Now()), row.Owner)
		return err
	})
	if err != nil {
		return t.s.fail(ctx, err, "remove the server %q", id)
	}
	return nil
}

// RemovedServer tells when a server of that id was last removed, and who owned it;
// not_found where none was.
func (t *Tenant) RemovedServer(ctx context.Context, id string) (owner string, at time.Time, err error) {
	type removed struct {
		owner string
		at    time.Time
	}
	found, err := one(ctx, t.s, func(row scanner) (r removed, err error) {
		var at int64
		err = row.Scan(&r.owner, &at)
		r.at = fromMicros(at)
		return r, err
	}, `SELECT owner, removed_at FROM removed_servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, missing("no server %q was removed", id)
	}
	if err != nil {
		return "", time.Time{}, t.s.fail(ctx, err, "read whether the server %q was removed", id)
	}
	return found.owner, found.at, nil
}

func scanServer(row scanner) (junctor.Server, error) {
	var srv junctor.Server
	var created, updated int64
	var text string
	err := row.Scan(&srv.Tenant, &srv.ID, &srv.Mode, &srv.Title, &srv.State, &srv.LastError, &text, &created, &updated, &srv.UpdatedBy)
	if err != nil {
		return srv, err
	}
	srv.CreatedAt, srv.UpdatedAt = fromMicros(created), fromMicros(updated)
	var config serverConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return srv, fmt.Errorf("the config of the server %q cannot be read: %w", srv.ID, err)
	}
	srv.Owner, srv.Private, srv.Credential = config.Owner, config.Private, config.Credential
	srv.Trusted, srv.Declared, srv.Found, srv.API = config.Trusted, config.Declared, config.Found, config.API
	if config.Connection != nil {
		srv.Connection = *config.Connection
	}
	return srv, nil
}

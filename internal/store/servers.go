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

// serverColumns are the columns that scanServer reads.
const serverColumns = `tenant_id, id, mode, title, state, last_error, config, created_at, updated_at, updated_by`

// serverConfig is the JSON of the column config: the members of a server that no query
// filters by.
type serverConfig struct {
	Owner      string              `json:"owner,omitempty"`
	Private    bool                `json:"private,omitempty"`
	Credential string              `json:"credential,omitempty"`
	Trusted    bool                `json:"trusted,omitempty"`
	Declared   string              `json:"declared,omitempty"`
	Discovered string              `json:"discovered,omitempty"`
	Connection *junctor.Connection `json:"connection,omitempty"`
	API        *junctor.API        `json:"api,omitempty"`
}

// EnsureBuiltin stores a built-in server, active, unless its id is taken or was ever
// removed: a server that an operator removed does not come back with the next start.
func (t *Tenant) EnsureBuiltin(ctx context.Context, id, title string) error {
	if err := junctor.CheckServerID(id); err != nil {
		return err
	}
	now := toMicros(time.Now())
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
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
		return t.s.wrapError(ctx, err, "create the built-in server %q", id)
	}
	return nil
}

// Servers lists the tenant's servers by id.
func (t *Tenant) Servers(ctx context.Context) ([]junctor.Server, error) {
	list, err := readAll(ctx, t.s, scanServer, `SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? ORDER BY id`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the servers")
	}
	return list, nil
}

// Server returns one server; not_found if the tenant has none with that id.
func (t *Tenant) Server(ctx context.Context, id string) (junctor.Server, error) {
	srv, err := readOne(ctx, t.s, scanServer, `SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Server{}, notFound("unknown server %q", id)
	}
	if err != nil {
		return junctor.Server{}, t.s.wrapError(ctx, err, "read the server %q", id)
	}
	return srv, nil
}

// SetServerState stores the state of a server, whatever version it has. lastError is kept
// with StateError only. It is not_found if the tenant has no such server.
func (t *Tenant) SetServerState(ctx context.Context, id string, state junctor.ServerState, lastError string) error {
	switch state {
	case junctor.StateError:
	case junctor.StateActive, junctor.StateInactive:
		lastError = ""
	default:
		return junctor.Errorf(junctor.CodeInvalid, "unknown server state %q; use active, inactive or error", string(state))
	}
	now := toMicros(time.Now())
	n, err := t.s.execWrite(ctx, `UPDATE servers SET state = ?, last_error = ?, updated_at = `+nextVersionSQL+`, updated_by = ? WHERE tenant_id = ? AND id = ?`,
		string(state), lastError, now, now, t.changedBy, string(t.id), id)
	if err != nil {
		return t.s.wrapError(ctx, err, "set the state of the server %q", id)
	}
	if n == 0 {
		return notFound("unknown server %q", id)
	}
	return nil
}

// SwitchServer stores the state of a server that was read before. If somebody else changed
// the server since version, the error is precondition.
func (t *Tenant) SwitchServer(ctx context.Context, id string, state junctor.ServerState, version time.Time) error {
	row := &versionedRow{table: "servers", where: "id = ?", key: []any{id}, version: version, label: fmt.Sprintf("the server %q", id), notFound: notFound("unknown server %q", id)}
	_, err := t.updateVersioned(ctx, row, `state = ?, last_error = ''`, string(state))
	return err
}

// RemoveServer deletes a server for good, with the credentials that users entered for it.
// It records the removal and the owner, so that EnsureBuiltin does not bring the server
// back and nobody else takes its name over. It is not_found if the tenant has no such
// server.
func (t *Tenant) RemoveServer(ctx context.Context, id string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		row, err := scanServer(tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT `+serverColumns+` FROM servers WHERE tenant_id = ? AND id = ?`), string(t.id), id))
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("unknown server %q", id)
		}
		if err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return notFound("unknown server %q", id)
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND name IN (?, ?) AND owner LIKE ?`,
			string(t.id), junctor.UserSecret(id), junctor.UserPins(id), junctor.UserOwner("%")); err != nil {
			return err
		}
		_, err = t.s.exec(ctx, tx, `INSERT INTO removed_servers (tenant_id, id, removed_at, owner) VALUES (?, ?, ?, ?)
			ON CONFLICT (tenant_id, id) DO UPDATE SET removed_at = excluded.removed_at, owner = excluded.owner`,
			string(t.id), id, toMicros(time.Now()), row.Owner)
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "remove the server %q", id)
	}
	return nil
}

// RemovedServer returns the owner of the server of that id that was last removed, and
// when; not_found if none was.
func (t *Tenant) RemovedServer(ctx context.Context, id string) (owner string, at time.Time, err error) {
	type removed struct {
		owner string
		at    time.Time
	}
	found, err := readOne(ctx, t.s, func(row scanner) (r removed, err error) {
		var at int64
		err = row.Scan(&r.owner, &at)
		r.at = fromMicros(at)
		return r, err
	}, `SELECT owner, removed_at FROM removed_servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, notFound("the server %q was not removed", id)
	}
	if err != nil {
		return "", time.Time{}, t.s.wrapError(ctx, err, "read whether the server %q was removed", id)
	}
	return found.owner, found.at, nil
}

// scanServer reads the columns of serverColumns.
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
		return srv, fmt.Errorf("cannot read the config of the server %q: %w", srv.ID, err)
	}
	srv.Owner, srv.Private, srv.Credential = config.Owner, config.Private, config.Credential
	srv.Trusted, srv.Declared, srv.Discovered, srv.API = config.Trusted, config.Declared, config.Discovered, config.API
	if config.Connection != nil {
		srv.Connection = *config.Connection
	}
	return srv, nil
}

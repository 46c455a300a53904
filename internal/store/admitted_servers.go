package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

// errNotJudged is the error for a row that no judge admitted. It is a mistake of the
// program, and must not become a row.
func errNotJudged() error {
	return junctor.Errorf(junctor.CodeInternal, "cannot store a server that was not admitted")
}

// AdmittedServer returns a server that may be reached. A stored row was judged when it was
// written, so that reading it needs no judge.
func (t *Tenant) AdmittedServer(ctx context.Context, id string) (admission.Server, error) {
	row, err := t.Server(ctx, id)
	if err != nil {
		return admission.Server{}, err
	}
	return admission.Stored(row), nil
}

// AdmittedServers lists the tenant's servers, as AdmittedServer returns them.
func (t *Tenant) AdmittedServers(ctx context.Context) ([]admission.Server, error) {
	rows, err := t.Servers(ctx)
	out := make([]admission.Server, len(rows))
	for i, row := range rows {
		out[i] = admission.Stored(row)
	}
	return out, err
}

// AddServer stores a new server and returns it as stored: its times are set here. It is
// active unless the row says inactive. It is a conflict if the id is taken. A row that was
// judged for another tenant is refused.
func (t *Tenant) AddServer(ctx context.Context, admitted admission.Server) (admission.Server, error) {
	srv := admitted.Row()
	if !admitted.Storable() || srv.Tenant != t.id {
		return admission.Server{}, errNotJudged()
	}
	if err := junctor.CheckServerID(srv.ID); err != nil {
		return admission.Server{}, err
	}
	config, err := encodeServerConfig(&srv)
	if err != nil {
		return admission.Server{}, err
	}
	state := junctor.StateActive
	if srv.State == junctor.StateInactive {
		state = srv.State
	}
	now := toMicros(time.Now())
	_, err = t.s.execWrite(ctx, `INSERT INTO servers (`+serverColumns+`) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?)`,
		string(t.id), srv.ID, string(srv.Mode), srv.Title, string(state), config, now, now, t.changedBy)
	if err != nil {
		return admission.Server{}, t.s.wrapError(ctx, err, "add the server %q", srv.ID)
	}
	return t.AdmittedServer(ctx, srv.ID)
}

// UpdateServer stores the title, state, connection, owner and credential of a server, and
// returns it as stored. The row is a changed copy of what Server returned. If somebody
// else changed the server since then, the error is precondition and nothing is stored. Id
// and mode stay.
func (t *Tenant) UpdateServer(ctx context.Context, admitted admission.Server) (admission.Server, error) {
	srv := admitted.Row()
	if !admitted.Storable() || srv.Tenant != t.id {
		return admission.Server{}, errNotJudged()
	}
	config, err := encodeServerConfig(&srv)
	if err != nil {
		return admission.Server{}, err
	}
	row := &versionedRow{table: "servers", where: "id = ?", key: []any{srv.ID}, version: srv.UpdatedAt, label: fmt.Sprintf("the server %q", srv.ID), notFound: notFound("unknown server %q", srv.ID)}
	if _, err := t.updateVersioned(ctx, row, `title = ?, state = ?, config = ?`, srv.Title, string(srv.State), config); err != nil {
		return admission.Server{}, err
	}
	return t.AdmittedServer(ctx, srv.ID)
}

// encodeServerConfig returns the column config of a server.
func encodeServerConfig(srv *junctor.Server) (string, error) {
	config, err := json.Marshal(serverConfig{Owner: srv.Owner, Private: srv.Private, Credential: srv.Credential, Trusted: srv.Trusted, Declared: srv.Declared, Discovered: srv.Discovered, Connection: &srv.Connection, API: srv.API})
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "cannot store the server %q: %w", srv.ID, err)
	}
	return string(config), nil
}

// SeenServer is the state of a server when it last answered. With it the server's tools
// can be listed before it answers again.
type SeenServer struct {
	Offer    []byte // its offer, in the encoding of the caller
	Isolated string // why it needs a connection for each client; "" where it does not
	At       time.Time
}

// SawServer stores the state of a server, in place of the former one; not_found if the
// tenant has no such server.
func (t *Tenant) SawServer(ctx context.Context, id string, seen SeenServer) error {
	isolated := 0
	if seen.Isolated != "" {
		isolated = 1
	}
	_, err := t.s.execWrite(ctx, `INSERT INTO seen_servers (tenant_id, id, offer, isolated, isolated_why, seen_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, id) DO UPDATE SET offer = excluded.offer, isolated = excluded.isolated,
			isolated_why = excluded.isolated_why, seen_at = excluded.seen_at`,
		string(t.id), id, nonNilBytes(seen.Offer), isolated, seen.Isolated, toMicros(seen.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q", id)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the offer of the server %q", id)
	}
	return nil
}

// SeenServer returns the last state of a server; not_found if it never answered.
func (t *Tenant) SeenServer(ctx context.Context, id string) (SeenServer, error) {
	seen, err := readOne(ctx, t.s, func(row scanner) (SeenServer, error) {
		var seen SeenServer
		var isolated, at int64
		err := row.Scan(&seen.Offer, &isolated, &seen.Isolated, &at)
		if isolated != 0 && seen.Isolated == "" {
			seen.Isolated = "an earlier check showed that it is required" // by a version that did not keep why
		}
		seen.At = fromMicros(at)
		return seen, err
	}, `SELECT offer, isolated, isolated_why, seen_at FROM seen_servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return SeenServer{}, notFound("the server %q has not been reached yet", id)
	}
	if err != nil {
		return SeenServer{}, t.s.wrapError(ctx, err, "read the offer of the server %q", id)
	}
	return seen, nil
}

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

// errNotJudged is what a row that no judge admitted is refused with: a mistake of
// ours, which must not become a row.
func errNotJudged() error {
	return junctor.Errorf(junctor.CodeInternal, "a server that nobody was allowed to bring cannot be stored")
}

// AdmittedServer is Server for whoever reaches the server: what is stored was
// judged when it was written.
func (t *Tenant) AdmittedServer(ctx context.Context, id string) (admission.Server, error) {
	row, err := t.Server(ctx, id)
	if err != nil {
		return admission.Server{}, err
	}
	return admission.Stored(row), nil
}

// AdmittedServers is Servers for whoever reaches them.
func (t *Tenant) AdmittedServers(ctx context.Context) ([]admission.Server, error) {
	rows, err := t.Servers(ctx)
	out := make([]admission.Server, len(rows))
	for i, row := range rows {
		out[i] = admission.Stored(row)
	}
	return out, err
}

// AddServer creates the row of a server that people bring, and gives it back
// as stored: its times are set here. It is active unless the row says inactive.
// Conflict when the id is taken. A row that was judged for another tenant is refused.
func (t *Tenant) AddServer(ctx context.Context, admitted admission.Server) (admission.Server, error) {
	srv := admitted.Row()
	if !admitted.Storable() || srv.Tenant != t.id {
		return admission.Server{}, errNotJudged()
	}
	if err := junctor.CheckServerID(srv.ID); err != nil {
		return admission.Server{}, err
	}
	config, err := configOf(&srv)
	if err != nil {
		return admission.Server{}, err
	}
	state := junctor.StateActive
	if srv.State == junctor.StateInactive {
		state = srv.State
	}
	now := micros(time.Now())
	_, err = t.s.do(ctx, `INSERT INTO servers (`+serverColumns+`) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?)`,
		string(t.id), srv.ID, string(srv.Mode), srv.Title, string(state), config, now, now, t.by)
	if err != nil {
		return admission.Server{}, t.s.fail(ctx, err, "add the server %q", srv.ID)
	}
	return t.AdmittedServer(ctx, srv.ID)
}

// UpdateServer stores another title, state, connection, owner and credential of
// a server as the row has them, and gives it back as stored. The row is what Server
// gave, changed: precondition where somebody else changed it meanwhile, and nothing is
// stored. The id and mode stay.
func (t *Tenant) UpdateServer(ctx context.Context, admitted admission.Server) (admission.Server, error) {
	srv := admitted.Row()
	if !admitted.Storable() || srv.Tenant != t.id {
		return admission.Server{}, errNotJudged()
	}
	config, err := configOf(&srv)
	if err != nil {
		return admission.Server{}, err
	}
	row := &versionedRow{table: "servers", where: "id = ?", key: []any{srv.ID}, version: srv.UpdatedAt, called: fmt.Sprintf("the server %q", srv.ID), missing: missing("there is no server %q", srv.ID)}
	if _, err := t.update(ctx, row, `title = ?, state = ?, config = ?`, srv.Title, string(srv.State), config); err != nil {
		return admission.Server{}, err
	}
	return t.AdmittedServer(ctx, srv.ID)
}

func configOf(srv *junctor.Server) (string, error) {
	config, err := json.Marshal(serverConfig{Owner: srv.Owner, Private: srv.Private, Credential: srv.Credential, Trusted: srv.Trusted, Declared: srv.Declared, Found: srv.Found, Connection: &srv.Connection, API: srv.API})
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "the server %q cannot be stored: %w", srv.ID, err)
	}
	return string(config), nil
}

// SeenServer is what a server was like when it last answered, so that it can
// be listed before it answers again.
type SeenServer struct {
	Offer    []byte // what it offered; how it is written is for whoever reads it
	Isolated string // why it needs a connection for each client; "" where it does not
	At       time.Time
}

// SawServer stores what a server was like, in place of the former. not_found
// when the tenant has no such server.
func (t *Tenant) SawServer(ctx context.Context, id string, seen SeenServer) error {
	isolated := 0
	if seen.Isolated != "" {
		isolated = 1
	}
	_, err := t.s.do(ctx, `INSERT INTO seen_servers (tenant_id, id, offer, isolated, isolated_why, seen_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, id) DO UPDATE SET offer = excluded.offer, isolated = excluded.isolated,
			isolated_why = excluded.isolated_why, seen_at = excluded.seen_at`,
		string(t.id), id, filled(seen.Offer), isolated, seen.Isolated, micros(seen.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return missing("there is no server %q", id)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store what the server %q offers", id)
	}
	return nil
}

// SeenServer gives what a server was last like; not_found when it was never
// seen.
func (t *Tenant) SeenServer(ctx context.Context, id string) (SeenServer, error) {
	seen, err := one(ctx, t.s, func(row scanner) (SeenServer, error) {
		var seen SeenServer
		var isolated, at int64
		err := row.Scan(&seen.Offer, &isolated, &seen.Isolated, &at)
		if isolated != 0 && seen.Isolated == "" {
			seen.Isolated = "it was seen to need that" // by a version that did not keep why
		}
		seen.At = fromMicros(at)
		return seen, err
	}, `SELECT offer, isolated, isolated_why, seen_at FROM seen_servers WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return SeenServer{}, missing("the server %q has not been seen yet", id)
	}
	if err != nil {
		return SeenServer{}, t.s.fail(ctx, err, "read what the server %q offers", id)
	}
	return seen, nil
}

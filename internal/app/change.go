package app

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/visit"
)

const probeTime = 90 * time.Second // starting a process may take a minute

// allowed says whether a principal may bring this connection. A command, and a
// credential that is read from this machine, come from the operator, or from an
// admin where the operator said so. A refusal is on record.
func (s *servers) allowed(ctx context.Context, p *junctor.Principal, id string, now, former *junctor.Connection) error {
	err := s.judge(p, s.operator(p), now, former)
	if junctor.CodeOf(err) == junctor.CodeDenied {
		call := junctor.Call{
			ID: newID(), Tenant: p.Tenant, Kind: junctor.KindServer, Door: junctor.DoorAdmin, Server: id, Name: "add", Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent,
			Status: junctor.StatusDenied, Code: junctor.CodeDenied, Reason: junctor.AsError(err).Message, Start: time.Now(),
		}
		if aerr := s.app.journal.Append(context.WithoutCancel(ctx), &call); aerr != nil {
			s.app.log.Error("a refusal could not be recorded", telemetry.Err(aerr))
		}
	}
	return err
}

func (s *servers) judge(p *junctor.Principal, operator bool, now, former *junctor.Connection) error {
	if now.Transport == junctor.TransportStdio && !operator && !sameCommand(now, former) {
		return junctor.Errorf(junctor.CodeDenied,
			"a command to run comes from the operator: add it with the command line on this machine, or start Junctor with --allow-commands and use an admin key")
	}
	var had []string
	if former != nil {
		had = credential.References(*former)
	}
	for _, ref := range credential.References(*now) {
		if err := s.reader().Check(ref); err != nil {
			return err
		}
		if operator || slices.Contains(had, ref) { // Keep binds those to their origin
			continue
		}
		if err := mayName(p, ref); err != nil {
			return err
		}
	}
	return nil
}

// mayName says whether somebody who is not the operator may have a credential
// read from this machine.
func mayName(p *junctor.Principal, ref string) error {
	switch {
	case credential.IsCommand(ref):
		return junctor.Errorf(junctor.CodeDenied, "a credential that a command gives comes from the operator: add it with the command line on this machine")
	case !p.Operator():
		return junctor.Errorf(junctor.CodeDenied, "a credential that is read from this machine needs the scope admin in the tenant %s", junctor.DefaultTenant)
	}
	return nil
}

// operator says whether a principal may have commands run here.
func (s *servers) operator(p *junctor.Principal) bool {
	return p.Issuer == junctor.IssuerLocal || p.Operator() && s.app.cfg.AllowCommands
}

func sameCommand(now, former *junctor.Connection) bool {
	return former != nil && former.Transport == now.Transport && slices.Equal(former.Command, now.Command) && former.Cwd == now.Cwd && equalMaps(former.Env, now.Env)
}

func equalMaps(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// AddServer reaches a server, and stores and attaches it when that worked.
func (s *servers) AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	if in.Server.Mode == junctor.ModeGenerated {
		return s.addGenerated(ctx, p, in)
	}
	row := in.Server
	row.Tenant, row.Mode, row.Owner, row.Trusted = p.Tenant, junctor.ModeBYO, p.ID(), p.Issuer == junctor.IssuerLocal
	if err := s.check(ctx, p, &row, nil); err != nil {
		return junctor.Server{}, err
	}
	if err := s.free(ctx, p, row.ID); err != nil {
		return junctor.Server{}, err
	}
	up, err := s.probe(ctx, p, &row, in.Credentials, nil)
	if err != nil {
		return junctor.Server{}, err
	}
	defer s.hold(row.Tenant, row.ID)()
	stored, err := s.store(ctx, row, in.Credentials, nil)
	if up != nil && (err != nil || stored.State == junctor.StateInactive) {
		up.Close()
	}
	if err != nil || stored.State == junctor.StateInactive {
		return stored, err
	}
	return stored, s.bring(ctx, stored, up)
}

// store seals the credentials of a row and stores it, in place of the former
// one where there is one: both, or neither.
func (s *servers) store(ctx context.Context, row junctor.Server, set credential.Set, former *junctor.Server) (junctor.Server, error) {
	var err error
	if row.Credential, err = s.seal(ctx, &row, set); err != nil {
		return junctor.Server{}, err
	}
	rows := s.app.store.For(row.Tenant)
	var stored junctor.Server
	if former == nil {
		stored, err = rows.AddServer(ctx, row)
	} else {
		stored, err = rows.UpdateServer(ctx, row)
	}
	if err != nil {
		s.unseal(ctx, &row, row.Credential)
		return junctor.Server{}, err
	}
	if former != nil {
		s.unseal(ctx, former, former.Credential)
	}
	return stored, nil
}

// ProbeServer reaches a server as it is described, and stores nothing.
func (s *servers) ProbeServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Probe, error) {
	row := in.Server
	row.Tenant, row.Mode, row.Trusted = p.Tenant, junctor.ModeBYO, p.Issuer == junctor.IssuerLocal
	if row.ID == "" {
		row.ID = "probe"
	}
	if err := s.check(ctx, p, &row, nil); err != nil {
		return junctor.Probe{}, err
	}
	up, err := s.connect(ctx, &row, credential.Literal(in.Credentials), nil, "")
	if err != nil {
		return junctor.Probe{}, err
	}
	defer up.Close()
	report, _ := s.reach(ctx, up, up.Begin)
	return report, nil
}

func (s *servers) check(ctx context.Context, p *junctor.Principal, row *junctor.Server, former *junctor.Connection) error {
	if err := junctor.CheckServerID(row.ID); err != nil {
		return err
	}
	if row.ID == junctor.AdhocServer {
		return junctor.Errorf(junctor.CodeInvalid, "%q is the id of calls to endpoints that are no server: choose another", row.ID)
	}
	if err := row.Check(); err != nil {
		return err
	}
	return s.allowed(ctx, p, row.ID, &row.Connection, former)
}

// probe reaches the server of a row that is not stored yet, and gives the
// connection that it made; nil where it has to be logged in to first. Nothing that
// was not reached is stored.
func (s *servers) probe(ctx context.Context, p *junctor.Principal, row *junctor.Server, set credential.Set, former *junctor.Connection) (*reached, error) {
	if err := s.check(ctx, p, row, former); err != nil {
		return nil, err
	}
	up, err := s.connect(ctx, row, credential.Literal(set), nil, "")
	if err != nil {
		return nil, err
	}
	if _, err := s.reach(ctx, up, up.Begin); err != nil {
		up.Close()
		if refusal := upstream.RefusalOf(err); row.LogsIn() && refusal != nil && refusal.Status == http.StatusUnauthorized {
			return nil, nil // it is there, and wants what comes later: a login
		}
		return nil, err
	}
	return s.rested(ctx, row, credential.Literal(set), up)
}

// rested gives a connection that was reached to whoever is to use it. A process
// ends: the first call starts one.
func (s *servers) rested(ctx context.Context, row *junctor.Server, literals visit.Literals, up reached) (*reached, error) {
	if row.Transport != junctor.TransportStdio {
		return &up, nil
	}
	defer up.Close()
	offer, err := up.Offer(ctx)
	if err != nil {
		return nil, err
	}
	next, err := s.connect(ctx, row, literals, offer, "")
	return &next, err
}

// seal stores the literals of a row's credentials under a new name: the row
// points to one or the other, never to half of both.
func (s *servers) seal(ctx context.Context, row *junctor.Server, set credential.Set) (string, error) {
	if len(set) == 0 {
		return "", nil
	}
	packed, err := set.Pack(row.Connection)
	if err != nil {
		return "", err
	}
	name := visit.SecretPrefix + newID()
	return name, s.app.vault.Put(ctx, row.Tenant, row.ID, name, packed)
}

// unseal forgets sealed credentials that no row points to.
func (s *servers) unseal(ctx context.Context, row *junctor.Server, name string) {
	if name == "" {
		return
	}
	if err := s.app.vault.Delete(context.WithoutCancel(ctx), row.Tenant, row.ID, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		s.app.log.Warn("sealed credentials that are not used any more could not be deleted", slog.String("server", row.ID), telemetry.Err(err))
	}
}

// forget deletes every sealed credential of a server.
func (s *servers) forget(ctx context.Context, tenant junctor.TenantID, id string) error {
	list, err := s.app.vault.List(ctx, tenant)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.Owner == id && strings.HasPrefix(info.Name, visit.SecretPrefix) {
			if err := s.app.vault.Delete(ctx, tenant, id, info.Name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
				return err
			}
		}
	}
	return nil
}

// ChangeServer changes a server in place. Where the connection changes, the
// server is reached first as it would be then.
func (s *servers) ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (credential.Set, error)) (junctor.Server, error) {
	rows := s.app.store.For(p.Tenant)
	former, err := s.own(ctx, p, id)
	if err != nil {
		return junctor.Server{}, err
	}
	if former.Mode == junctor.ModeGenerated {
		return s.changeGenerated(ctx, p, former, change)
	}
	if former.Mode == junctor.ModeBuiltin {
		return s.changeBuiltin(ctx, former, change)
	}
	if former.Mode != junctor.ModeBYO {
		return junctor.Server{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only its state can be changed", id, former.Mode)
	}
	if err := s.app.ours("server", id, former.Declared); err != nil {
		return junctor.Server{}, err
	}
	row := former
	row.Declared = ""
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	if err := row.Check(); err != nil {
		return junctor.Server{}, err
	}
	moved := len(entered) > 0 || !sameConnection(&row.Connection, &former.Connection)
	if !moved {
		if err := s.check(ctx, p, &row, &former.Connection); err != nil {
			return junctor.Server{}, err
		}
		defer s.hold(row.Tenant, row.ID)()
		stored, err := rows.UpdateServer(ctx, row)
		if err != nil {
			return stored, err
		}
		s.renamed(ctx, &former, &stored)
		if stored.State == junctor.StateInactive {
			return stored, nil
		}
		return stored, s.bring(ctx, stored, nil)
	}
	row.Trusted = p.Issuer == junctor.IssuerLocal
	set, err := s.kept(ctx, &row, entered, &former)
	if err != nil {
		return junctor.Server{}, err
	}
	up, err := s.probe(ctx, p, &row, set, &former.Connection)
	if err != nil {
		return junctor.Server{}, err
	}
	defer s.hold(row.Tenant, row.ID)()
	stored, err := s.store(ctx, row, set, &former)
	if err == nil {
		s.renamed(ctx, &former, &stored)
	}
	if up != nil && (err != nil || stored.State == junctor.StateInactive) {
		up.Close()
	}
	if err != nil || stored.State == junctor.StateInactive {
		return stored, err
	}
	return stored, s.bring(ctx, stored, up)
}

// kept is the credentials of a row that takes the place of another: those that
// were entered, and those that it says to keep.
func (s *servers) kept(ctx context.Context, row *junctor.Server, entered credential.Set, former *junctor.Server) (credential.Set, error) {
	set, err := s.desk.Stored(*former)(ctx)
	if err != nil {
		s.app.log.Warn("the stored credentials of a server cannot be used; those that are not entered anew are lost", slog.String("server", row.ID), telemetry.Err(err))
		set = credential.Set{}
	}
	return credential.Keep(row.Connection, entered, former.Connection, set)
}

// sameConnection says whether two connections lead to the same place in the
// same way; how tools are shown and how long calls may take is not part of that.
func sameConnection(a, b *junctor.Connection) bool {
	auth := func(c *junctor.Connection) junctor.Auth {
		if c.Auth == nil {
			return junctor.Auth{Type: junctor.AuthNone}
		}
		return *c.Auth
	}
	return a.Transport == b.Transport && a.URL == b.URL && slices.Equal(a.Command, b.Command) && a.Cwd == b.Cwd && equalMaps(a.Env, b.Env) &&
		equalMaps(a.Headers, b.Headers) && auth(a) == auth(b) && a.PerUser() == b.PerUser() && a.Isolation == b.Isolation && a.MaxSessions == b.MaxSessions &&
		(a.Home == junctor.HomeOne) == (b.Home == junctor.HomeOne)
}

package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Paths of the pages that a browser logs in to a server with.
const (
	callbackPath = signin.ConnectedPath
	documentPath = "/oauth/client.json"
)

const purposePending = "server-login"

// begun is a login that a person is at. Who began it holds it, sealed: a browser
// as a cookie, the command line in its hand. So a code is good for them alone,
// whichever instance it comes to.
type begun struct {
	Tenant  junctor.TenantID `json:"tenant"`
	Server  string           `json:"server"`
	User    string           `json:"user,omitempty"`
	By      string           `json:"by"`
	Pending oauth.Pending    `json:"pending"`
}

// callbackURL is where browsers come back to.
func (a *App) callbackURL() string { return a.ConsoleURL() + callbackPath }

// documentURL is where the document lies that says which client we are; "" where
// authorization servers could not read it.
func (a *App) documentURL() string {
	u := a.cfg.PublicURL
	if u == nil || u.Scheme != "https" {
		return ""
	}
	return u.String() + documentPath
}

// loopbackCallback is where the command line waits for browsers, where it can.
const loopbackCallback = "http://127.0.0.1:8719/callback"

// clientDocument is the client metadata document.
func (a *App) clientDocument() map[string]any {
	return map[string]any{
		"client_id": a.documentURL(), "client_name": "Junctor", "client_uri": a.URL(),
		"redirect_uris": []string{a.callbackURL(), loopbackCallback, "http://127.0.0.1/callback"},
		"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	}
}

// visitsOf gives the logins of a server, as it is attached or, where it is
// switched off, as it would be.
func (s *servers) visitsOf(row *junctor.Server) *visits {
	s.mu.Lock()
	b := s.live[serverKey{row.Tenant, row.ID}]
	s.mu.Unlock()
	if b != nil {
		if up := b.current().up; up.visits != nil && b.current().serves(row) {
			return up.visits
		}
	}
	return s.newVisits(row, s.sourceOf(row))
}

// whose gives a server that people log in to, and whose login p means.
func (s *servers) whose(ctx context.Context, p *junctor.Principal, id string, shared bool) (*visits, string, error) {
	row, err := s.mine(ctx, p, id)
	if err != nil {
		return nil, "", err
	}
	if !row.LogsIn() {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "nobody logs in to the server %q: its auth is not of the type oauth; junctor server add --oauth adds one that people log in to", id)
	}
	v := s.visitsOf(&row)
	if row.PerUser() && !shared {
		if p.Issuer != junctor.IssuerUser || p.User == "" {
			return nil, "", junctor.Errorf(junctor.CodeInvalid, "the server %q is called with each user's own login: use a key or a login of a user; the server's own login, which its lists are read with, is meant by --shared", id)
		}
		return v, p.User, nil
	}
	if !p.Has(junctor.ScopeServersWrite) {
		return nil, "", junctor.Errorf(junctor.CodeDenied, "the login at the server %q is everybody's: it takes the scope %s", id, junctor.ScopeServersWrite)
	}
	_, err = s.own(ctx, p, id)
	return v, "", err
}

// StartLogin implements admin.ServerLogins.
func (s *servers) StartLogin(ctx context.Context, p *junctor.Principal, id string, in admin.LoginStart) (admin.LoginStarted, error) {
	v, user, err := s.whose(ctx, p, id, in.Shared)
	if err != nil {
		return admin.LoginStarted{}, err
	}
	redirect := in.RedirectURI
	if redirect == "" {
		redirect = s.app.callbackURL()
	}
	if err := s.comesBack(redirect); err != nil {
		return admin.LoginStarted{}, err
	}
	sealed, address, until, err := v.start(ctx, p, user, redirect, oauth.Challenge{})
	return admin.LoginStarted{AuthorizationURL: address, RedirectURI: redirect, Login: sealed, ExpiresAt: until}, err
}

// comesBack refuses to send a person with a code anywhere but to us, or to a
// program on their own machine.
func (s *servers) comesBack(redirect string) error {
	u, err := url.Parse(redirect)
	if redirect == s.app.callbackURL() || redirect == s.app.URL()+callbackPath {
		return nil
	}
	if err == nil && u.Scheme == "http" && u.User == nil && u.Fragment == "" {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			return nil
		}
	}
	return junctor.Errorf(junctor.CodeInvalid, "redirect_uri is the address of this instance, %s, or one on the person's own machine, http://127.0.0.1:PORT/…", s.app.callbackURL())
}

// start begins a login. What it gives sealed has to be brought back.
func (v *visits) start(ctx context.Context, p *junctor.Principal, user, redirect string, wants oauth.Challenge) (sealed, address string, until time.Time, err error) {
	server, err := v.server(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	former, err := v.keep(user).Load(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	if !wants.More() {
		former = nil // a login begins anew, and only a widened one goes on from the one before
	}
	if wants.Status == 0 {
		v.mu.Lock()
		wants = v.wanted
		v.mu.Unlock()
	}
	clients, err := v.clients(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	var known *oauth.Registered
	if i := slices.IndexFunc(clients, func(c oauth.Registered) bool { return c.Redirect == redirect }); i >= 0 {
		known = &clients[i]
	}
	pending, address, trace, err := v.client.Begin(ctx, oauth.Start{Server: server, Redirect: redirect, Challenge: wants, Known: known, Former: former})
	v.s.traced(&v.row, user, trace)
	if err != nil {
		return "", "", time.Time{}, refusedLogin(v.row.ID, err)
	}
	if pending.Client.Redirect != "" && pending.Client.ID != v.client.MetadataURL && (known == nil || known.ID != pending.Client.ID) {
		if err := v.remember(ctx, clients, pending.Client); err != nil {
			return "", "", time.Time{}, err
		}
	}
	pending.Client.Secret = "" // it is not carried about
	text, err := json.Marshal(begun{v.row.Tenant, v.row.ID, user, p.ID(), *pending})
	if err != nil {
		return "", "", time.Time{}, junctor.AsError(err)
	}
	return sealer{v.s.app.ring}.Seal(purposePending, text), address, pending.Until, nil
}

// refusedLogin is an error of a login for callers of ours: that somebody else
// refused us is not that we refuse them.
func refusedLogin(id string, err error) error {
	e := *junctor.AsError(err)
	switch e.Code {
	case junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound:
		e.Code = junctor.CodeUpstream
	default:
	}
	e.Message = "the login at the server " + id + " failed: " + e.Message
	return &e
}

// maxClients bounds the clients that are registered for one server: one for each
// address that people come back to.
const maxClients = 16

// clients are those that were registered for the server.
func (v *visits) clients(ctx context.Context) (all []oauth.Registered, err error) {
	packed, ok, err := v.s.app.vault.Get(ctx, v.row.Tenant, v.row.ID, clientsSecret)
	if err != nil || !ok {
		return nil, err
	}
	if json.Unmarshal([]byte(packed.Reveal()), &all) != nil {
		all = nil // they are registered anew
	}
	return all, nil
}

// remember keeps a new client beside the others.
func (v *visits) remember(ctx context.Context, clients []oauth.Registered, c oauth.Registered) error {
	clients = slices.DeleteFunc(slices.Clone(clients), func(o oauth.Registered) bool { return o.Redirect == c.Redirect })
	clients = append(clients, c)
	text, err := json.Marshal(clients[max(0, len(clients)-maxClients):]) //nolint:gosec // G117: it is sealed
	if err != nil {
		return junctor.AsError(err)
	}
	return v.s.app.vault.Put(ctx, v.row.Tenant, v.row.ID, clientsSecret, seal.NewSecret(string(text)))
}

// FinishLogin implements admin.ServerLogins.
func (s *servers) FinishLogin(ctx context.Context, p *junctor.Principal, id, sealed, answer string) (junctor.ServerLogin, error) {
	if _, err := s.mine(ctx, p, id); err != nil {
		return junctor.ServerLogin{}, err
	}
	u, err := url.Parse(strings.TrimSpace(answer))
	if err != nil {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "url is the whole address that the browser was sent to, with what stands behind the question mark")
	}
	b, err := s.opened(sealed) //nolint:contextcheck // opening asks nobody
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if b.Tenant != p.Tenant || b.Server != id || b.By != p.ID() {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was begun by somebody else, or at another server: begin it again")
	}
	return s.finish(ctx, p, b, u.Query())
}

func (s *servers) opened(sealed string) (*begun, error) {
	text, err := sealer{s.app.ring}.Open(purposePending, sealed)
	b := &begun{}
	if err != nil || json.Unmarshal(text, b) != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this login was not begun here, or too long ago: begin it again")
	}
	return b, nil
}

// finish makes a login of the answer that a person came back with. Each is good
// for one answer.
func (s *servers) finish(ctx context.Context, p *junctor.Principal, b *begun, answer url.Values) (junctor.ServerLogin, error) {
	v, user, err := s.whose(ctx, p, b.Server, b.User == "")
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if user != b.User {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was begun by somebody else: begin it again")
	}
	first, err := s.app.store.For(b.Tenant).UseState(ctx, "server-login:"+b.Pending.State, b.Pending.Until)
	switch {
	case err != nil:
		return junctor.ServerLogin{}, err
	case !first:
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was finished already: begin it again")
	case b.Pending.Origin != oauth.OriginOf(v.row.URL):
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "the server %s has another address now: begin the login again", b.Server)
	}
	if err := v.proof(ctx, &b.Pending); err != nil {
		return junctor.ServerLogin{}, err
	}
	ctx = context.WithoutCancel(ctx) // a code is good once
	grant, trace, err := v.client.Finish(ctx, &b.Pending, answer)
	s.traced(&v.row, user, trace)
	s.recorded(ctx, p, b.Server, "login", err)
	if err != nil {
		return junctor.ServerLogin{}, refusedLogin(b.Server, err)
	}
	if err := v.keep(user).Save(ctx, grant); err != nil {
		return junctor.ServerLogin{}, err
	}
	s.loginChanged(&v.row, user)
	if user == "" {
		s.arrived(ctx, &v.row)
	}
	return standing(grant, user), nil
}

// proof gives a pending login back the secret of its client.
func (v *visits) proof(ctx context.Context, p *oauth.Pending) error {
	server, err := v.server(ctx)
	if err != nil {
		return err
	}
	if server.ClientID == p.Client.ID {
		p.Client.Secret = server.Secret.Reveal()
		return nil
	}
	clients, err := v.clients(ctx)
	for _, c := range clients {
		if c.ID == p.Client.ID && c.Issuer == p.Client.Issuer {
			p.Client.Secret = c.Secret
		}
	}
	return err
}

// loginChanged has the next call made with the login as it is now.
func (s *servers) loginChanged(row *junctor.Server, user string) {
	s.mu.Lock()
	b := s.live[serverKey{row.Tenant, row.ID}]
	s.mu.Unlock()
	if b == nil {
		return
	}
	up := b.current().up
	if up.visits != nil {
		up.visits.changed(user)
	}
	if user != "" {
		s.credentialChanged(serverKey{row.Tenant, row.ID}, user)
	}
}

// arrived reaches a server with its new login: what it offers is there when the
// person comes back.
func (s *servers) arrived(ctx context.Context, row *junctor.Server) {
	if row.State == junctor.StateInactive {
		return
	}
	up, err := s.connect(ctx, row, s.stored(*row), nil, "")
	if err != nil {
		return
	}
	if _, err := s.reach(ctx, up, up.Begin); err != nil {
		up.Close()
		s.app.log.Warn("a server could not be reached with its new login", slog.String("server", row.ID), telemetry.Err(err))
		return
	}
	if err := s.bring(ctx, *row, &up); err != nil {
		s.app.log.Warn("a server could not be attached with its new login", slog.String("server", row.ID), telemetry.Err(err))
	}
}

// standing says how a login stands.
func standing(g *oauth.Grant, user string) junctor.ServerLogin {
	out := junctor.ServerLogin{State: junctor.LoginNone, User: user}
	if g == nil {
		return out
	}
	out.State, out.Issuer, out.Resource, out.ClientID, out.Scopes = junctor.LoginLive, g.Endpoints.Issuer, g.Resource, g.Client.ID, g.Token.Scopes
	out.Since, out.ExpiresAt, out.Renewable, out.Reason = g.Since.UTC(), g.Token.Expires.UTC(), g.Token.Refresh != "", g.Ended
	if g.Token.Expires.IsZero() {
		out.ExpiresAt = time.Time{}
	}
	if !g.Live() {
		out.State = junctor.LoginEnded
	}
	return out
}

// ServerLogin implements admin.ServerLogins.
func (s *servers) ServerLogin(ctx context.Context, p *junctor.Principal, id string, shared bool) (junctor.ServerLogin, error) {
	v, user, err := s.whose(ctx, p, id, shared)
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	g, err := v.keep(user).Load(ctx)
	return standing(g, user), err
}

// EndLogin implements admin.ServerLogins.
func (s *servers) EndLogin(ctx context.Context, p *junctor.Principal, id string, shared bool) error {
	v, user, err := s.whose(ctx, p, id, shared)
	if err != nil {
		return err
	}
	keep := v.keep(user)
	g, err := keep.Load(ctx)
	if err != nil || g == nil {
		return err // who is not logged in is logged out
	}
	ctx = context.WithoutCancel(ctx)
	if err := keep.(kept).forget(ctx); err != nil { //nolint:forcetypeassert // keep makes no other
		return err
	}
	s.loginChanged(&v.row, user)
	s.recorded(ctx, p, id, "logout", nil)
	if g.Live() {
		pending := oauth.Pending{Client: g.Client}
		if err := v.proof(ctx, &pending); err == nil && pending.Client.Secret != "" {
			g.Client.Secret = pending.Client.Secret
		}
		s.traced(&v.row, user, v.client.Revoke(ctx, g))
	}
	return nil
}

// recorded writes a login or logout into the journal.
func (s *servers) recorded(ctx context.Context, p *junctor.Principal, id, what string, err error) {
	call := junctor.Call{
		ID: newID(), Tenant: p.Tenant, Kind: junctor.KindServer, Door: junctor.DoorAdmin, Server: id, Name: what, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent,
		Status: junctor.StatusSuccess, Start: time.Now(),
	}
	if err != nil {
		call.Status, call.Code, call.Reason = junctor.StatusError, junctor.CodeOf(err), junctor.AsError(err).Message
	}
	if aerr := s.app.journal.Append(ctx, &call); aerr != nil {
		s.app.log.Error("a login could not be recorded", telemetry.Err(aerr))
	}
}

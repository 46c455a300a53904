package visit

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
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/telemetry"
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

// loginsOf gives the logins of a server, as it is attached or, where it is
// switched off, as it would be.
func (d *Desk) loginsOf(ctx context.Context, row *junctor.Server) (*logins, error) {
	if s := d.Servers.Attached(row); s != nil && s.logins != nil {
		return s.logins, nil
	}
	admitted, err := d.Servers.Admitted(ctx, row)
	if err != nil {
		return nil, err
	}
	return d.Server(admitted, d.Stored(admitted.Row())).logins, nil
}

// whose gives a server that people log in to, and whose login p means.
func (d *Desk) whose(ctx context.Context, p *junctor.Principal, id string, shared bool) (*logins, string, error) {
	row, err := d.Servers.Seen(ctx, p, id)
	if err != nil {
		return nil, "", err
	}
	if !row.LogsIn() {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "nobody logs in to the server %q: its auth is not of the type oauth; junctor server add --oauth adds one that people log in to", id)
	}
	l, err := d.loginsOf(ctx, &row)
	if err != nil {
		return nil, "", err
	}
	if row.PerUser() && !shared {
		if p.Issuer != junctor.IssuerUser || p.User == "" {
			return nil, "", junctor.Errorf(junctor.CodeInvalid, "the server %q is called with each user's own login: use a key or a login of a user; the server's own login, which its lists are read with, is meant by --shared", id)
		}
		return l, p.User, nil
	}
	if !p.Has(junctor.ScopeServersWrite) {
		return nil, "", junctor.Errorf(junctor.CodeDenied, "the login at the server %q is everybody's: it takes the scope %s", id, junctor.ScopeServersWrite)
	}
	_, err = d.Servers.Owned(ctx, p, id)
	return l, "", err
}

// Begun is a login that a person is to go on with.
type Begun struct {
	AuthorizationURL string // what the person opens
	RedirectURI      string // where they come back to
	Login            string // has to be brought back with the answer; it is secret
	ExpiresAt        time.Time
}

// Begin begins a login at a server: the one of p, or everybody's. redirect is
// where the browser comes back to, "" is a page of this instance.
func (d *Desk) Begin(ctx context.Context, p *junctor.Principal, id, redirect string, shared bool) (Begun, error) {
	l, user, err := d.whose(ctx, p, id, shared)
	if err != nil {
		return Begun{}, err
	}
	if redirect == "" {
		redirect = d.callbackURL()
	}
	if err := d.comesBack(redirect); err != nil {
		return Begun{}, err
	}
	sealed, address, until, err := l.start(ctx, p, user, redirect, oauth.Challenge{})
	return Begun{AuthorizationURL: address, RedirectURI: redirect, Login: sealed, ExpiresAt: until}, err
}

// comesBack refuses to send a person with a code anywhere but to us, or to a
// program on their own machine.
func (d *Desk) comesBack(redirect string) error {
	u, err := url.Parse(redirect)
	if redirect == d.callbackURL() || redirect == d.URL()+d.CallbackPath {
		return nil
	}
	if err == nil && u.Scheme == "http" && u.User == nil && u.Fragment == "" {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			return nil
		}
	}
	return junctor.Errorf(junctor.CodeInvalid, "redirect_uri is the address of this instance, %s, or one on the person's own machine, http://127.0.0.1:PORT/…", d.callbackURL())
}

// start begins a login. What it gives sealed has to be brought back.
func (l *logins) start(ctx context.Context, p *junctor.Principal, user, redirect string, wants oauth.Challenge) (sealed, address string, until time.Time, err error) {
	server, err := l.server(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	former, err := l.keep(user).Load(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	if !wants.More() {
		former = nil // a login begins anew, and only a widened one goes on from the one before
	}
	if wants.Status == 0 {
		l.mu.Lock()
		wants = l.wanted
		l.mu.Unlock()
	}
	clients, err := l.clients(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	var known *oauth.Registered
	if i := slices.IndexFunc(clients, func(c oauth.Registered) bool { return c.Redirect == redirect && c.Redirect != "" }); i >= 0 {
		known = &clients[i]
	}
	pending, address, trace, err := l.client.Begin(ctx, oauth.Start{Server: server, Redirect: redirect, Challenge: wants, Known: known, Former: former, Pinned: server.Pinned})
	l.d.traced(ctx, &l.row, user, trace)
	if err != nil {
		return "", "", time.Time{}, refusedLogin(l.row.ID, err)
	}
	if pending.Client.Redirect != "" && pending.Client.ID != l.client.MetadataURL && (known == nil || known.ID != pending.Client.ID) {
		if err := l.remember(ctx, clients, pending.Client); err != nil {
			return "", "", time.Time{}, err
		}
	}
	pending.Client.Secret = "" // it is not carried about
	text, err := json.Marshal(begun{l.row.Tenant, l.row.ID, user, p.ID(), *pending})
	if err != nil {
		return "", "", time.Time{}, junctor.AsError(err)
	}
	return l.d.Sealer.Seal(purposePending, text), address, pending.Until, nil
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

// Finish ends a login with what Begin gave, and the address that the browser was
// sent to.
func (d *Desk) Finish(ctx context.Context, p *junctor.Principal, id, sealed, answer string) (junctor.ServerLogin, error) {
	if _, err := d.Servers.Seen(ctx, p, id); err != nil {
		return junctor.ServerLogin{}, err
	}
	u, err := url.Parse(strings.TrimSpace(answer))
	if err != nil {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "url is the whole address that the browser was sent to, with what stands behind the question mark")
	}
	b, err := d.opened(sealed)
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if b.Tenant != p.Tenant || b.Server != id || b.By != p.ID() {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was begun by somebody else, or at another server: begin it again")
	}
	return d.finish(ctx, p, b, u.Query())
}

func (d *Desk) opened(sealed string) (*begun, error) {
	text, err := d.Sealer.Open(purposePending, sealed)
	b := &begun{}
	if err != nil || json.Unmarshal(text, b) != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this login was not begun here, or too long ago: begin it again")
	}
	return b, nil
}

// finish makes a login of the answer that a person came back with. Each is good
// for one answer.
func (d *Desk) finish(ctx context.Context, p *junctor.Principal, b *begun, answer url.Values) (junctor.ServerLogin, error) {
	l, user, err := d.whose(ctx, p, b.Server, b.User == "")
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if user != b.User {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was begun by somebody else: begin it again")
	}
	first, err := d.States.UseState(ctx, b.Tenant, "server-login:"+b.Pending.State, b.Pending.Until)
	switch {
	case err != nil:
		return junctor.ServerLogin{}, err
	case !first:
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was finished already: begin it again")
	case b.Pending.Origin != oauth.OriginOf(l.row.URL):
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "the server %s has another address now: begin the login again", b.Server)
	}
	if err := l.proof(ctx, &b.Pending); err != nil {
		return junctor.ServerLogin{}, err
	}
	ctx = context.WithoutCancel(ctx) // a code is good once
	if b.Pending.Pinned, err = l.pin(ctx, &b.Pending); err != nil {
		return junctor.ServerLogin{}, err
	}
	grant, trace, err := l.client.Finish(ctx, &b.Pending, answer)
	d.traced(ctx, &l.row, user, trace)
	d.recorded(ctx, p, b.Server, "login", err)
	if err != nil {
		return junctor.ServerLogin{}, refusedLogin(b.Server, err)
	}
	if err := l.keep(user).Save(ctx, grant); err != nil {
		return junctor.ServerLogin{}, err
	}
	if err := l.pinTo(ctx, grant); err != nil {
		return junctor.ServerLogin{}, err
	}
	d.Servers.Changed(&l.row, user)
	if user == "" {
		d.Servers.Arrived(ctx, &l.row)
	}
	return standing(grant, user), nil
}

// proof gives a pending login back the secret of its client.
func (l *logins) proof(ctx context.Context, p *oauth.Pending) error {
	server, err := l.server(ctx)
	if err != nil {
		return err
	}
	if server.ClientID == p.Client.ID {
		if server.Issuer != "" && !oauth.SameIssuer(server.Issuer, p.Endpoints.Issuer) { // the operator has named another one since
			return junctor.Errorf(junctor.CodeInvalid, "the server %s has another issuer now, %s: begin the login again", l.row.ID, server.Issuer)
		}
		p.Client.Secret = server.Secret.Reveal()
		return nil
	}
	clients, err := l.clients(ctx)
	for _, c := range clients {
		if c.ID == p.Client.ID && c.Issuer == p.Client.Issuer {
			p.Client.Secret = c.Secret
		}
	}
	return err
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

// Login says how a login stands: the one of p, or everybody's.
func (d *Desk) Login(ctx context.Context, p *junctor.Principal, id string, shared bool) (junctor.ServerLogin, error) {
	l, user, err := d.whose(ctx, p, id, shared)
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	g, err := l.keep(user).Load(ctx)
	return standing(g, user), err
}

// Logout ends a login, and gives its tokens back.
func (d *Desk) Logout(ctx context.Context, p *junctor.Principal, id string, shared bool) error {
	l, user, err := d.whose(ctx, p, id, shared)
	if err != nil {
		return err
	}
	keep := l.keep(user)
	g, err := keep.Load(ctx)
	if err != nil || g == nil {
		return err // who is not logged in is logged out
	}
	ctx = context.WithoutCancel(ctx)
	if err := keep.(kept).forget(ctx); err != nil { //nolint:forcetypeassert // keep makes no other
		return err
	}
	d.Servers.Changed(&l.row, user)
	d.recorded(ctx, p, id, "logout", nil)
	if g.Live() {
		l.revoke(ctx, user, g)
	}
	return nil
}

// revoke gives the tokens of a login back, where it is known that its client may
// still prove itself there.
func (l *logins) revoke(ctx context.Context, user string, g *oauth.Grant) {
	server, err := l.server(ctx)
	if err != nil {
		l.d.Log.Warn("the tokens of a login were forgotten and not revoked", slog.String("server", l.row.ID), telemetry.Err(err))
		return
	}
	pending := oauth.Pending{Client: g.Client, Endpoints: g.Endpoints}
	if err := l.proof(ctx, &pending); err == nil && pending.Client.Secret != "" {
		g.Client.Secret = pending.Client.Secret
	}
	l.d.traced(ctx, &l.row, user, l.client.Revoke(ctx, g, server))
}

// recorded writes a login or logout into the journal.
func (d *Desk) recorded(ctx context.Context, p *junctor.Principal, id, what string, err error) {
	call := junctor.Call{
		ID: d.NewID(), Tenant: p.Tenant, Kind: junctor.KindServer, Door: junctor.DoorAdmin, Server: id, Name: what, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent,
		Status: junctor.StatusSuccess, Start: time.Now(),
	}
	if err != nil {
		call.Status, call.Code, call.Reason = junctor.StatusError, junctor.CodeOf(err), junctor.AsError(err).Message
	}
	if aerr := d.Journal.Append(ctx, &call); aerr != nil {
		d.Log.Error("a login could not be recorded", telemetry.Err(aerr))
	}
}

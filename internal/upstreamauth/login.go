package upstreamauth

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
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// purposePendingLogin is the Sealer purpose of a pendingLogin.
const purposePendingLogin = "server-login"

// pendingLogin is a login that a person has started and not finished. The client
// that started it holds it sealed: a browser as a cookie, the command line in
// memory. So only that client can use the authorization code, and any replica can
// finish the login.
type pendingLogin struct {
	Tenant    junctor.TenantID         `json:"tenant"`
	Server    string                   `json:"server"`
	User      string                   `json:"user,omitempty"`
	StartedBy string                   `json:"by"`
	Pending   oauthclient.PendingLogin `json:"pending"`
}

// loginsOf returns the logins of a server: those of the attached server, or new
// ones if the server is not attached, for example because it is disabled.
func (m *Manager) loginsOf(ctx context.Context, row *junctor.Server) (*serverLogins, error) {
	if s := m.Servers.AttachedAuth(row); s != nil && s.logins != nil {
		return s.logins, nil
	}
	admitted, err := m.Servers.AdmittedServer(ctx, row)
	if err != nil {
		return nil, err
	}
	return m.NewServerAuth(admitted, m.StoredLiterals(admitted.Row())).logins, nil
}

// resolveLogin decides which login at a server p means, and whether p may change
// it. It returns the server's logins and the user whose login it is; an empty user
// means the shared login.
//
// With per-user credentials the login is p's own, unless shared is set. The shared
// login takes the scope servers:write and the right to change the server.
func (m *Manager) resolveLogin(ctx context.Context, p *junctor.Principal, id string, shared bool) (*serverLogins, string, error) {
	row, err := m.Servers.VisibleServer(ctx, p, id)
	if err != nil {
		return nil, "", err
	}
	if !row.LogsIn() {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "the server %q does not use logins: its auth type is not oauth; junctor server add --oauth adds a server with logins", id)
	}
	l, err := m.loginsOf(ctx, &row)
	if err != nil {
		return nil, "", err
	}
	if row.PerUser() && !shared {
		if p.Issuer != junctor.IssuerUser || p.User == "" {
			return nil, "", junctor.Errorf(junctor.CodeInvalid, "the server %q is called with each user's own login: use a user's key or token, or --shared for the shared login that lists its tools", id)
		}
		return l, p.User, nil
	}
	if !p.Has(junctor.ScopeServersWrite) {
		return nil, "", junctor.Errorf(junctor.CodeDenied, "all users share the login at the server %q: changing it requires the scope %s", id, junctor.ScopeServersWrite)
	}
	_, err = m.Servers.ChangeableServer(ctx, p, id)
	return l, "", err
}

// LoginStart tells a client how to continue a login that BeginLogin started.
type LoginStart struct {
	AuthorizationURL string // the page that the person opens
	RedirectURI      string // where the browser is sent afterwards
	Login            string // sealed state, to be passed to FinishLogin; secret
	ExpiresAt        time.Time
}

// BeginLogin starts a login of p at a server, or the shared login. redirect is the
// address to which the browser returns; an empty one means the callback page of
// this instance.
func (m *Manager) BeginLogin(ctx context.Context, p *junctor.Principal, id, redirect string, shared bool) (LoginStart, error) {
	l, user, err := m.resolveLogin(ctx, p, id, shared)
	if err != nil {
		return LoginStart{}, err
	}
	if redirect == "" {
		redirect = m.callbackURL()
	}
	if err := m.checkRedirect(redirect); err != nil {
		return LoginStart{}, err
	}
	sealed, address, until, err := l.startLogin(ctx, p, user, redirect, oauthclient.Challenge{})
	return LoginStart{AuthorizationURL: address, RedirectURI: redirect, Login: sealed, ExpiresAt: until}, err
}

// checkRedirect accepts as redirect address only the callback page of this instance
// and loopback addresses, where the command line waits. Any other address could
// receive the person's authorization code.
func (m *Manager) checkRedirect(redirect string) error {
	u, err := url.Parse(redirect)
	if redirect == m.callbackURL() || redirect == m.ConsoleURL()+m.CallbackPath {
		return nil
	}
	if err == nil && u.Scheme == "http" && u.User == nil && u.Fragment == "" {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
			return nil
		}
	}
	return junctor.Errorf(junctor.CodeInvalid, "redirect_uri must be %s, or an address on the user's own machine, http://127.0.0.1:PORT/…", m.callbackURL())
}

// startLogin starts a login and returns the sealed pendingLogin, the address that
// the person opens, and when the login expires. An empty challenge means that the
// login was not caused by a call; the last challenge of the server is used then.
func (l *serverLogins) startLogin(ctx context.Context, p *junctor.Principal, user, redirect string, wants oauthclient.Challenge) (sealed, address string, until time.Time, err error) {
	server, err := l.describeServer(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	former, err := l.grantStoreOf(user).Load(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	if !wants.NeedsMoreScopes() {
		former = nil // only a login that adds scopes builds on the former one
	}
	if wants.Status == 0 {
		l.mu.Lock()
		wants = l.lastChallenge
		l.mu.Unlock()
	}
	clients, err := l.loadClients(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	var known *oauthclient.RegisteredClient
	if i := slices.IndexFunc(clients, func(c oauthclient.RegisteredClient) bool { return c.Redirect == redirect && c.Redirect != "" }); i >= 0 {
		known = &clients[i]
	}
	pending, address, trace, err := l.client.BeginLogin(ctx, oauthclient.LoginRequest{Server: server, Redirect: redirect, Challenge: wants, KnownClient: known, FormerGrant: former, Pin: server.Pin})
	l.manager.recordTrace(ctx, &l.row, user, trace)
	if err != nil {
		return "", "", time.Time{}, loginError(l.row.ID, err)
	}
	// A client that just registered itself is stored, so that the next login with
	// this redirect address reuses it.
	if pending.Client.Redirect != "" && pending.Client.ID != l.client.MetadataURL && (known == nil || known.ID != pending.Client.ID) {
		if err := l.saveClient(ctx, clients, pending.Client); err != nil {
			return "", "", time.Time{}, err
		}
	}
	pending.Client.Secret = "" // it stays in the vault; restoreClientSecret puts it back
	text, err := json.Marshal(pendingLogin{l.row.Tenant, l.row.ID, user, p.ID(), *pending})
	if err != nil {
		return "", "", time.Time{}, junctor.AsError(err)
	}
	return l.manager.Sealer.Seal(purposePendingLogin, text), address, pending.ExpiresAt, nil
}

// loginError turns an error of the OAuth client into one for the caller of Junctor.
// If the authorization server rejected Junctor, the caller must not read it as
// Junctor rejecting the caller, so those codes become CodeUpstream.
func loginError(id string, err error) error {
	e := *junctor.AsError(err)
	switch e.Code {
	case junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound:
		e.Code = junctor.CodeUpstream
	default:
	}
	e.Message = "the login at the server " + id + " failed: " + e.Message
	return &e
}

// FinishLogin finishes a login. sealed is LoginStart.Login, and answer the whole
// address to which the browser was redirected. Only the principal that began the
// login can finish it.
func (m *Manager) FinishLogin(ctx context.Context, p *junctor.Principal, id, sealed, answer string) (junctor.ServerLogin, error) {
	if _, err := m.Servers.VisibleServer(ctx, p, id); err != nil {
		return junctor.ServerLogin{}, err
	}
	u, err := url.Parse(strings.TrimSpace(answer))
	if err != nil {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "url must be the whole address that the browser was redirected to, with its query")
	}
	pending, err := m.openPendingLogin(sealed)
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if pending.Tenant != p.Tenant || pending.Server != id || pending.StartedBy != p.ID() {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was started by another user, or at another server: start it again")
	}
	return m.completeLogin(ctx, p, pending, u.Query())
}

// openPendingLogin decrypts a pendingLogin. The caller checks whose it is.
func (m *Manager) openPendingLogin(sealed string) (*pendingLogin, error) {
	text, err := m.Sealer.Open(purposePendingLogin, sealed)
	pending := &pendingLogin{}
	if err != nil || json.Unmarshal(text, pending) != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this login was not started at this instance, or it has expired: start it again")
	}
	return pending, nil
}

// StartedLogin returns the server of a login that p has started and not finished, and whether
// the login is shared.
func (m *Manager) StartedLogin(p *junctor.Principal, sealed string) (server string, shared bool, err error) {
	pending, err := m.openPendingLogin(sealed)
	if err == nil && (pending.Tenant != p.Tenant || pending.StartedBy != p.ID()) {
		err = junctor.Errorf(junctor.CodeDenied, "this login was started by another user: start it again")
	}
	if err != nil {
		return "", false, err
	}
	return pending.Server, pending.User == "", nil
}

// completeLogin exchanges the authorization code, stores the login and makes the
// next calls use it. It checks again that p may have this login, because rights may
// have changed since BeginLogin. Each pending login can be completed once, on all
// replicas together.
func (m *Manager) completeLogin(ctx context.Context, p *junctor.Principal, pending *pendingLogin, answer url.Values) (junctor.ServerLogin, error) {
	l, user, err := m.resolveLogin(ctx, p, pending.Server, pending.User == "")
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	if user != pending.User {
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login was started by another user: start it again")
	}
	first, err := m.States.UseState(ctx, pending.Tenant, "server-login:"+pending.Pending.State, pending.Pending.ExpiresAt)
	switch {
	case err != nil:
		return junctor.ServerLogin{}, err
	case !first:
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "this login is already complete: start a new one")
	case pending.Pending.Origin != oauthclient.OriginOf(l.row.URL):
		return junctor.ServerLogin{}, junctor.Errorf(junctor.CodeInvalid, "the address of the server %s has changed: start the login again", pending.Server)
	}
	if err := l.restoreClientSecret(ctx, &pending.Pending); err != nil {
		return junctor.ServerLogin{}, err
	}
	ctx = context.WithoutCancel(ctx) // the code works once: finish even if the browser disconnects
	if pending.Pending.Pin, err = l.loadClientPin(ctx, &pending.Pending); err != nil {
		return junctor.ServerLogin{}, err
	}
	grant, trace, err := l.client.FinishLogin(ctx, &pending.Pending, answer)
	m.recordTrace(ctx, &l.row, user, trace)
	m.journalLogin(ctx, p, pending.Server, "login", err)
	if err != nil {
		return junctor.ServerLogin{}, loginError(pending.Server, err)
	}
	if err := l.grantStoreOf(user).Save(ctx, grant); err != nil {
		return junctor.ServerLogin{}, err
	}
	if err := l.saveClientPin(ctx, grant); err != nil {
		return junctor.ServerLogin{}, err
	}
	m.Servers.ResetCredentials(&l.row, user)
	if user == "" {
		m.Servers.ConnectAfterLogin(ctx, &l.row)
	}
	return serverLoginOf(grant, user), nil
}

// restoreClientSecret puts the client secret back into a pending login. It fails if
// the operator named another issuer since: the secret that was entered for the new
// issuer must not be sent to the old one.
func (l *serverLogins) restoreClientSecret(ctx context.Context, p *oauthclient.PendingLogin) error {
	server, err := l.describeServer(ctx)
	if err != nil {
		return err
	}
	if server.ClientID == p.Client.ID {
		if server.Issuer != "" && !oauthclient.SameIssuer(server.Issuer, p.Endpoints.Issuer) { // the operator has named another one since
			return junctor.Errorf(junctor.CodeInvalid, "the issuer of the server %s has changed to %s: start the login again", l.row.ID, server.Issuer)
		}
		p.Client.Secret = server.Secret.Reveal()
		return nil
	}
	clients, err := l.loadClients(ctx)
	for _, c := range clients {
		if c.ID == p.Client.ID && c.Issuer == p.Client.Issuer {
			p.Client.Secret = c.Secret
		}
	}
	return err
}

// serverLoginOf describes a login for the API, without its tokens. A nil grant
// means that there is no login.
func serverLoginOf(g *oauthclient.Grant, user string) junctor.ServerLogin {
	out := junctor.ServerLogin{State: junctor.LoginNone, User: user}
	if g == nil {
		return out
	}
	out.State, out.Issuer, out.Resource, out.ClientID, out.Scopes = junctor.LoginLive, g.Endpoints.Issuer, g.Resource, g.Client.ID, g.Token.Scopes
	out.Since, out.ExpiresAt, out.Renewable, out.Reason = g.Since.UTC(), g.Token.ExpiresAt.UTC(), g.Token.Refresh != "", g.EndReason
	if g.Token.ExpiresAt.IsZero() {
		out.ExpiresAt = time.Time{}
	}
	if !g.IsLive() {
		out.State = junctor.LoginEnded
	}
	return out
}

// LoginStatus describes p's login at a server, or the shared login.
func (m *Manager) LoginStatus(ctx context.Context, p *junctor.Principal, id string, shared bool) (junctor.ServerLogin, error) {
	l, user, err := m.resolveLogin(ctx, p, id, shared)
	if err != nil {
		return junctor.ServerLogin{}, err
	}
	g, err := l.grantStoreOf(user).Load(ctx)
	return serverLoginOf(g, user), err
}

// Logout deletes a login and revokes its tokens. It succeeds if there is no login.
// A failed revocation is traced and not returned, since the tokens are deleted here
// in any case.
func (m *Manager) Logout(ctx context.Context, p *junctor.Principal, id string, shared bool) error {
	l, user, err := m.resolveLogin(ctx, p, id, shared)
	if err != nil {
		return err
	}
	keep := l.grantStoreOf(user)
	g, err := keep.Load(ctx)
	if err != nil || g == nil {
		return err // there is nothing to end
	}
	ctx = context.WithoutCancel(ctx)
	if err := keep.deleteGrant(ctx); err != nil {
		return err
	}
	m.Servers.ResetCredentials(&l.row, user)
	m.journalLogin(ctx, p, id, "logout", nil)
	if g.IsLive() {
		l.revokeTokens(ctx, user, g)
	}
	return nil
}

// revokeTokens revokes the tokens of a login at the authorization server. If the
// client's secret cannot be determined, the tokens are only forgotten.
func (l *serverLogins) revokeTokens(ctx context.Context, user string, g *oauthclient.Grant) {
	server, err := l.describeServer(ctx)
	if err != nil {
		l.manager.Log.Warn("tokens of a login were deleted but not revoked at the issuer", slog.String("server", l.row.ID), telemetry.ErrorAttr(err))
		return
	}
	pending := oauthclient.PendingLogin{Client: g.Client, Endpoints: g.Endpoints}
	if err := l.restoreClientSecret(ctx, &pending); err == nil && pending.Client.Secret != "" {
		g.Client.Secret = pending.Client.Secret
	}
	l.manager.recordTrace(ctx, &l.row, user, l.client.RevokeGrant(ctx, g, server))
}

// journalLogin records a login or logout in the audit log. A failure to record it
// is logged and does not undo the login.
func (m *Manager) journalLogin(ctx context.Context, p *junctor.Principal, id, what string, err error) {
	call := junctor.Call{
		ID: m.NewID(), Tenant: p.Tenant, Kind: junctor.KindServer, EntryPoint: junctor.EntryAdmin, Server: id, Name: what, Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent,
		Status: junctor.StatusSuccess, Start: time.Now(),
	}
	if err != nil {
		call.Status, call.Code, call.Reason = junctor.StatusError, junctor.CodeOf(err), junctor.AsError(err).Message
	}
	if aerr := m.Journal.Append(ctx, &call); aerr != nil {
		m.Log.Error("cannot record a login in the journal", telemetry.ErrorAttr(aerr))
	}
}

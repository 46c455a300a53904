package servers

import (
	"context"
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// newAuthManager returns the manager of credentials and logins, connected to this
// registry and the store.
func (s *Registry) newAuthManager() *upstreamauth.Manager {
	o := upstreamauth.Options{
		Servers: authServers{s}, Vault: s.o.Vault, Sealer: s.o.Sealer, States: s.o.States, Users: storedUsers{s.o.Store}, Traces: storedTraces{s.o.Store}, Journal: s.o.Journal, HTTPClients: serverClients{s}, Reader: s.o.Reader, ChallengeOf: challengeOf,
		URL: s.o.URL, ConsoleURL: s.o.ConsoleURL, CallbackPath: signin.ConnectedPath, NewID: s.o.NewID, Log: s.o.Log,
	}
	if u := s.o.PublicURL; u != nil && u.Scheme == "https" {
		o.ClientDocumentURL = u.String() + upstreamauth.ClientDocumentPath
	}
	return upstreamauth.NewManager(o)
}

// challengeOf returns the OAuth challenge in the error of a request that the
// server refused.
func challengeOf(err error) (oauthclient.Challenge, bool) {
	r := upstream.RefusalOf(err)
	if r == nil {
		return oauthclient.Challenge{}, false
	}
	c := oauthclient.ParseChallenge(r.Status, []string{r.Challenge})
	c.Date = r.Date
	return c, true
}

// storedUsers implements upstreamauth.Users with the store.
type storedUsers struct{ store *store.Store }

func (u storedUsers) User(ctx context.Context, tenant junctor.TenantID, id string) (junctor.User, error) {
	return u.store.For(tenant).User(ctx, id)
}

// storedTraces stores and lists the traces of logins.
type storedTraces struct{ store *store.Store }

func (t storedTraces) AddTrace(ctx context.Context, tenant junctor.TenantID, trace junctor.Trace) error {
	return t.store.For(tenant).AddTrace(ctx, trace)
}

func (t storedTraces) Traces(ctx context.Context, tenant junctor.TenantID, server, user string, most int) ([]junctor.Trace, error) {
	return t.store.For(tenant).Traces(ctx, server, user, most)
}

// serverClients provides the HTTP clients for logins, under the same rules as those for
// calls.
type serverClients struct{ s *Registry }

func (w serverClients) ForServer(row *junctor.Server) *http.Client { return w.s.clientsFor(row).Plain }
func (w serverClients) ForPublicAddress() *http.Client             { return w.s.public.Plain }
func (w serverClients) ForUser(row *junctor.Server) (client, stream *http.Client) {
	c := w.s.newClientsFor(row)
	return c.Plain, c.Stream
}

// authServers gives package upstreamauth access to servers.
type authServers struct{ s *Registry }

func (h authServers) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	return h.s.Servers(ctx, p)
}

func (h authServers) VisibleServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	return h.s.VisibleServer(ctx, p, id)
}

func (h authServers) ChangeableServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	return h.s.OwnedServer(ctx, p, id)
}

func (h authServers) AdmittedServer(ctx context.Context, row *junctor.Server) (admission.Server, error) {
	return h.s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID)
}

func (h authServers) AttachedAuth(row *junctor.Server) *upstreamauth.ServerAuth {
	if g := h.s.findGenerated(serverKey{row.Tenant, row.ID}); g != nil {
		return g.with
	}
	b := h.s.findAttached(serverKey{row.Tenant, row.ID})
	if b == nil || !b.currentConnection().leadsWhere(row) {
		return nil
	}
	return b.currentConnection().up.with
}

func (h authServers) ResetCredentials(row *junctor.Server, user string) {
	h.s.credentialChanged(serverKey{row.Tenant, row.ID}, user)
}

// ConnectAfterLogin connects a server with its new login in the background, so
// that its tools are listed when the user returns.
func (h authServers) ConnectAfterLogin(ctx context.Context, row *junctor.Server) {
	if row.State == junctor.StateInactive || row.Mode == junctor.ModeGenerated {
		return // the tools of a generated server come from its document
	}
	s := h.s
	admitted, err := s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID)
	if err != nil {
		return
	}
	up, err := s.newRoute(ctx, admitted, s.Auth.StoredLiterals(admitted.Row()), nil, "")
	if err != nil {
		return
	}
	if _, err := s.probeRoute(ctx, up, up.Connect); err != nil {
		up.Close()
		s.o.Log.Warn("cannot reach a server with its new login", slog.String("server", row.ID), telemetry.ErrorAttr(err))
		return
	}
	defer s.lockServer(row.Tenant, row.ID)()
	if err := s.attachUpstream(ctx, admitted, &up); err != nil {
		s.o.Log.Warn("cannot attach a server with its new login", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
}

// findAttached returns the server that is attached under a key; nil if there is
// none.
func (s *Registry) findAttached(key serverKey) *attachedServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[key]
}

// credentialChanged makes the next call of a user to a server use the stored
// credentials, and closes connections that were opened with former ones.
// Without a user, it is about the server's own credentials.
func (s *Registry) credentialChanged(key serverKey, user string) {
	if g := s.findGenerated(key); g != nil {
		g.with.Invalidate(user)
	}
	if b := s.findAttached(key); b != nil {
		up := b.currentConnection().up
		up.with.Invalidate(user)
		up.EndUser(user)
	}
}

// UserChanged is credentialChanged for all servers of a tenant. It is called
// when a user is disabled or changed.
func (s *Registry) UserChanged(tenant junctor.TenantID, user string) {
	s.mu.Lock()
	keys := s.keysOf(tenant)
	s.mu.Unlock()
	for _, key := range keys {
		s.credentialChanged(key, user)
	}
}

// CredentialAPI implements the credentials and logins of users for the admin
// API.
type CredentialAPI struct{ *upstreamauth.Manager }

// MyCredentials lists the credentials that the caller entered for servers.
func (c CredentialAPI) MyCredentials(ctx context.Context, p *junctor.Principal) ([]admin.MyCredential, error) {
	all, err := c.ListCredentials(ctx, p)
	out := make([]admin.MyCredential, 0, len(all))
	for _, one := range all {
		out = append(out, admin.MyCredential(one))
	}
	return out, err
}

// MyCredential gives the credential that the caller entered for a server.
func (c CredentialAPI) MyCredential(ctx context.Context, p *junctor.Principal, server string) (admin.MyCredential, error) {
	one, err := c.GetCredential(ctx, p, server)
	return admin.MyCredential(one), err
}

// PutMyCredential stores the caller's own credential for a server.
func (c CredentialAPI) PutMyCredential(ctx context.Context, p *junctor.Principal, server string, auth *junctor.Auth, headers map[string]string) (admin.MyCredential, error) {
	one, err := c.PutCredential(ctx, p, server, auth, headers)
	return admin.MyCredential(one), err
}

// RemoveMyCredential deletes the caller's own credential for a server.
func (c CredentialAPI) RemoveMyCredential(ctx context.Context, p *junctor.Principal, server string) error {
	return c.RemoveCredential(ctx, p, server)
}

// StartLogin begins a login at a server, for the caller or shared by all.
func (c CredentialAPI) StartLogin(ctx context.Context, p *junctor.Principal, server string, in admin.LoginStart) (admin.LoginStarted, error) {
	b, err := c.BeginLogin(ctx, p, server, in.RedirectURI, in.Shared)
	return admin.LoginStarted(b), err
}

// ServerLogin returns the state of the login at a server.
func (c CredentialAPI) ServerLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) (junctor.ServerLogin, error) {
	return c.LoginStatus(ctx, p, server, shared)
}

// Traces lists the traces of logins at a server, step by step.
func (c CredentialAPI) Traces(ctx context.Context, p *junctor.Principal, server string) ([]junctor.Trace, error) {
	return c.ListTraces(ctx, p, server)
}

// EndLogin ends a login at a server.
func (c CredentialAPI) EndLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) error {
	return c.Logout(ctx, p, server, shared)
}

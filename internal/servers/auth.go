package servers

import (
	"context"
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// newDesk joins what people log in to servers with.
func (s *Registry) newDesk() *visit.Desk {
	o := visit.Options{
		Servers: hosts{s}, Vault: s.o.Vault, Sealer: s.o.Sealer, States: s.o.States, Users: users{s.o.Store}, Traces: traces{s.o.Store}, Journal: s.o.Journal, Web: ways{s}, Reader: s.o.Reader, Refusal: challengeOf,
		URL: s.o.URL, ConsoleURL: s.o.ConsoleURL, CallbackPath: signin.ConnectedPath, NewID: s.o.NewID, Log: s.o.Log,
	}
	if u := s.o.PublicURL; u != nil && u.Scheme == "https" {
		o.DocumentURL = u.String() + visit.DocumentPath
	}
	return visit.New(o)
}

// challengeOf reads what a server said when it refused a request.
func challengeOf(err error) (oauth.Challenge, bool) {
	r := upstream.RefusalOf(err)
	if r == nil {
		return oauth.Challenge{}, false
	}
	c := oauth.ParseChallenge(r.Status, []string{r.Challenge})
	c.Date = r.Date
	return c, true
}

// users are those of the store.
type users struct{ store *store.Store }

func (u users) User(ctx context.Context, tenant junctor.TenantID, id string) (junctor.User, error) {
	return u.store.For(tenant).User(ctx, id)
}

// traces are how logins at servers went.
type traces struct{ store *store.Store }

func (t traces) AddTrace(ctx context.Context, tenant junctor.TenantID, trace junctor.Trace) error {
	return t.store.For(tenant).AddTrace(ctx, trace)
}

func (t traces) Traces(ctx context.Context, tenant junctor.TenantID, server, user string, most int) ([]junctor.Trace, error) {
	return t.store.For(tenant).Traces(ctx, server, user, most)
}

// ways are the HTTP clients of servers.
type ways struct{ s *Registry }

func (w ways) For(row *junctor.Server) *http.Client { return w.s.clientsFor(row).Plain }
func (w ways) Public() *http.Client                 { return w.s.public.Plain }
func (w ways) Own(row *junctor.Server) (client, stream *http.Client) {
	c := w.s.newClientsFor(row)
	return c.Plain, c.Stream
}

// hosts are the servers as visit wants them.
type hosts struct{ s *Registry }

func (h hosts) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	return h.s.Servers(ctx, p)
}

func (h hosts) Seen(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	return h.s.VisibleServer(ctx, p, id)
}

func (h hosts) Owned(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	return h.s.OwnedServer(ctx, p, id)
}

func (h hosts) Admitted(ctx context.Context, row *junctor.Server) (admission.Server, error) {
	return h.s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID)
}

func (h hosts) Attached(row *junctor.Server) *visit.Server {
	if g := h.s.generatedOf(serverKey{row.Tenant, row.ID}); g != nil {
		return g.with
	}
	b := h.s.attached(serverKey{row.Tenant, row.ID})
	if b == nil || !b.current().serves(row) {
		return nil
	}
	return b.current().up.with
}

func (h hosts) Changed(row *junctor.Server, user string) {
	h.s.credentialChanged(serverKey{row.Tenant, row.ID}, user)
}

// Arrived reaches a server with its new login: what it offers is there when the
// person comes back.
func (h hosts) Arrived(ctx context.Context, row *junctor.Server) {
	if row.State == junctor.StateInactive || row.Mode == junctor.ModeGenerated {
		return // what an API offers, its document says
	}
	s := h.s
	admitted, err := s.o.Store.For(row.Tenant).AdmittedServer(ctx, row.ID)
	if err != nil {
		return
	}
	up, err := s.connect(ctx, admitted, s.Auth.Stored(admitted.Row()), nil, "")
	if err != nil {
		return
	}
	if _, err := s.reach(ctx, up, up.Begin); err != nil {
		up.Close()
		s.o.Log.Warn("a server could not be reached with its new login", slog.String("server", row.ID), telemetry.Err(err))
		return
	}
	defer s.lockServer(row.Tenant, row.ID)()
	if err := s.attachUpstream(ctx, admitted, &up); err != nil {
		s.o.Log.Warn("a server could not be attached with its new login", slog.String("server", row.ID), telemetry.Err(err))
	}
}

// attached is the server that is attached under a key; nil where there is none.
func (s *Registry) attached(key serverKey) *attachedServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[key]
}

// credentialChanged makes the next call of a user to a server be made with what
// is stored now, and closes what was opened with what was before. Without a user
// it is the server's own.
func (s *Registry) credentialChanged(key serverKey, user string) {
	if g := s.generatedOf(key); g != nil {
		g.with.Changed(user)
	}
	if b := s.attached(key); b != nil {
		up := b.current().up
		up.with.Changed(user)
		up.EndUser(user)
	}
}

// UserChanged is credentialChanged for all servers of a tenant: the user may act
// no more.
func (s *Registry) UserChanged(tenant junctor.TenantID, user string) {
	s.mu.Lock()
	keys := s.keysOf(tenant)
	s.mu.Unlock()
	for _, key := range keys {
		s.credentialChanged(key, user)
	}
}

// CredentialAPI shows the credentials and logins of people to the admin API.
type CredentialAPI struct{ *visit.Desk }

// MyCredentials lists the credentials that the caller entered for servers.
func (c CredentialAPI) MyCredentials(ctx context.Context, p *junctor.Principal) ([]admin.MyCredential, error) {
	all, err := c.Credentials(ctx, p)
	out := make([]admin.MyCredential, 0, len(all))
	for _, one := range all {
		out = append(out, admin.MyCredential(one))
	}
	return out, err
}

// MyCredential gives the credential that the caller entered for a server.
func (c CredentialAPI) MyCredential(ctx context.Context, p *junctor.Principal, server string) (admin.MyCredential, error) {
	one, err := c.Credential(ctx, p, server)
	return admin.MyCredential(one), err
}

// PutMyCredential stores the caller's own credential for a server.
func (c CredentialAPI) PutMyCredential(ctx context.Context, p *junctor.Principal, server string, auth *junctor.Auth, headers map[string]string) (admin.MyCredential, error) {
	one, err := c.PutCredential(ctx, p, server, auth, headers)
	return admin.MyCredential(one), err
}

// RemoveMyCredential forgets the caller's own credential for a server.
func (c CredentialAPI) RemoveMyCredential(ctx context.Context, p *junctor.Principal, server string) error {
	return c.RemoveCredential(ctx, p, server)
}

// StartLogin begins a login at a server, for the caller or shared by all.
func (c CredentialAPI) StartLogin(ctx context.Context, p *junctor.Principal, server string, in admin.LoginStart) (admin.LoginStarted, error) {
	b, err := c.Begin(ctx, p, server, in.RedirectURI, in.Shared)
	return admin.LoginStarted(b), err
}

// FinishLogin ends a login with the address that the browser was sent back to.
func (c CredentialAPI) FinishLogin(ctx context.Context, p *junctor.Principal, server, login, url string) (junctor.ServerLogin, error) {
	return c.Finish(ctx, p, server, login, url)
}

// ServerLogin tells how the login at a server stands.
func (c CredentialAPI) ServerLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) (junctor.ServerLogin, error) {
	return c.Login(ctx, p, server, shared)
}

// Traces lists how logins at a server went, step by step.
func (c CredentialAPI) Traces(ctx context.Context, p *junctor.Principal, server string) ([]junctor.Trace, error) {
	return c.TracesOf(ctx, p, server)
}

// EndLogin ends a login at a server.
func (c CredentialAPI) EndLogin(ctx context.Context, p *junctor.Principal, server string, shared bool) error {
	return c.Logout(ctx, p, server, shared)
}

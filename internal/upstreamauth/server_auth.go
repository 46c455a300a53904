package upstreamauth

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
)

// ServerAuth provides the credentials for the calls to one server, and runs the
// calls so that tokens are renewed. It is safe for concurrent use. The owner calls
// Close.
type ServerAuth struct {
	*Source                          // the server's own credentials
	userCredentials *userCredentials // nil unless users enter their own credentials
	logins          *serverLogins    // nil unless the server's auth is OAuth logins
	challengeOf     func(error) (oauthclient.Challenge, bool)
}

// LiteralSource decrypts the literals that were entered for a server.
type LiteralSource = func(context.Context) (LiteralSet, error)

// NewServerAuth returns the credentials of an admitted server. literals decrypts
// what was entered for it; nothing is read before the first call.
func (m *Manager) NewServerAuth(admitted admission.Server, literals LiteralSource) *ServerAuth {
	stored := admitted.Row()
	row := &stored
	s := &ServerAuth{challengeOf: m.ChallengeOf, Source: NewSource(admitted.Connection(), literals, m.Reader, m.newTokenRequester(row, "", m.HTTPClients.ForServer(row)))}
	if row.PerUser() {
		s.userCredentials = newUserCredentials(m, row)
	}
	if row.LogsIn() {
		s.logins = m.newServerLogins(row, s.Source)
	}
	return s
}

// SecretPrefix starts the names of the secrets that hold a server's own
// credentials.
const SecretPrefix = "conn-"

// StoredLiterals returns a LiteralSource that reads the literals of a stored server
// from the vault.
func (m *Manager) StoredLiterals(row junctor.Server) LiteralSource {
	return func(ctx context.Context) (LiteralSet, error) {
		if row.Credential == "" {
			return LiteralSet{}, nil
		}
		packed, ok, err := m.Vault.Get(ctx, row.Tenant, row.ID, row.Credential)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, junctor.Errorf(junctor.CodeUnavailable, "the credentials of the server %s are no longer stored: enter them again", row.ID)
		}
		return UnpackLiterals(packed, row.Connection)
	}
}

// UsesLogins reports whether people log in to the server with OAuth.
func (s *ServerAuth) UsesLogins() bool { return s.logins != nil }

// Header returns the credentials of a call to a server without logins. It returns
// the server's own if p is nil, as for health checks, or if the server has no
// per-user credentials. The header must not be changed.
func (s *ServerAuth) Header(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	if s.userCredentials == nil || p == nil {
		return s.Source.Header(ctx)
	}
	return s.userCredentials.headerFor(ctx, p)
}

// LoginHeader is Header for a server with logins. name identifies the login across
// renewals of its token, and number counts its tokens. Without a login the name is
// empty. It panics unless UsesLogins.
func (s *ServerAuth) LoginHeader(ctx context.Context, p *junctor.Principal) (h http.Header, name string, number uint64, err error) {
	return s.logins.buildHeader(ctx, p)
}

// UserClients returns a function that gives each user HTTP clients with their own
// connections, so that no connection carries the credentials of two users. It is
// nil if all users share the server's credentials.
func (s *ServerAuth) UserClients() func(user string) (client, stream *http.Client) {
	if s.userCredentials == nil {
		return nil
	}
	return s.userCredentials.clientsOf
}

// ForgetRefused makes the next call read a user's credentials again, because the
// server refused them. An empty user means the server's own credentials.
func (s *ServerAuth) ForgetRefused(user string) {
	if user == "" {
		s.Forget()
		return
	}
	s.userCredentials.forgetRefused(user)
}

// Invalidate is called when the stored credentials or login of a user have changed.
// An empty user means those of the server itself.
func (s *ServerAuth) Invalidate(user string) {
	if user != "" && s.userCredentials == nil {
		return
	}
	if s.logins != nil {
		s.logins.loginOf(user).Invalidate()
	}
	if user != "" {
		s.userCredentials.invalidate(user)
	}
}

// InheritSecrets takes over the user secrets that former sent, so that Scrub still
// removes them from answers of calls in progress. former may be nil.
func (s *ServerAuth) InheritSecrets(former *ServerAuth) {
	if former != nil {
		s.userCredentials.inheritSecrets(former.userCredentials)
	}
}

// Backend is the connection to a server, below authentication.
type Backend interface {
	Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error)
	Offer(ctx context.Context) (*catalog.Offer, error)
}

// Do runs an operation. If the server refuses the token, Do gets another one and
// runs the operation once more. For servers with logins it may return an invitation
// to log in.
func (s *ServerAuth) Do(ctx context.Context, b Backend, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	if s.logins != nil {
		return s.logins.callWithLogin(ctx, b, req, sink)
	}
	res, err := b.Do(ctx, req, sink)
	if c, refused := s.challengeOf(err); refused && c.Status == http.StatusUnauthorized && s.canRenewFor(req.Principal) {
		return b.Do(ctx, req, sink) // a refused call did not run; its token may have been revoked
	}
	return res, err
}

// canRenewFor reports whether another token can be requested for the calls of p.
func (s *ServerAuth) canRenewFor(p *junctor.Principal) bool {
	if s.userCredentials != nil && p != nil {
		return s.userCredentials.canRenew(p.User)
	}
	return s.CanRenew()
}

// Offer lists what the server offers, using the shared login if there is one.
func (s *ServerAuth) Offer(ctx context.Context, b Backend) (offer *catalog.Offer, err error) {
	if s.logins == nil {
		return b.Offer(ctx)
	}
	_, err = s.logins.loginOf("").CallWithRetry(ctx, s.challengeOf, func() error {
		offer, err = b.Offer(ctx)
		return err
	})
	return offer, err
}

// Scrub removes all credentials of the server from a text: its own, those of all
// users, and their login tokens.
func (s *ServerAuth) Scrub(text string) string {
	text = s.Source.Scrub(text)
	if s.userCredentials != nil {
		text = s.userCredentials.scrubText(text)
	}
	if s.logins != nil {
		text = s.logins.scrubText(text)
	}
	return text
}

// KeeperFor returns the secrets that the calls of p are made with. It is nil if
// there are none.
func (s *ServerAuth) KeeperFor(p *junctor.Principal) junctor.Keeper {
	switch {
	case s.logins != nil:
		return s.logins.keeperFor(p)
	case s.userCredentials != nil:
		return s.userCredentials.keeperFor(p)
	}
	return s.Source
}

// Close closes idle connections of all users. Calls in progress finish.
func (s *ServerAuth) Close() {
	if s.userCredentials != nil {
		s.userCredentials.close()
	}
}

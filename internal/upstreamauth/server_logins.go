package upstreamauth

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// serverLogins holds the OAuth logins at one server: the shared one, or one per
// user. Each lookup names its user, so no code path leads from one user's login to
// another's.
type serverLogins struct {
	manager *Manager
	row     junctor.Server
	source  *Source
	client  *oauthclient.Client

	mu            sync.Mutex
	byUser        map[string]*oauthclient.Login // "" is the shared login
	lastChallenge oauthclient.Challenge         // from the last call that the server refused
}

// newServerLogins returns the logins at a server. source provides the client secret
// and the server's own headers.
func (m *Manager) newServerLogins(row *junctor.Server, source *Source) *serverLogins {
	return &serverLogins{manager: m, row: *row, source: source, client: m.newOAuthClient(m.HTTPClients.ForServer(row)), byUser: map[string]*oauthclient.Login{}}
}

// newOAuthClient returns the OAuth client that Junctor is, sending requests with
// out.
func (m *Manager) newOAuthClient(out *http.Client) *oauthclient.Client {
	return &oauthclient.Client{HTTP: out, Name: "Junctor", MetadataURL: m.ClientDocumentURL, Now: time.Now}
}

// newTokenRequester returns a function that gets tokens for an OAuth client without
// a person (auth type oauth-client). An empty user means the client in the server's
// auth; otherwise it is the client that the user entered. The two have separate
// pins. Each request is recorded as a trace, and errors name the server.
func (m *Manager) newTokenRequester(row *junctor.Server, user string, out *http.Client) oauthclient.TokenRequester {
	address, _, _ := strings.Cut(row.URL, "?")
	pins := m.operatorPins(row)
	if user != "" {
		pins = m.userPins(row, user)
	}
	ask := m.newOAuthClient(out).NewTokenRequester(address, func(ctx context.Context, t *junctor.Trace) { m.recordTrace(ctx, row, user, t) }, pins)
	return func(ctx context.Context, auth junctor.Auth, with oauthclient.TokenProof) (seal.Secret, time.Duration, error) {
		token, life, err := ask(ctx, auth, with)
		if err != nil {
			e := *junctor.AsError(err)
			e.Message = "server " + row.ID + ": " + e.Message
			err = &e
		}
		return token, life, err
	}
}

// loginOf returns the login of a user, or the shared login for "". It creates the
// Login on first use; nothing is read from the vault before its first token.
func (l *serverLogins) loginOf(user string) *oauthclient.Login {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byUser[user]
	if one == nil {
		one = oauthclient.NewLogin(l.client, l.grantStoreOf(user), l.describeServer, func(ctx context.Context, t *junctor.Trace) { l.manager.recordTrace(ctx, &l.row, user, t) })
		l.byUser[user] = one
	}
	return one
}

// loginUser returns the user whose login the calls of p use; "" means the shared
// login. ok is false if the server has per-user logins and p is no user.
func (l *serverLogins) loginUser(p *junctor.Principal) (user string, ok bool) {
	if p == nil || !l.row.PerUser() {
		return "", true
	}
	return p.User, p.User != ""
}

// describeServer returns what the server's definition says about logging in,
// including the current client secret and pin. It is called for each login and
// renewal, because the operator may have changed the secret.
func (l *serverLogins) describeServer(ctx context.Context) (oauthclient.Server, error) {
	address, _, _ := strings.Cut(l.row.URL, "?") // the query may contain a credential
	out := oauthclient.Server{URL: address, Issuer: l.row.Auth.Issuer, ClientID: l.row.Auth.ClientID, Scopes: strings.Fields(l.row.Auth.Scope), AuthMethod: oauthclient.AuthMethodOf(l.row.Auth.ClientAuth)}
	if l.row.API != nil {
		out.AuthorizationURL, out.TokenURL = l.row.API.LoginURL, l.row.API.TokenURL
	}
	var err error
	if out.Pin, err = l.manager.operatorPins(&l.row).LoadPin(ctx, out.ClientID); err != nil {
		return out, err
	}
	if l.row.Auth.Secret != "" {
		out.Secret, err = l.source.Secret(ctx)
	}
	return out, err
}

// buildHeader returns the headers of a request: the access token of p's login, and
// for the shared login also the server's own headers. name identifies the login and
// number counts its tokens; both are empty without a login. The caller may change
// the returned header.
func (l *serverLogins) buildHeader(ctx context.Context, p *junctor.Principal) (h http.Header, name string, number uint64, err error) {
	h = http.Header{}
	if !l.row.PerUser() || p == nil {
		own, err := l.source.Header(ctx)
		if err != nil {
			return nil, "", 0, err
		}
		h = own.Clone()
	}
	user, ok := l.loginUser(p)
	if !ok {
		return h, "", 0, nil
	}
	token, name, number, err := l.loginOf(user).NamedToken(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h, name, number, nil
}

// callWithLogin runs an operation with the login of its caller. If the server
// refuses the token, it renews the token and tries once more; if that does not
// help, it answers with an invitation to log in.
func (l *serverLogins) callWithLogin(ctx context.Context, b Backend, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	user, ok := l.loginUser(req.Principal)
	if !ok {
		res, err := b.Do(ctx, req, sink)
		if _, refused := l.manager.ChallengeOf(err); refused {
			return catalog.Result{}, l.noUserError(req.Principal)
		}
		return res, err
	}
	// This call answers an invitation. The server refused the former call, so the
	// input is removed and the call starts again.
	if strings.HasPrefix(req.Input.State, loginStatePrefix) {
		if err := l.awaitLogin(ctx, req, user); err != nil {
			return catalog.Result{}, err
		}
		again := *req
		again.Input = catalog.Input{}
		req = &again
	}
	var res catalog.Result
	wants, err := l.loginOf(user).CallWithRetry(ctx, l.manager.ChallengeOf, func() (err error) {
		res, err = b.Do(ctx, req, sink)
		return err
	})
	if wants == nil {
		return res, err
	}
	return l.requireLogin(ctx, req, user, *wants)
}

// tokensOf returns the tokens that were last sent for a user.
func (l *serverLogins) tokensOf(user string) []string {
	l.mu.Lock()
	one := l.byUser[user]
	l.mu.Unlock()
	if one == nil {
		return nil
	}
	return one.Secrets()
}

// scrubText removes the tokens of all users from a text.
func (l *serverLogins) scrubText(text string) string {
	l.mu.Lock()
	var all []string
	for _, one := range l.byUser {
		all = append(all, one.Secrets()...)
	}
	l.mu.Unlock()
	if len(all) == 0 {
		return text
	}
	return seal.NewScrubber(all...).Scrub(text)
}

// knownSecrets is a list of secrets as a junctor.Keeper.
type knownSecrets []string

// Secrets implements junctor.Keeper.
func (c knownSecrets) Secrets() []string { return c }

// keeperFor returns the secrets that the calls of p are made with, so that they can
// be removed from what is recorded. It is nil if p can have no login.
func (l *serverLogins) keeperFor(p *junctor.Principal) junctor.Keeper {
	user, ok := l.loginUser(p)
	if !ok {
		return nil
	}
	all := l.tokensOf(user)
	if user == "" {
		all = append(all, l.source.Secrets()...)
	}
	return knownSecrets(all)
}

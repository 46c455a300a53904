package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// ConsentPrompt is the content of the consent page: what a program asks a person to
// allow.
type ConsentPrompt struct {
	// RedirectURL is set if the person consented before and need not be asked. The
	// browser is redirected there at once, and the other fields are empty.
	RedirectURL string

	Client          string   // name that the program gives itself; "" if none
	Host            string   // verified host of the program; "" if it registered itself
	Endpoint        string   // what it wants to use, in words
	Permissions     []string // what it could do there, in words
	SentTo          string   // where the browser is sent afterwards, in words
	IsLocal         bool     // that is a program on this computer
	ConsentedBefore bool     // the person consented before and is asked again
	Sealed          string   // to be passed to AnswerConsent
}

// RequestError is an invalid request of an identified program. The page offers a
// link back to the program, but does not redirect by itself.
type RequestError struct {
	Text        string
	RedirectURL string // address of the program with the OAuth error
	SentTo      string
}

// Error implements error.
func (t *RequestError) Error() string { return t.Text }

// pendingConsent is a consent page that waits for its answer. The browser holds it
// sealed. Login binds it to one sign-in of the person.
type pendingConsent struct {
	authorizationRequest
	Tenant junctor.TenantID `json:"tenant"`
	User   string           `json:"user"`
	Login  string           `json:"login"`
	Until  int64            `json:"until"` // expiry in microseconds since 1970
}

// The Sealer purpose and the lifetime of a pendingConsent.
const (
	purposeConsent     = "consent"
	pendingConsentLife = 10 * time.Minute
)

// PromptConsent checks the request that a program sent with the browser of p, and
// returns the page to show.
//
// The error is a *RequestError, or a junctor.Error with CodeInvalid and a text for
// the person. In the second case nobody must be redirected: the redirect address is
// not known to belong to the program, and redirecting would make this instance an
// open redirector.
func (srv *Server) PromptConsent(ctx context.Context, p *junctor.Principal, v url.Values) (*ConsentPrompt, error) {
	var id, redirect string
	if oerr := readParameters(v, map[string]*string{"client_id": &id, "redirect_uri": &redirect}); oerr != nil {
		return nil, userErrorf("The request of the client is ambiguous: %s.", oerr.Text)
	}
	c, err := srv.findClient(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.redirects, func(r string) bool { return matchesRedirect(r, redirect) }) {
		return nil, userErrorf("redirect_uri is not an address of this client. This may be an attack on your account. If you started this login, report it to the author of the client.")
	}
	to, oerr := checkRedirect(redirect)
	if oerr != nil {
		return nil, userErrorf("redirect_uri of this client is not a safe address.")
	}
	words, local := describeRedirect(to)
	r, oerr := srv.parseAuthorizationRequest(v)
	if oerr != nil {
		state, _ := singleValue(v, "state")
		return nil, srv.newRequestError(redirect, words, state, oerr)
	}
	r.Client, r.Name, r.Redirect = c.id, c.name, redirect
	r.Scopes, err = srv.limitToRole(ctx, p, r.Scopes)
	if err != nil {
		return nil, err
	}
	if len(r.Scopes) == 0 {
		state, _ := singleValue(v, "state")
		return nil, srv.newRequestError(redirect, words, state, newOAuthError("access_denied", "your role allows none of the requested scopes"))
	}
	former, err := srv.options.Store.For(p.Tenant).ConsentOf(ctx, p.User, c.id, r.Resource)
	before := err == nil && coversScopes(former.Scopes, r.Scopes) && former.Redirect == withoutPort(to)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return nil, err
	}
	// Any program on the person's computer can use a loopback address, so the
	// person is asked each time. A remote address belongs to the program they
	// consented to.
	if before && !local && !r.forceConsent {
		back, err := srv.grantConsent(ctx, p, r)
		return &ConsentPrompt{RedirectURL: back}, err
	}
	text, err := json.Marshal(pendingConsent{*r, p.Tenant, p.User, p.Login, srv.options.Now().Add(pendingConsentLife).UnixMicro()})
	if err != nil {
		return nil, err
	}
	return &ConsentPrompt{
		Client: c.name, Host: c.host, Endpoint: srv.describeEndpoint(r.Resource), Permissions: describeScopes(r.Scopes), SentTo: words, IsLocal: local, ConsentedBefore: before,
		Sealed: srv.options.Sealer.Seal(purposeConsent, text),
	}, nil
}

// limitToRole returns the scopes that the role of p's user has now.
func (srv *Server) limitToRole(ctx context.Context, p *junctor.Principal, scopes []junctor.Scope) ([]junctor.Scope, error) {
	u, err := srv.options.Store.For(p.Tenant).User(ctx, p.User)
	if err != nil {
		return nil, err
	}
	has := u.Role.Cut(scopes)
	return slices.DeleteFunc(slices.Clone(scopes), func(s junctor.Scope) bool { return !slices.Contains(has, s) }), nil
}

// coversScopes reports whether has contains all of wants.
func coversScopes(has, wants []junctor.Scope) bool {
	return !slices.ContainsFunc(wants, func(s junctor.Scope) bool { return !slices.Contains(has, s) })
}

// newRequestError returns a RequestError whose link leads back to the program with
// the OAuth error. words describes the redirect address.
func (srv *Server) newRequestError(redirect, words, state string, oerr *oauthError) error {
	more := url.Values{"error": {oerr.Code}, "error_description": {oerr.Text}, "iss": {srv.Issuer()}}
	if state != "" && len(state) <= maxStateLength {
		more.Set("state", state)
	}
	return &RequestError{Text: oerr.Text, RedirectURL: addQuery(redirect, more), SentTo: words}
}

// describeEndpoint describes an MCP endpoint in words for the consent page.
func (srv *Server) describeEndpoint(resource string) string {
	path := strings.TrimPrefix(resource, srv.Issuer()+"/mcp")
	switch {
	case strings.HasPrefix(path, "/s/"):
		return "the server " + path[len("/s/"):] + " alone"
	case strings.HasPrefix(path, "/a/"):
		return "what the agent " + path[len("/a/"):] + " may use"
	}
	return "all servers that you can use"
}

// describeScopes describes scopes in words for the consent page.
func describeScopes(scopes []junctor.Scope) []string {
	words := map[junctor.Scope]string{
		junctor.ScopeToolsRead:    "see tools, resources and prompts",
		junctor.ScopeToolsCall:    "call tools, with your credentials if a server requires them",
		junctor.ScopeBridgeCall:   "call servers that it chooses itself",
		junctor.ScopeEventsSend:   "send events",
		junctor.ScopeServersWrite: "add and change servers",
		junctor.ScopeAgentsWrite:  "add and change agents",
		junctor.ScopeKeysWrite:    "make keys",
		junctor.ScopeAuditRead:    "read the records of calls",
		junctor.ScopePolicyWrite:  "change the rules about calls",
		junctor.ScopeAdmin:        "do everything that an admin can do",
	}
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = words[s]
	}
	return out
}

// AnswerConsent processes the person's answer to a consent page, and returns the
// address to which the browser is redirected. The page must have been made for the
// same sign-in of p. Errors have CodeInvalid and a text for the person, or are
// failures of the store.
func (srv *Server) AnswerConsent(ctx context.Context, p *junctor.Principal, sealed string, yes bool) (back string, err error) {
	var q pendingConsent
	text, err := srv.options.Sealer.Open(purposeConsent, sealed)
	if err != nil || json.Unmarshal(text, &q) != nil || !srv.options.Now().Before(time.UnixMicro(q.Until)) {
		return "", userErrorf("This took too long. Go back to the client, and start again.")
	}
	if q.Tenant != p.Tenant || q.User != p.User || q.Login != p.Login {
		return "", userErrorf("This request is for another user, or from an earlier sign-in. Go back to the client, and start again.")
	}
	if !yes {
		srv.options.Log.LogAttrs(ctx, slog.LevelInfo, "OAuth consent denied by the user", slog.String("tenant", string(p.Tenant)), slog.String("user", p.User), slog.String("client", q.Client))
		return srv.responseURL(&q.authorizationRequest, url.Values{"error": {"access_denied"}, "error_description": {"the person did not consent"}}), nil
	}
	return srv.grantConsent(ctx, p, &q.authorizationRequest)
}

// A code can be exchanged during codeLife. It is stored for codeRetention, so that
// a second use can be detected and end the tokens of the first.
const (
	codeLife      = time.Minute
	codeRetention = 10 * time.Minute
)

// grantConsent stores the consent and a new code, and returns the redirect address
// with the code. Scopes of a former consent for the same program and endpoint are
// kept, because tokens for them may exist.
func (srv *Server) grantConsent(ctx context.Context, p *junctor.Principal, r *authorizationRequest) (string, error) {
	to, oerr := checkRedirect(r.Redirect)
	if oerr != nil {
		return "", userErrorf("redirect_uri of this client is not a safe address.")
	}
	now, code := srv.options.Now(), codePrefix+newSecret()
	c := junctor.Consent{
		ID: newID(), User: p.User, Client: r.Client, ClientName: r.Name, Redirect: withoutPort(to), Resource: r.Resource, Scopes: r.Scopes, CreatedAt: now, UpdatedAt: now,
	}
	tenant := srv.options.Store.For(p.Tenant)
	former, err := tenant.ConsentOf(ctx, p.User, r.Client, r.Resource)
	switch {
	case err == nil: // the former consent keeps its scopes
		c.Scopes = slices.Clone(r.Scopes)
		for _, s := range former.Scopes {
			if !slices.Contains(c.Scopes, s) {
				c.Scopes = append(c.Scopes, s)
			}
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return "", err
	}
	id, err := tenant.Allow(ctx, c, store.ConsentToken{
		Hash: hashToken(code), Kind: store.TokenCode, Family: newID(), Scopes: r.Scopes, Redirect: r.Redirect, Challenge: r.Challenge, CreatedAt: now, ExpiresAt: now.Add(codeRetention),
	})
	if err != nil {
		return "", err
	}
	if err := srv.options.Store.For(junctor.DefaultTenant).TouchClient(ctx, r.Client, now); err != nil {
		return "", err
	}
	srv.options.Log.LogAttrs(ctx, slog.LevelInfo, "OAuth consent given", slog.String("tenant", string(p.Tenant)), slog.String("user", p.User),
		slog.String("client", r.Client), slog.String("name", r.Name), slog.String("endpoint", r.Resource), slog.String("consent", id))
	return srv.responseURL(r, url.Values{"code": {code}}), nil
}

// responseURL returns the redirect address of a program with the response,
// including iss (RFC 9207).
func (srv *Server) responseURL(r *authorizationRequest, more url.Values) string {
	if r.State != nil {
		more.Set("state", *r.State)
	}
	more.Set("iss", srv.Issuer())
	return addQuery(r.Redirect, more)
}

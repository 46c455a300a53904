// Package resource is the OAuth 2.1 resource server of an instance. It admits
// requests to the MCP endpoints with access tokens: JWTs of configured identity
// providers, and tokens of the instance's own authorization server.
//
// Its neighbours: app passes it requests whose bearer token is no API key. gateway
// asks it for the WWW-Authenticate header of refused requests. Clients read its
// metadata (RFC 9728) to find the authorization servers. It asks identity for the
// user of a token and oauth/server for local tokens, and fetches the keys of
// issuers with a client that app provides.
//
// A token is verified once and then known by its hash until it expires. Changes of
// its user still take effect at once, because each request asks identity for the
// principal. Tokens are not passed on to other packages, except local ones to
// oauth/server.
//
// Read verifier.go, then jwt.go and key_set.go (tokens of identity providers),
// token_cache.go, and challenge.go (metadata and WWW-Authenticate).
package resource

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// Issuer is an identity provider whose tokens are accepted, with the policy that
// decides which of its users are admitted.
type Issuer struct {
	identity.AdmissionPolicy
	Client *http.Client // fetches its metadata and keys
}

// Scope maps the name of an OAuth scope to a scope of Junctor.
type Scope struct {
	Name  string
	Scope junctor.Scope
}

// LocalIssuer is the authorization server of this instance. oauth/server implements
// it.
type LocalIssuer interface {
	Issuer() string
	// IsLocalToken reports whether a token has the form of its tokens.
	IsLocalToken(token string) bool
	// LookupToken returns the user of a token, the address of the endpoint that it
	// is for, and its expiry. Errors: unauthenticated if the token is not valid.
	LookupToken(ctx context.Context, token string) (party *identity.TokenUser, endpoint string, expires time.Time, err error)
	// LiveTokens returns the SHA-256 hashes of its tokens that are valid now.
	LiveTokens(ctx context.Context) (map[[32]byte]bool, error)
}

// Options are the dependencies of a Verifier. Audiences, Now and Log are optional,
// and one of LocalIssuer and Issuers is enough.
type Options struct {
	Identity *identity.Identity
	// URL returns the base URL of the instance. It is called once, with the first
	// request.
	URL         func() string
	LocalIssuer LocalIssuer // nil if the instance issues no tokens
	Issuers     []Issuer
	Audiences   []string // accepted at every endpoint; if empty, a token must be for the address of its endpoint
	Scopes      []Scope  // that tokens can have and clients should request
	Now         func() time.Time
	Log         *slog.Logger
}

// Verifier verifies access tokens. It is safe for concurrent use.
type Verifier struct {
	options        Options
	baseURL        func() string
	scopeParameter string             // names of all scopes, as clients request them
	allScopes      []junctor.Scope    // that a token can have
	keySets        map[string]*keySet // by issuer
	cache          tokenCache

	admitLock sync.Mutex // serializes the creation of users
}

// New returns a Verifier, or an error if a required option is missing.
func New(o Options) (*Verifier, error) {
	if o.Identity == nil || o.URL == nil || len(o.Issuers) == 0 && o.LocalIssuer == nil || len(o.Scopes) == 0 {
		return nil, junctor.Errorf(junctor.CodeInternal, "resource: Identity, URL, Scopes, and LocalIssuer or Issuers are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	v := &Verifier{options: o, baseURL: sync.OnceValue(o.URL), keySets: map[string]*keySet{}}
	names := make([]string, len(o.Scopes))
	for i, s := range o.Scopes {
		names[i] = s.Name
		v.allScopes = append(v.allScopes, s.Scope)
	}
	v.scopeParameter = strings.Join(slices.Compact(names), " ")
	for i := range o.Issuers {
		if o.Issuers[i].Client == nil {
			return nil, junctor.Errorf(junctor.CodeInternal, "resource: the issuer %s has no Client", o.Issuers[i].Issuer)
		}
		v.keySets[o.Issuers[i].Issuer] = &keySet{issuer: &o.Issuers[i], now: o.Now, log: o.Log}
	}
	return v, nil
}

// endpointPatterns lists the routes that accept tokens.
func endpointPatterns() []string { return []string{"/mcp", "/mcp/s/{server}", "/mcp/a/{agent}"} }

// isMCPEndpoint reports whether the route of a request accepts tokens.
func isMCPEndpoint(r *http.Request) bool {
	switch r.Pattern { // the same as endpointPatterns, without allocating a list per request
	case "/mcp", "/mcp/s/{server}", "/mcp/a/{agent}":
		return true
	}
	return false
}

// TokenFromRequest returns the access token of a request. found is false if the
// route accepts none or the request has another credential, such as an API key.
func (v *Verifier) TokenFromRequest(r *http.Request) (token string, found bool) {
	lines := r.Header["Authorization"]
	if len(lines) != 1 || len(r.Header["X-Api-Key"]) > 0 || !isMCPEndpoint(r) {
		return "", false
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	token = strings.TrimSpace(token)
	jwt := strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2 && len(v.options.Issuers) > 0
	return token, strings.EqualFold(scheme, "bearer") && (jwt || v.isLocalToken(token))
}

// isLocalToken reports whether a token has the form of this instance's own tokens.
func (v *Verifier) isLocalToken(token string) bool {
	return v.options.LocalIssuer != nil && v.options.LocalIssuer.IsLocalToken(token)
}

// Principal returns the principal of a token that TokenFromRequest returned. A
// principal without scopes has a token with none of our scopes.
//
// Errors: unauthenticated if the token is not valid for this endpoint, denied if
// the issuer's policy does not admit the person, unavailable if the issuer's keys
// cannot be fetched.
func (v *Verifier) Principal(r *http.Request, token string) (*junctor.Principal, error) {
	if len(token) > maxTokenLength {
		return nil, invalidTokenf("the token has more than %d bytes", maxTokenLength)
	}
	sum := hashToken(token)
	now := v.options.Now()
	t := v.cache.get(sum, now)
	if t != nil {
		if err := v.checkAudience(t, r.URL.Path); err != nil {
			return nil, err
		}
		return t.user.Principal()
	}
	if v.isLocalToken(token) {
		return v.verifyLocalToken(r, token, sum, now)
	}
	t, err := v.verifyJWT(r.Context(), token, r.URL.Path, now)
	if err != nil {
		return nil, err
	}
	v.cache.put(sum, t, now)
	return t.user.Principal()
}

// verifyLocalToken returns the principal of a token of this instance and caches the
// token. The count of rechecks is read before the lookup: if a recheck happens
// meanwhile, the result is not cached.
func (v *Verifier) verifyLocalToken(r *http.Request, text string, sum [32]byte, now time.Time) (*junctor.Principal, error) {
	as := v.cache.rechecks.Load()
	party, endpoint, expires, err := v.options.LocalIssuer.LookupToken(r.Context(), text)
	if err != nil {
		return nil, err
	}
	t := &verifiedToken{user: party, audience: []string{endpoint}, expires: expires, isLocal: true}
	v.cache.putLocal(sum, t, now, as)
	if err := v.checkAudience(t, r.URL.Path); err != nil {
		return nil, err
	}
	return party.Principal()
}

// ForgetEndedTokens drops local tokens from the cache that are no longer valid.
// Call it when tokens have ended, and regularly for those that ended on other
// replicas. If the valid tokens cannot be listed, it drops all local tokens, which
// are then looked up again.
func (v *Verifier) ForgetEndedTokens(ctx context.Context) error {
	if v.options.LocalIssuer == nil {
		return nil
	}
	live, err := v.options.LocalIssuer.LiveTokens(ctx)
	v.cache.keepLocal(live)
	return err
}

// checkAudience returns an error if a token is not for the endpoint at a path.
// Tokens of identity providers may instead be for one of the configured audiences.
func (v *Verifier) checkAudience(t *verifiedToken, path string) error {
	base := v.baseURL()
	fixed := len(v.options.Audiences) > 0 && !t.isLocal
	for _, aud := range t.audience {
		if fixed {
			if slices.Contains(v.options.Audiences, aud) {
				return nil
			}
		} else if len(aud) == len(base)+len(path) && strings.HasPrefix(aud, base) && strings.HasSuffix(aud, path) {
			return nil
		}
	}
	if fixed {
		return invalidTokenf("the token is for another audience; its audience must be %s", strings.Join(v.options.Audiences, " or "))
	}
	return invalidTokenf("the token is for another audience; its audience must be %s", base+path)
}

// admitUser returns the user of a token and creates it on first use.
func (v *Verifier) admitUser(ctx context.Context, a identity.AdmissionPolicy, c identity.Claims) (junctor.User, error) {
	v.admitLock.Lock()
	defer v.admitLock.Unlock()
	u, err := v.options.Identity.AdmitUser(ctx, a, c)
	if junctor.CodeOf(err) == junctor.CodeConflict { // another replica created the user first
		return v.options.Identity.AdmitUser(ctx, a, c)
	}
	return u, err
}

// invalidTokenf returns an unauthenticated error.
func invalidTokenf(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeUnauthenticated, format, args...)
}

// Package bearer lets people into the MCP doors with tokens: of their identity
// provider, and of programs that they let act for them. It is the OAuth 2.1
// resource server of an instance. It stands beside
// identity, between gateway and guard: app asks it about requests whose bearer
// token is a JWT, or one of authority's, and no key; gateway asks it what to tell those who were
// not let in, and clients read in its metadata (RFC 9728) who issues tokens.
// Which user somebody is it asks identity; the keys of issuers it fetches with a
// client that app gives it.
//
// A token is verified once and then known by its hash until it expires. What
// its user may do follows every change of the user all the same. Tokens go no
// further than this package.
package bearer

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

// Issuer is who issues tokens, and whom of those it vouches for to let in.
type Issuer struct {
	identity.Admission
	Client *http.Client // the way to it
}

// Scope is what a scope of tokens is called by their issuers, and is here.
type Scope struct {
	Name  string
	Means junctor.Scope
}

// Own issues tokens for the doors of this instance itself.
type Own interface {
	Issuer() string
	// Mine says whether a token looks like one of its.
	Mine(token string) bool
	// Prove says whose one of its tokens is, which door it is for, and until when;
	// unauthenticated for one that is not good.
	Prove(ctx context.Context, token string) (party *identity.Party, door string, expires time.Time, err error)
	// Live lists the SHA-256 of its tokens that are good at this moment.
	Live(ctx context.Context) (map[[32]byte]bool, error)
}

// Options are the parts that verifying tokens stands on. Audiences, Now and Log
// need not be there, and of Own and Issuers one is enough.
type Options struct {
	Identity *identity.Identity
	// URL is where clients reach the instance. It is asked once, when the first
	// request has come.
	URL       func() string
	Own       Own // nil: the instance issues none
	Issuers   []Issuer
	Audiences []string // that tokens may be for on every door; none: only the door's own address
	Scopes    []Scope  // that tokens can carry, and that clients are to ask for
	Now       func() time.Time
	Log       *slog.Logger
}

// Bearer knows the holders of tokens. It is safe for concurrent use.
type Bearer struct {
	o      Options
	base   func() string
	ask    string          // all scopes, as clients ask for them
	most   []junctor.Scope // that a token can carry
	keys   map[string]*keySet
	proven proven

	admitting sync.Mutex // one person at a time comes for the first time
}

// New checks the options.
func New(o Options) (*Bearer, error) {
	if o.Identity == nil || o.URL == nil || len(o.Issuers) == 0 && o.Own == nil || len(o.Scopes) == 0 {
		return nil, junctor.Errorf(junctor.CodeInternal, "verifying tokens needs Identity, URL, Own or Issuers, and Scopes")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Bearer{o: o, base: sync.OnceValue(o.URL), keys: map[string]*keySet{}}
	names := make([]string, len(o.Scopes))
	for i, s := range o.Scopes {
		names[i] = s.Name
		b.most = append(b.most, s.Means)
	}
	b.ask = strings.Join(slices.Compact(names), " ")
	for i := range o.Issuers {
		if o.Issuers[i].Client == nil {
			return nil, junctor.Errorf(junctor.CodeInternal, "the issuer %s cannot be reached without a client", o.Issuers[i].Issuer)
		}
		b.keys[o.Issuers[i].Issuer] = &keySet{issuer: &o.Issuers[i], now: o.Now, log: o.Log}
	}
	return b, nil
}

// doors are the routes that tokens open.
func doors() []string { return []string{"/mcp", "/mcp/s/{server}", "/mcp/a/{agent}"} }

func isDoor(r *http.Request) bool {
	switch r.Pattern { // as doors lists them, without a list for each request
	case "/mcp", "/mcp/s/{server}", "/mcp/a/{agent}":
		return true
	}
	return false
}

// Token gives the token that a request shows at a door that takes one; found is
// false for every other credential.
func (b *Bearer) Token(r *http.Request) (token string, found bool) {
	lines := r.Header["Authorization"]
	if len(lines) != 1 || len(r.Header["X-Api-Key"]) > 0 || !isDoor(r) {
		return "", false
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	token = strings.TrimSpace(token)
	jwt := strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2 && len(b.o.Issuers) > 0
	return token, strings.EqualFold(scheme, "bearer") && (jwt || b.mine(token))
}

func (b *Bearer) mine(token string) bool { return b.o.Own != nil && b.o.Own.Mine(token) }

// Principal says whose a token is that a request shows. Errors: unauthenticated
// for a token that is not valid here, denied for a person who is not let in,
// unavailable where the keys of its issuer cannot be had. A principal without
// scopes is one whose token has none of ours.
func (b *Bearer) Principal(r *http.Request, token string) (*junctor.Principal, error) {
	if len(token) > maxToken {
		return nil, invalid("the token has more than %d bytes", maxToken)
	}
	sum := hash(token)
	now := b.o.Now()
	t := b.proven.get(sum, now)
	if t != nil {
		if err := b.meant(t, r.URL.Path); err != nil {
			return nil, err
		}
		return t.party.Principal()
	}
	if b.mine(token) {
		return b.own(r, token, sum, now)
	}
	t, err := b.prove(r.Context(), token, r.URL.Path, now)
	if err != nil {
		return nil, err
	}
	b.proven.put(sum, t, now)
	return t.party.Principal()
}

// own says whose a token of our own is.
func (b *Bearer) own(r *http.Request, text string, sum [32]byte, now time.Time) (*junctor.Principal, error) {
	as := b.proven.checked.Load()
	party, door, expires, err := b.o.Own.Prove(r.Context(), text)
	if err != nil {
		return nil, err
	}
	t := &token{party: party, audience: []string{door}, expires: expires, own: true}
	b.proven.putOwn(sum, t, now, as)
	if err := b.meant(t, r.URL.Path); err != nil {
		return nil, err
	}
	return party.Principal()
}

// Recheck forgets tokens of our own that are not good any more: call it when one
// has ended, and now and then for what another process did. Where it cannot be
// known which, all are forgotten, and asked about again when they come.
func (b *Bearer) Recheck(ctx context.Context) error {
	if b.o.Own == nil {
		return nil
	}
	live, err := b.o.Own.Live(ctx)
	b.proven.keep(live)
	return err
}

// meant refuses a token that is not for the door at a path.
func (b *Bearer) meant(t *token, path string) error {
	base := b.base()
	fixed := len(b.o.Audiences) > 0 && !t.own
	for _, aud := range t.audience {
		if fixed {
			if slices.Contains(b.o.Audiences, aud) {
				return nil
			}
		} else if len(aud) == len(base)+len(path) && strings.HasPrefix(aud, base) && strings.HasSuffix(aud, path) {
			return nil
		}
	}
	if fixed {
		return invalid("the token is for another audience; it has to be for %s", strings.Join(b.o.Audiences, " or "))
	}
	return invalid("the token is for another audience; it has to be for %s", base+path)
}

// admit finds the user of a token.
func (b *Bearer) admit(ctx context.Context, a identity.Admission, c identity.Claims) (junctor.User, error) {
	b.admitting.Lock()
	defer b.admitting.Unlock()
	u, err := b.o.Identity.Admit(ctx, a, c)
	if junctor.CodeOf(err) == junctor.CodeConflict { // another process was first
		return b.o.Identity.Admit(ctx, a, c)
	}
	return u, err
}

func invalid(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeUnauthenticated, format, args...)
}

// Package signin is how people come in with a browser: the pages at /login,
// sign-in by a link, by a password or by an identity provider, and the cookie
// that is a session afterwards; and what they are asked there: whether to log in
// to a server, and whether a program may act for them. It stands before admin and the console, which
// ask it who a cookie is; the MCP doors never do. What it knows of people it
// has from identity, which keeps users and logins; app gives it the way out to
// the identity provider.
package signin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// Sealer keeps what a browser holds for us from being read or changed.
type Sealer interface {
	Seal(purpose string, plaintext []byte) string
	Open(purpose, text string) ([]byte, error)
}

// Options are the parts that signing in stands on. All but Provider, Address,
// Pool, Now and Log are needed.
type Options struct {
	Identity *identity.Identity
	// URL is where people reach the instance with a browser.
	URL    func() string
	Sealer Sealer
	// UseState notes that something for one use was used, and says whether this
	// was the first time.
	UseState func(ctx context.Context, id string, expires time.Time) (first bool, err error)
	Provider *Provider // nil: nobody vouches for people
	// Connector logs people in to servers; nil where there is none.
	Connector Connector
	// Authority lets programs act for people; nil where it does not.
	Authority Authority
	// Address is where a request comes from; nil is the other end of its
	// connection.
	Address func(*http.Request) netip.Addr
	// Pool is where tries of passwords are counted together with other replicas;
	// nil where they are not.
	Pool limit.Pool
	Now  func() time.Time
	Log  *slog.Logger
}

// SignIn lets people in.
type SignIn struct {
	Options
	tries *limit.Counter
	cross *http.CrossOriginProtection
}

// How often a password may be tried for one name from anywhere, from one address,
// and from one site of IPv6: some times at once, then once in a while. The limit of
// a name keeps its owner out too while somebody else uses it up; links and identity
// providers are not counted, so that the owner still gets in by those.
func perName() limit.Rate    { return limit.Rate{PerSecond: 1.0 / 30, Burst: 10} }
func perAddress() limit.Rate { return limit.Rate{PerSecond: 1.0 / 10, Burst: 30} }
func perSite() limit.Rate    { return limit.Rate{PerSecond: 1.0 / 3, Burst: 100} }

// New checks the options.
func New(o Options) (*SignIn, error) {
	if o.Identity == nil || o.URL == nil || o.Sealer == nil || o.UseState == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "signing in needs Identity, URL, Sealer and UseState")
	}
	if o.Address == nil {
		o.Address = remote
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &SignIn{Options: o, tries: limit.NewCounter(o.Pool), cross: http.NewCrossOriginProtection()}, nil
}

func remote(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}

// Mux is what the pages are registered on.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes puts the pages into a mux.
func (s *SignIn) Routes(mux Mux) {
	mux.HandleFunc("GET /login", s.show)
	mux.HandleFunc("POST /login", s.own(s.enter))
	mux.HandleFunc("POST /logout", s.own(s.leave))
	if s.Connector != nil {
		s.connectRoutes(mux)
	}
	if s.Authority != nil {
		s.consentRoutes(mux)
	}
	if s.Provider != nil {
		mux.HandleFunc("GET /login/oidc", s.depart)
		mux.HandleFunc("GET /login/callback", s.arrive)
	}
}

// own lets a form through that a page of ours sent.
func (s *SignIn) own(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.cross.Check(r); err != nil {
			s.refuse(w, r, http.StatusForbidden, "This form was sent from another site. Open the sign-in page itself and try again.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if mediaType := r.Header.Get("Content-Type"); !strings.HasPrefix(mediaType, "application/x-www-form-urlencoded") || r.ParseForm() != nil {
			s.refuse(w, r, http.StatusBadRequest, "This is not what the form sends. Open the sign-in page and try again.")
			return
		}
		next(w, r)
	}
}

const maxForm = 16 << 10

// HeaderConsole has to stand on every request that a cookie authenticates and
// that is not a mere look: a page elsewhere cannot put it there.
const HeaderConsole = "X-Junctor-Console"

// Authenticate says whose a request is by its cookie; found is false where it
// has none. Errors are unauthenticated for a session that has ended, and denied
// for a request that a page of another origin may have caused.
func (s *SignIn) Authenticate(r *http.Request) (p *junctor.Principal, found bool, err error) {
	cookie, found := s.cookie(r, sessionCookie)
	if !found {
		return nil, false, nil
	}
	if !sameOrigin(r) {
		return nil, true, junctor.Errorf(junctor.CodeDenied, "a page of another origin asked for this: a login is for the console alone, use a key")
	}
	if safe := r.Method == http.MethodGet || r.Method == http.MethodHead; !safe {
		if err := s.cross.Check(r); err != nil || r.Header.Get(HeaderConsole) == "" {
			return nil, true, junctor.Errorf(junctor.CodeDenied, "a login changes something only with the header %s, from the console itself", HeaderConsole)
		}
	}
	p, err = s.Identity.Session(cookie)
	return p, true, err
}

// sameOrigin says whether a browser sent the request for a page of ours, or for
// the person directly. Without the header it is an old browser or none: then
// the cookie's own rules have to do.
func sameOrigin(r *http.Request) bool {
	site := r.Header.Values("Sec-Fetch-Site")
	return len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none")
}

// The cookies. Over TLS, and where browsers take a plain address for as safe,
// they have the prefix that keeps other hosts from planting one.
const (
	sessionCookie = "junctor-session"
	flowCookie    = "junctor-oidc"
)

func (s *SignIn) secure(r *http.Request) bool {
	if r.TLS != nil || strings.HasSuffix(hostname(r.Host), ".localhost") {
		return true
	}
	u, err := url.Parse(s.URL())
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(host)
}

func (s *SignIn) cookieName(r *http.Request, name string) string {
	if s.secure(r) {
		return "__Host-" + name
	}
	return name
}

// cookie gives the value of the one cookie of that name.
func (s *SignIn) cookie(r *http.Request, name string) (string, bool) {
	found := r.CookiesNamed(s.cookieName(r, name))
	if len(found) != 1 || found[0].Value == "" { // two: one of them is not ours
		return "", false
	}
	return found[0].Value, true
}

// setCookie gives the browser a cookie, or with "" takes it away.
func (s *SignIn) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration, same http.SameSite) {
	age := int(life / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: without TLS a secure cookie would not come back
		Name: s.cookieName(r, name), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: s.secure(r), SameSite: same,
	})
}

// TryPassword counts a try of the password of a user, whom the tenant may not have,
// from where a request comes. The error is limited where there were too many.
func (s *SignIn) TryPassword(r *http.Request, tenant junctor.TenantID, name string) error {
	wait, ok := s.countTry(r, tenant, name)
	if ok {
		return nil
	}
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: wait,
		Message: "the password was tried too often: try again in " + span(seconds(wait)) + ", or sign in with a link that junctor login --user NAME makes",
	}
}

// countTry says whether another try is allowed for a user from where a request
// comes, and else how long to wait.
func (s *SignIn) countTry(r *http.Request, tenant junctor.TenantID, name string) (wait time.Duration, ok bool) {
	at := s.Address(r).Unmap().WithZone("")
	now := s.Now()
	from := at.String()
	if at.Is6() {
		// Whoever has one address has 2^64, and a site has 2^16 networks of those.
		site, _ := at.Prefix(48)
		if ok, wait := s.tries.Take(r.Context(), "signin:site:"+site.String(), perSite(), now); !ok {
			return wait, false
		}
		network, _ := at.Prefix(64)
		from = network.String()
	}
	if ok, wait := s.tries.Take(r.Context(), "signin:from:"+from, perAddress(), now); !ok {
		return wait, false
	}
	ok, wait = s.tries.Take(r.Context(), "signin:name:"+nameKey(tenant, name), perName(), now)
	return wait, ok
}

// nameKey is what the tries of a name are counted by: the same for all texts that
// could mean one user, whether or not there is one. It is a hash, so that it is
// short whatever was typed, and a Redis holds no names.
func nameKey(tenant junctor.TenantID, name string) string {
	text := string(tenant) + "/" + strings.TrimSpace(name)
	for range 2 { // folding case can undo the form
		text = strings.ToLower(strings.ToUpper(norm.NFKC.String(text)))
	}
	sum := sha256.Sum256([]byte(norm.NFKC.String(text)))
	return hex.EncodeToString(sum[:16])
}

// parseName reads what a person types: a name, or tenant/name.
func parseName(text string) (junctor.TenantID, string) {
	tenant, name, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok {
		tenant, name = "", tenant
	}
	return junctor.TenantID(cmp.Or(tenant, string(junctor.DefaultTenant))), name
}

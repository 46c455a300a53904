// Package signin signs users in with a browser. It serves the pages at /login for a link,
// a password or an identity provider, and the session cookie that follows. It also serves
// the pages that ask users something: at /connect whether to log in to an upstream server,
// and at /oauth/authorize whether an OAuth client may act for them.
//
// It stands in front of admin and the console, which ask it for the principal of a cookie.
// The MCP endpoints never accept a cookie. identity keeps users and logins, oauth/server and
// upstreamauth do the work behind the two questions, and app provides the HTTP client for the
// identity provider.
//
// Read signin.go (routes, cookies and limits) first, then login.go (links and passwords),
// oidc_flow.go and provider.go (identity providers), connect.go, consent.go, and page.go
// (the one page that all of them render), and provider_pin.go.
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

// Options holds the parts that SignIn uses. All but Provider, Connector, Authority,
// Address, Pool, Now and Log are required.
type Options struct {
	Identity *identity.Identity
	// URL returns the address at which users reach the instance with a browser.
	URL    func() string
	Sealer junctor.Sealer
	// UseState records that a state for one use was used, and reports whether this was the
	// first time.
	UseState func(ctx context.Context, id string, expires time.Time) (first bool, err error)
	Provider *Provider // nil: there is no identity provider
	// Connector logs users in to upstream servers; nil if there is none.
	Connector Connector
	// Authority lets OAuth clients act for users; nil if there is none.
	Authority Authority
	// Address returns the client's address of a request; nil means the peer of the
	// connection.
	Address func(*http.Request) netip.Addr
	// Pool counts password attempts together with other replicas; nil counts them here
	// only.
	Pool limit.Pool
	Now  func() time.Time
	Log  *slog.Logger
}

// SignIn serves the sign-in pages and authenticates cookies. It is safe for concurrent
// use.
type SignIn struct {
	Options
	passwordTries *limit.SharedRateLimiter
	crossOrigin   *http.CrossOriginProtection
}

// The rates at which passwords may be tried: for one name from anywhere, from one address,
// and from one IPv6 site. Each allows a burst, then one attempt in a while. The limit of a
// name also locks its owner out while somebody else uses it up. Links and identity
// providers are not counted, so that the owner still gets in by those.
func ratePerName() limit.Rate    { return limit.Rate{PerSecond: 1.0 / 30, Burst: 10} }
func ratePerAddress() limit.Rate { return limit.Rate{PerSecond: 1.0 / 10, Burst: 30} }
func ratePerSite() limit.Rate    { return limit.Rate{PerSecond: 1.0 / 3, Burst: 100} }

// New checks the options and sets defaults.
func New(o Options) (*SignIn, error) {
	if o.Identity == nil || o.URL == nil || o.Sealer == nil || o.UseState == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "signin: Identity, URL, Sealer and UseState are required")
	}
	if o.Address == nil {
		o.Address = remoteAddress
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &SignIn{Options: o, passwordTries: limit.NewSharedRateLimiter(o.Pool), crossOrigin: http.NewCrossOriginProtection()}, nil
}

// remoteAddress returns the peer of the request's connection.
func remoteAddress(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}

// Routes registers the pages on a mux.
func (s *SignIn) Routes(mux junctor.Mux) {
	mux.HandleFunc("GET /login", s.showLoginPage)
	mux.HandleFunc("POST /login", s.requireOwnForm(s.submitLogin))
	mux.HandleFunc("POST /logout", s.requireOwnForm(s.signOut))
	if s.Connector != nil {
		s.registerConnectRoutes(mux)
	}
	if s.Authority != nil {
		s.registerConsentRoutes(mux)
	}
	if s.Provider != nil {
		mux.HandleFunc("GET /login/oidc", s.startOIDC)
		mux.HandleFunc("GET /login/callback", s.finishOIDC)
	}
}

// requireOwnForm wraps the handler of a form. It refuses forms that a page of another
// origin sent, and bounds and parses the body.
func (s *SignIn) requireOwnForm(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.crossOrigin.Check(r); err != nil {
			s.renderRefusal(w, r, http.StatusForbidden, "This form was sent from another site. Open the sign-in page itself and try again.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if mediaType := r.Header.Get("Content-Type"); !strings.HasPrefix(mediaType, "application/x-www-form-urlencoded") || r.ParseForm() != nil {
			s.renderRefusal(w, r, http.StatusBadRequest, "The form data is invalid. Open the sign-in page and try again.")
			return
		}
		next(w, r)
	}
}

// maxForm bounds the body of a form.
const maxForm = 16 << 10

// HeaderConsole is required on every request that a cookie authenticates and that is not a
// GET or HEAD. A page of another origin cannot set it.
const HeaderConsole = "X-Junctor-Console"

// Authenticate returns the principal of a request's cookie; found is false if there is no
// cookie. The error is unauthenticated for a session that has ended, and denied for a
// request that a page of another origin may have caused.
func (s *SignIn) Authenticate(r *http.Request) (p *junctor.Principal, found bool, err error) {
	cookie, found := s.readCookie(r, sessionCookie)
	if !found {
		return nil, false, nil
	}
	if !sameOrigin(r) {
		return nil, true, junctor.Errorf(junctor.CodeDenied, "a page of another origin sent this request: a sign-in is valid only in the console; use a key")
	}
	if safe := r.Method == http.MethodGet || r.Method == http.MethodHead; !safe {
		if err := s.crossOrigin.Check(r); err != nil || r.Header.Get(HeaderConsole) == "" {
			return nil, true, junctor.Errorf(junctor.CodeDenied, "requests with a sign-in that change something must have the header %s, which the console sends; use a key", HeaderConsole)
		}
	}
	p, err = s.Identity.AuthenticateCookie(cookie)
	return p, true, err
}

// sameOrigin reports whether a browser sent the request for a page of this origin, or for
// the user directly. Without the header the client is an old browser or none, and only the
// SameSite rule of the cookie protects.
func sameOrigin(r *http.Request) bool {
	site := r.Header.Values("Sec-Fetch-Site")
	return len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none")
}

// The names of cookies. Over TLS, and on addresses that browsers consider secure, they get
// the prefix __Host-, which keeps other hosts from setting them.
const (
	sessionCookie = "junctor-session"
	flowCookie    = "junctor-oidc"
)

// isSecure reports whether a browser treats the address of the request as secure.
func (s *SignIn) isSecure(r *http.Request) bool {
	if r.TLS != nil || strings.HasSuffix(hostWithoutPort(r.Host), ".localhost") {
		return true
	}
	u, err := url.Parse(s.URL())
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

// hostWithoutPort returns the host of a Host header in lower case.
func hostWithoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(host)
}

// fullCookieName returns the name of a cookie with its prefix and, if the address has a port,
// with the port: browsers keep one set of cookies for all ports of a host, and two instances
// on one host must not replace each other's.
func (s *SignIn) fullCookieName(r *http.Request, name string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		name += "-" + port
	}
	if s.isSecure(r) {
		return "__Host-" + name
	}
	return name
}

// readCookie returns the value of a cookie. If there are two of the name, one of them was
// planted, and neither counts.
func (s *SignIn) readCookie(r *http.Request, name string) (string, bool) {
	found := r.CookiesNamed(s.fullCookieName(r, name))
	if len(found) != 1 || found[0].Value == "" { // two: one of them is not ours
		return "", false
	}
	return found[0].Value, true
}

// setCookie sets a cookie, or with an empty value deletes it.
func (s *SignIn) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration, same http.SameSite) {
	age := int(life / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: without TLS a secure cookie would not come back
		Name: s.fullCookieName(r, name), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: s.isSecure(r), SameSite: same,
	})
}

// TryPassword counts an attempt at the password of a user, who need not exist, from the
// address of a request. The error is limited if there were too many.
func (s *SignIn) TryPassword(r *http.Request, tenant junctor.TenantID, name string) error {
	wait, ok := s.countTry(r, tenant, name)
	if ok {
		return nil
	}
	return &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: wait,
		Message: "too many attempts with a wrong password: try again in " + formatSeconds(roundUpSeconds(wait)) + ", or sign in with a link from junctor login --user NAME",
	}
}

// countTry reports whether another attempt is allowed for a user from the address of a
// request, and otherwise how long to wait.
func (s *SignIn) countTry(r *http.Request, tenant junctor.TenantID, name string) (wait time.Duration, ok bool) {
	at := s.Address(r).Unmap().WithZone("")
	now := s.Now()
	from := at.String()
	if at.Is6() {
		// A client that has one address has 2^64, and a site has 2^16 networks of those.
		site, _ := at.Prefix(48)
		if ok, wait := s.passwordTries.Take(r.Context(), "signin:site:"+site.String(), ratePerSite(), now); !ok {
			return wait, false
		}
		network, _ := at.Prefix(64)
		from = network.String()
	}
	if ok, wait := s.passwordTries.Take(r.Context(), "signin:from:"+from, ratePerAddress(), now); !ok {
		return wait, false
	}
	ok, wait = s.passwordTries.Take(r.Context(), "signin:name:"+nameKey(tenant, name), ratePerName(), now)
	return wait, ok
}

// nameKey returns the key under which attempts at a name are counted. It is the same for
// all spellings that could mean one user, whether or not the user exists. It is a hash, so
// that it is short for any input and a shared Redis holds no names.
func nameKey(tenant junctor.TenantID, name string) string {
	text := string(tenant) + "/" + strings.TrimSpace(name)
	for range 2 { // folding case can undo the form
		text = strings.ToLower(strings.ToUpper(norm.NFKC.String(text)))
	}
	sum := sha256.Sum256([]byte(norm.NFKC.String(text)))
	return hex.EncodeToString(sum[:16])
}

// parseName parses the name that a user types: a name, or tenant/name.
func parseName(text string) (junctor.TenantID, string) {
	tenant, name, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok {
		tenant, name = "", tenant
	}
	return junctor.TenantID(cmp.Or(tenant, string(junctor.DefaultTenant))), name
}

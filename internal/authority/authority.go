// Package authority lets programs act for people who consent: it is the OAuth
// 2.1 authorization server of an instance, for its own MCP doors and nothing
// else. It stands beside signin, which shows people the question and brings the
// answer back, and before bearer, which asks it at the doors whose a token is.
// Which user somebody is it has from identity; consents and the hashes of tokens
// are kept in store; the documents of programs it fetches with a client that app
// gives it.
//
// A program is known by the address of a document about it, or registers itself.
// It gets a code for one door, by PKCE, and for the code an access token and a
// refresh token, which is good once: a second use ends all that came of the code.
package authority

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Sealer keeps what a browser holds for us from being read or changed.
type Sealer interface {
	Seal(purpose string, plaintext []byte) string
	Open(purpose, text string) ([]byte, error)
}

// Scope is what a scope of tokens is called by clients, and is here.
type Scope struct {
	Name  string
	Means junctor.Scope
}

// Options are the parts that an Authority stands on. All but Pool, Ended, Now and
// Log are needed.
type Options struct {
	Identity *identity.Identity
	Store    *store.Store
	Sealer   Sealer
	URL      func() string // where clients reach the instance: the issuer
	Scopes   []Scope       // that tokens can carry
	Client   *http.Client  // the way to the documents of programs
	// Address is where a request comes from.
	Address func(*http.Request) netip.Addr
	// Pool is where requests are counted together with other replicas; nil where
	// they are not.
	Pool limit.Pool
	// Ended is told that tokens for a consent are not good any more.
	Ended func(ctx context.Context, tenant junctor.TenantID, consent string) error
	Now   func() time.Time
	Log   *slog.Logger
}

// Authority issues tokens. It is safe for concurrent use.
type Authority struct {
	o         Options
	most      []junctor.Scope
	tries     *limit.Counter
	documents documents
}

// New checks the options.
func New(o Options) (*Authority, error) {
	if o.Identity == nil || o.Store == nil || o.Sealer == nil || o.URL == nil || len(o.Scopes) == 0 || o.Client == nil || o.Address == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "issuing tokens needs Identity, Store, Sealer, URL, Scopes, Client and Address")
	}
	if o.Ended == nil {
		o.Ended = func(context.Context, junctor.TenantID, string) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.URL = sync.OnceValue(o.URL) // asked when the first request has come
	a := &Authority{o: o, tries: limit.NewCounter(o.Pool)}
	for _, s := range o.Scopes {
		a.most = append(a.most, s.Means)
	}
	// An address that leads elsewhere says nothing about who is there.
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.documents.client = &client
	return a, nil
}

// Issuer is what the authority calls itself.
func (a *Authority) Issuer() string { return a.o.URL() }

// Paths of the endpoints. The page is signin's.
const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	AuthorizePath = "/oauth/authorize"
	tokenPath     = "/oauth/token" //nolint:gosec // a path, and no credential
	registerPath  = "/oauth/register"
	revokePath    = "/oauth/revoke"
)

// Mux is what the endpoints are registered on.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes puts the endpoints into a mux. They are open, as their standards want
// it: what they give is given for a code, a token, or to everybody.
func (a *Authority) Routes(mux Mux) {
	mux.HandleFunc("GET "+metadataPath, a.describe)
	mux.HandleFunc("POST "+tokenPath, a.token)
	mux.HandleFunc("POST "+registerPath, a.register)
	mux.HandleFunc("POST "+revokePath, a.revoke)
}

// describe says what there is (RFC 8414).
func (a *Authority) describe(w http.ResponseWriter, _ *http.Request) {
	names := make([]string, len(a.o.Scopes))
	for i, s := range a.o.Scopes {
		names[i] = s.Name
	}
	base := a.Issuer()
	answer(w, http.StatusOK, map[string]any{
		"issuer":                                         base,
		"authorization_endpoint":                         base + AuthorizePath,
		"token_endpoint":                                 base + tokenPath,
		"registration_endpoint":                          base + registerPath,
		"revocation_endpoint":                            base + revokePath,
		"scopes_supported":                               names,
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{authNone},
		"revocation_endpoint_auth_methods_supported":     []string{authNone},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
	})
}

// door says whether an address is that of one of the MCP doors.
func (a *Authority) door(resource string) bool {
	path, ours := strings.CutPrefix(resource, a.Issuer()+"/mcp")
	if !ours {
		return false
	}
	for _, prefix := range []string{"/s/", "/a/"} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			return name != "" && len(name) <= 100 && !strings.ContainsAny(name, "/?#%\\ ")
		}
	}
	return path == ""
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that went away needs no answer
}

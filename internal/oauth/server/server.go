// Package server is the OAuth 2.1 authorization server of an instance. It issues
// tokens to programs that act for users who consent, for the MCP endpoints of this
// instance and nothing else.
//
// A program is identified by the URL of its client metadata document, or registers
// itself. It gets an authorization code for one endpoint, with PKCE, and exchanges
// it for an access token and a refresh token. A refresh token works once. A second
// use of a code or refresh token ends all tokens that came of the code.
//
// Its neighbours: app creates the Server and mounts its routes. signin shows the
// consent page, calls PromptConsent and AnswerConsent, and authenticates the
// person. oauth/resource calls LookupToken when a token arrives at an MCP endpoint.
// Consents and the hashes of tokens are in store; tokens themselves are stored
// nowhere.
//
// Read server.go, then authorization_request.go and consent.go (the authorization
// endpoint), token.go (the token endpoint), access_token.go and revoke.go.
// client.go and register.go identify programs, and redirect.go judges redirect
// addresses.
package server

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

// Scope maps the name of an OAuth scope to a scope of Junctor.
type Scope struct {
	Name  string
	Scope junctor.Scope
}

// Options are the dependencies of a Server. All are required except Pool,
// OnTokensEnded, Now and Log.
type Options struct {
	Identity *identity.Identity
	Store    *store.Store
	Sealer   junctor.Sealer
	URL      func() string // base URL of the instance, which is also the issuer
	Scopes   []Scope       // that tokens can have
	Client   *http.Client  // fetches client metadata documents; egress judges their addresses
	// Address returns the client address of a request, for rate limits.
	Address func(*http.Request) netip.Addr
	// Pool shares rate limits with other replicas; nil counts on this replica
	// alone.
	Pool limit.Pool
	// OnTokensEnded is called when tokens of a consent have ended before their
	// time. It must end what they opened, such as sessions and cached
	// verifications.
	OnTokensEnded func(ctx context.Context, tenant junctor.TenantID, consent string) error
	Now           func() time.Time
	Log           *slog.Logger
}

// Server issues tokens. It is safe for concurrent use.
type Server struct {
	options     Options
	allScopes   []junctor.Scope
	rateLimiter *limit.SharedRateLimiter
	documents   documentCache
}

// New returns a Server, or an error if a required option is missing.
func New(o Options) (*Server, error) {
	if o.Identity == nil || o.Store == nil || o.Sealer == nil || o.URL == nil || len(o.Scopes) == 0 || o.Client == nil || o.Address == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "server: Identity, Store, Sealer, URL, Scopes, Client and Address are required")
	}
	if o.OnTokensEnded == nil {
		o.OnTokensEnded = func(context.Context, junctor.TenantID, string) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.URL = sync.OnceValue(o.URL) // called with the first request, when the address is known
	srv := &Server{options: o, rateLimiter: limit.NewSharedRateLimiter(o.Pool)}
	for _, s := range o.Scopes {
		srv.allScopes = append(srv.allScopes, s.Scope)
	}
	// Redirects are not followed: an address that redirects elsewhere does not
	// identify the program at the target.
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	srv.documents.client = &client
	return srv, nil
}

// Issuer returns the issuer identifier, which is the base URL of the instance.
func (srv *Server) Issuer() string { return srv.options.URL() }

// Paths of the endpoints. signin serves AuthorizePath.
const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	AuthorizePath = "/oauth/authorize"
	tokenPath     = "/oauth/token" //nolint:gosec // a path, and no credential
	registerPath  = "/oauth/register"
	revokePath    = "/oauth/revoke"
)

// Routes mounts the endpoints except AuthorizePath. They need no authentication, as
// their standards require: a code or token in the request is the authorization.
func (srv *Server) Routes(mux junctor.Mux) {
	mux.HandleFunc("GET "+metadataPath, srv.serveMetadata)
	mux.HandleFunc("POST "+tokenPath, srv.serveToken)
	mux.HandleFunc("POST "+registerPath, srv.serveRegister)
	mux.HandleFunc("POST "+revokePath, srv.serveRevoke)
}

// serveMetadata serves the authorization server metadata (RFC 8414).
func (srv *Server) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	names := make([]string, len(srv.options.Scopes))
	for i, s := range srv.options.Scopes {
		names[i] = s.Name
	}
	base := srv.Issuer()
	writeJSON(w, http.StatusOK, map[string]any{
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

// isMCPEndpoint reports whether a resource is the address of an MCP endpoint of
// this instance: all servers, one server, or one agent. It does not check whether
// the server or agent exists, so that the answer does not reveal it.
func (srv *Server) isMCPEndpoint(resource string) bool {
	path, ours := strings.CutPrefix(resource, srv.Issuer()+"/mcp")
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

// writeJSON writes a response that must not be cached.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that went away needs no answer
}

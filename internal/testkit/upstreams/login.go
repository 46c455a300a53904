package upstreams

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Guarded is an MCP server that people log in to, and its authorization server:
// PKCE, registration, rotating refresh tokens, revocation, and the faults that a
// test wants.
type Guarded struct {
	URL    string // of the MCP endpoint
	Issuer string

	Registrations, Codes, Refreshes, Revocations, Calls, Refusals, Handshakes atomic.Int64

	mu      sync.Mutex
	life    time.Duration
	codes   map[string]code
	tokens  map[string]grant // access tokens
	renew   map[string]grant // refresh tokens
	broken  map[string]http.HandlerFunc
	secrets []string
	vouched map[string]string // what others say of a user, by the token that says it
}

type code struct {
	user, challenge, redirect, client, resource, scope string
	expires                                            time.Time
}

type grant struct {
	user, client, resource, scope string
	expires                       time.Time
	family                        string
}

// NewGuarded serves on loopback until the test ends. Its tool whoami says who is
// logged in, and admin wants the scope admin.
func NewGuarded(t testing.TB, way Way) *Guarded {
	t.Helper()
	g := &Guarded{life: time.Hour, codes: map[string]code{}, tokens: map[string]grant{}, renew: map[string]grant{}, broken: map[string]http.HandlerFunc{}}
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		fault := g.broken[r.URL.Path]
		g.mu.Unlock()
		if fault != nil {
			fault(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end by themselves
		server.Close()
	})
	g.Issuer, g.URL = server.URL, server.URL+"/mcp"
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", g.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", g.metadata)
	mux.HandleFunc("POST /register", g.register)
	mux.HandleFunc("GET /authorize", g.authorize)
	mux.HandleFunc("POST /token", g.token)
	mux.HandleFunc("POST /revoke", g.revoke)
	mux.HandleFunc("POST /idp/token", g.provider)
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		g.Calls.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Extra.TokenInfo.UserID}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "admin"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: way == Modern, JSONResponse: true})
	mux.Handle("/mcp", g.guard(auth.RequireBearerToken(g.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: g.Issuer + "/.well-known/oauth-protected-resource/mcp"})(handler)))
	return g
}

// guard refuses the tool admin without its scope, and counts refusals.
func (g *Guarded) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		held, ok := g.tokens[token]
		g.mu.Unlock()
		if !ok || time.Now().After(held.expires) {
			g.Refusals.Add(1)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if ok && strings.Contains(string(body), `"initialize"`) {
			g.Handshakes.Add(1)
		}
		if ok && strings.Contains(string(body), `"tools/call"`) && strings.Contains(string(body), `"admin"`) && !strings.Contains(held.scope, "admin") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="admin", resource_metadata="`+g.Issuer+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// Life sets how long the access tokens are good for that are given from now on.
func (g *Guarded) Life(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.life = d
}

// Break has a path answered by h; nil mends it.
func (g *Guarded) Break(path string, h http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken[path] = h
}

// ExpireAll ends every access token.
func (g *Guarded) ExpireAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t, held := range g.tokens {
		held.expires = time.Now().Add(-time.Second)
		g.tokens[t] = held
	}
}

// EndAll ends every login.
func (g *Guarded) EndAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.tokens)
	clear(g.renew)
}

// Secrets is everything that was given out and must not show anywhere.
func (g *Guarded) Secrets() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.secrets...)
}

// Browse logs in as a person with a browser does, who agrees to everything. It
// gives the address that the browser is sent to.
func (g *Guarded) Browse(t testing.TB, address, user string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("as", user)
	u.RawQuery = q.Encode()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("the authorization server answered %d and sends nobody anywhere", resp.StatusCode)
	}
	return to
}

func (g *Guarded) resource(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"resource": g.URL, "authorization_servers": []string{g.Issuer}, "scopes_supported": []string{"read"}})
}

func (g *Guarded) metadata(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, g.Metadata())
}

// Metadata is what the authorization server says of itself.
func (g *Guarded) Metadata() map[string]any {
	return map[string]any{
		"issuer": g.Issuer, "authorization_endpoint": g.Issuer + "/authorize", "token_endpoint": g.Issuer + "/token", "registration_endpoint": g.Issuer + "/register",
		"revocation_endpoint": g.Issuer + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"grant_types_supported": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
}

func (g *Guarded) register(w http.ResponseWriter, r *http.Request) {
	g.Registrations.Add(1)
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	in["client_id"] = "client-" + rand.Text()
	reply(w, http.StatusCreated, in)
}

func (g *Guarded) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c := code{
		user: q.Get("as"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri"), client: q.Get("client_id"), resource: q.Get("resource"), scope: q.Get("scope"),
		expires: time.Now().Add(time.Minute),
	}
	if c.challenge == "" || q.Get("code_challenge_method") != "S256" || c.resource != g.URL || q.Get("state") == "" {
		http.Error(w, "a parameter is missing or wrong", http.StatusBadRequest)
		return
	}
	text := "code-" + rand.Text()
	g.mu.Lock()
	g.codes[text] = c
	g.secrets = append(g.secrets, text)
	g.mu.Unlock()
	to := c.redirect + "?" + url.Values{"code": {text}, "state": {q.Get("state")}, "iss": {g.Issuer}}.Encode()
	http.Redirect(w, r, to, http.StatusFound)
}

func (g *Guarded) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	refuse := func(err string) { reply(w, http.StatusBadRequest, map[string]string{"error": err}) }
	if r.PostForm.Get("resource") != g.URL {
		refuse("invalid_target")
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var held grant
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		g.Codes.Add(1)
		c, ok := g.codes[r.PostForm.Get("code")]
		delete(g.codes, r.PostForm.Get("code"))
		verifier := r.PostForm.Get("code_verifier")
		g.secrets = append(g.secrets, verifier)
		sum := sha256.Sum256([]byte(verifier))
		if !ok || time.Now().After(c.expires) || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge || c.redirect != r.PostForm.Get("redirect_uri") || c.client != r.PostForm.Get("client_id") {
			refuse("invalid_grant")
			return
		}
		held = grant{user: c.user, client: c.client, resource: c.resource, scope: c.scope, family: rand.Text()}
	case "refresh_token":
		g.Refreshes.Add(1)
		var ok bool
		held, ok = g.renew[r.PostForm.Get("refresh_token")]
		if !ok || held.client != r.PostForm.Get("client_id") {
			refuse("invalid_grant")
			return
		}
		delete(g.renew, r.PostForm.Get("refresh_token")) // each is good once
	default:
		user, refusal := g.granted(r)
		if refusal != "" {
			refuse(refusal)
			return
		}
		held = grant{user: user, client: r.PostForm.Get("client_id"), resource: g.URL, scope: r.PostForm.Get("scope"), family: rand.Text()}
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	g.secrets = append(g.secrets, access, refresh)
	held.expires = time.Now().Add(g.life)
	g.tokens[access], g.renew[refresh] = held, held
	reply(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "refresh_token": refresh, "expires_in": int(g.life.Seconds()), "scope": held.scope})
}

func (g *Guarded) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	g.Revocations.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tokens, r.PostForm.Get("token"))
	delete(g.renew, r.PostForm.Get("token"))
	w.WriteHeader(http.StatusOK)
}

func (g *Guarded) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held, ok := g.tokens[token]
	if !ok || time.Now().After(held.expires) {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: held.user, Scopes: strings.Fields(held.scope), Expiration: held.expires}, nil
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Package oauthserver is an OAuth 2.1 authorization server for tests: metadata of
// both kinds, registration of clients, authorization codes with PKCE whose
// person always consents, refresh tokens that are good once (and, as with many such
// servers, again at once: a client's stream and its call may both renew), and access
// tokens that are really signed. Only tests import it.
package oauthserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Server is one such server. Its methods may be called at any time.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	key      *ecdsa.PrivateKey
	kid      string
	keys     []jose.JSONWebKey
	person   map[string]any
	lifetime time.Duration
	grant    func(asked string) string
	clients  map[string][]string // redirect addresses, by client
	codes    map[string]flow
	refresh  map[string]flow
	issued   []string
	asked    []string // paths, in order
	hidden   map[string]bool
}

// flow is what a client has asked for.
type flow struct {
	client, redirect, challenge, resource, scope string
	renewed                                      time.Time // when its refresh token was used first
}

const reuse = 10 * time.Second // of a refresh token

// Start starts one that vouches for ann@example.com. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	a := &Server{
		person:   map[string]any{"sub": "ann-1", "email": "ann@example.com", "email_verified": true},
		lifetime: time.Hour, grant: func(asked string) string { return asked },
		clients: map[string][]string{}, codes: map[string]flow{}, refresh: map[string]flow{}, hidden: map[string]bool{},
	}
	if err := a.Rotate(); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", a.metadata)
	mux.HandleFunc("GET /.well-known/openid-configuration", a.metadata)
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: a.keys})
	})
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked = append(a.asked, r.URL.Path)
		hidden := a.hidden[r.URL.Path]
		a.mu.Unlock()
		if hidden {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// Person changes what is said of the next person.
func (a *Server) Person(claims map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.person = claims
}

// Lifetime changes how long tokens are good from now on; less than nothing makes
// expired ones.
func (a *Server) Lifetime(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lifetime = d
}

// Grant changes which scopes a client gets of those it asks for.
func (a *Server) Grant(f func(asked string) string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grant = f
}

// Hide makes paths answer 404, or no longer.
func (a *Server) Hide(hidden bool, paths ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, path := range paths {
		a.hidden[path] = hidden
	}
}

// CountRequests counts the requests for a path.
func (a *Server) CountRequests(path string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.asked {
		if p == path {
			n++
		}
	}
	return n
}

// Issued lists all access tokens so far.
func (a *Server) Issued() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.issued)
}

// Rotate makes a new key, the only one from now on.
func (a *Server) Rotate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.key, a.kid = key, rand.Text()
	a.keys = []jose.JSONWebKey{{Key: key.Public(), KeyID: a.kid, Algorithm: "ES256", Use: "sig"}}
	return nil
}

// Claims are those of an access token of the person for an audience.
func (a *Server) Claims(audience, scope string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.claims(audience, scope)
}

func (a *Server) claims(audience, scope string) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": a.URL, "aud": audience, "scope": scope, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(a.lifetime).Unix(),
		"jti": rand.Text(), "client_id": "any",
	}
	maps.Copy(c, a.person)
	return c
}

// Sign makes an access token of claims. Header members are on top of the usual
// ones.
func (a *Server) Sign(claims map[string]any, header map[string]any) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sign(claims, header)
}

func (a *Server) sign(claims map[string]any, header map[string]any) (string, error) {
	o := (&jose.SignerOptions{}).WithHeader("kid", a.kid).WithType("at+jwt")
	for name, value := range header {
		o.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: a.key}, o)
	if err != nil {
		return "", err
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	a.issued = append(a.issued, text)
	return text, err
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "jwks_uri": a.URL + "/jwks",
		"registration_endpoint": a.URL + "/register", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"grant_types_supported": []string{"authorization_code", "refresh_token"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "id_token_signing_alg_values_supported": []string{"ES256"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (a *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked map[string]any
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	var redirects []string
	list, _ := asked["redirect_uris"].([]any)
	for _, uri := range list {
		if text, ok := uri.(string); ok {
			redirects = append(redirects, text)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id := rand.Text()
	a.clients[id] = redirects
	asked["client_id"], asked["token_endpoint_auth_method"] = id, "none"
	answer(w, http.StatusCreated, asked)
}

func (a *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := flow{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"), scope: q.Get("scope")}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || f.challenge == "" || f.resource == "" || !slices.Contains(a.clients[f.client], f.redirect) {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	code := rand.Text()
	a.codes[code] = f
	back := url.Values{"code": {code}, "iss": {a.URL}}
	if state := q.Get("state"); state != "" {
		back.Set("state", state)
	}
	http.Redirect(w, r, f.redirect+"?"+back.Encode(), http.StatusFound)
}

func (a *Server) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var f flow
	var ok bool
	switch r.FormValue("grant_type") {
	case "authorization_code":
		f, ok = a.codes[r.FormValue("code")]
		delete(a.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		ok = ok && f.redirect == r.FormValue("redirect_uri") && f.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		token := r.FormValue("refresh_token")
		if f, ok = a.refresh[token]; ok {
			if f.renewed.IsZero() {
				f.renewed = time.Now()
				a.refresh[token] = f
			}
			ok = time.Since(f.renewed) < reuse
			f.renewed = time.Time{}
		}
	}
	// Every request says for which resource it is (RFC 8707), and stays with it.
	if !ok || f.client != r.FormValue("client_id") || f.resource != r.FormValue("resource") {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	scope := strings.TrimSpace(a.grant(f.scope))
	text, err := a.sign(a.claims(f.resource, scope), nil)
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]any{"error": "server_error"})
		return
	}
	again := rand.Text()
	a.refresh[again] = f
	answer(w, http.StatusOK, map[string]any{
		"access_token": text, "token_type": "Bearer", "expires_in": int(a.lifetime / time.Second), "refresh_token": again, "scope": scope,
	})
}

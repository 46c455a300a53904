package signin_test

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

const (
	clientID     = "junctor"
	clientSecret = "canary-of-the-client-secret"
)

// idp is an OpenID Connect provider: discovery, authorization with PKCE, token
// and userinfo endpoints, and keys that really sign.
type idp struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu       sync.Mutex
	person   map[string]any                // what it says of who signs in next, in the ID token
	userinfo map[string]any                // and elsewhere
	bend     func(map[string]any)          // spoils an ID token
	sign     func(header, body any) string // in place of signing with key
	query    func(url.Values)              // spoils what goes back
	codes    map[string]grant
	seen     []string // codes, verifiers and tokens
	down     bool
	tokenAt  string // where its token endpoint is said to be; "" is here
}

type grant struct{ challenge, redirect, nonce string }

func newIDP(t *testing.T) *idp {
	t.Helper()
	p := &idp{key: newKey(t), codes: map[string]grant{}, person: ann()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /jwks", p.jwks)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		answer(w, p.userinfo)
	})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		down := p.down
		p.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// ann is somebody.
func ann() map[string]any {
	return map[string]any{"sub": "1", "email": "Ann@Example.com", "email_verified": true}
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *idp) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	at := cmp.Or(p.tokenAt, p.URL+"/token")
	p.mu.Unlock()
	answer(w, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": at, "jwks_uri": p.URL + "/jwks",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
		"authorization_response_iss_parameter_supported": true, "code_challenge_methods_supported": []string{"S256"},
	})
}

var b64 = base64.RawURLEncoding

func (p *idp) jwks(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1",
		"n": b64.EncodeToString(p.key.N.Bytes()), "e": b64.EncodeToString(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

func (p *idp) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := "code-" + rand.Text()
	p.codes[code] = grant{q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("nonce")}
	p.seen = append(p.seen, code)
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
	if p.query != nil {
		p.query(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	code, verifier := r.FormValue("code"), r.FormValue("code_verifier")
	g, ok := p.codes[code]
	delete(p.codes, code)
	sum := sha256.Sum256([]byte(verifier))
	if id != clientID || secret != clientSecret || !ok || g.redirect != r.FormValue("redirect_uri") || b64.EncodeToString(sum[:]) != g.challenge {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": "invalid_grant", "error_description": "sent " + code + " " + verifier})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": clientID, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": g.nonce}
	maps.Copy(claims, p.person)
	if p.bend != nil {
		p.bend(claims)
	}
	raw := p.signed(map[string]any{"alg": "RS256", "kid": "k1"}, claims)
	if p.sign != nil {
		raw = p.sign(map[string]any{"alg": "RS256", "kid": "k1"}, claims)
	}
	access := "access-" + rand.Text()
	p.seen = append(p.seen, verifier, raw, access)
	answer(w, map[string]any{"access_token": access, "token_type": "Bearer", "id_token": raw})
}

func (p *idp) signed(header, claims any) string {
	return signWith(p.key, header, claims)
}

func signWith(key *rsa.PrivateKey, header, claims any) string {
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	text := b64.EncodeToString(h) + "." + b64.EncodeToString(c)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(fmt.Sprint("signing: ", err))
	}
	return text + "." + b64.EncodeToString(sig)
}

// set changes what the provider does next.
func (p *idp) set(change func(*idp)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

package upstreams

import (
	"crypto/rand"
	"net/http"
	"strings"
)

const (
	jwtBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	idJAG         = "urn:ietf:params:oauth:token-type:id-jag"
)

// Vouch gives a token of somebody else's that stands for a user: the server takes
// it as an assertion or in exchange, and its identity provider as an identity
// token.
func (g *Guarded) Vouch(user string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vouch(user)
}

// vouch is Vouch with mu held.
func (g *Guarded) vouch(user string) string {
	if g.vouched == nil {
		g.vouched = map[string]string{}
	}
	text := "vouched-" + rand.Text()
	g.vouched[text] = user
	g.secrets = append(g.secrets, text)
	return text
}

// Distrust has nothing taken any more that was given with Vouch.
func (g *Guarded) Distrust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.vouched)
}

// granted says for whom a token is that no person asks for; mu is held.
func (g *Guarded) granted(r *http.Request) (user, refusal string) {
	f := r.PostForm
	switch f.Get("grant_type") {
	case jwtBearer:
		user = g.vouched[f.Get("assertion")]
	case tokenExchange:
		if !strings.HasPrefix(f.Get("subject_token_type"), "urn:ietf:params:oauth:token-type:") {
			return "", "invalid_request"
		}
		user = g.vouched[f.Get("subject_token")]
	default:
		return "", "unsupported_grant_type"
	}
	if user == "" {
		return "", "invalid_grant"
	}
	return user, ""
}

// provider is an identity provider that vouches for its people at the
// authorization server.
func (g *Guarded) provider(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	id, secret, _ := r.BasicAuth()
	f := r.PostForm
	g.mu.Lock()
	defer g.mu.Unlock()
	user := g.vouched[f.Get("subject_token")]
	switch {
	case id != "idp-client" || secret != "idp-secret":
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
	case f.Get("grant_type") != tokenExchange || f.Get("requested_token_type") != idJAG || f.Get("audience") != g.Issuer || f.Get("resource") != g.URL:
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_request"})
	case user == "":
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
	default:
		reply(w, http.StatusOK, map[string]any{"access_token": g.vouch(user), "issued_token_type": idJAG, "token_type": "N_A", "expires_in": 300})
	}
}

package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Prefixes of codes and tokens. They let secret scanners and people recognise a
// leaked one.
const (
	codePrefix    = "jcc_"
	accessPrefix  = "jca_"
	refreshPrefix = "jcr_"
)

// Lifetimes of tokens.
const (
	accessLife  = time.Hour
	refreshLife = 30 * 24 * time.Hour // since its last use
	// During reuseWindow, the second use of a refresh token gets the same response
	// again: the first response may have been lost, or two threads of a program
	// refreshed at once.
	reuseWindow = 10 * time.Second
)

// Bounds of requests.
const (
	maxFormBytes   = 16 << 10
	maxTokenLength = 200
)

// newID returns an id with 80 random bits.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// newSecret returns 32 random bytes in base 62.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process first
	return encodeBase62(b[:])
}

// encodeBase62 encodes 32 bytes as 43 letters and digits, which survive shells,
// headers and a double click.
func encodeBase62(b []byte) string {
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", 43-len(text)) + text
}

// hashToken returns the form in which codes and tokens are stored. They are random,
// so a plain hash is enough.
func hashToken(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// deriveToken returns the token that follows a code or refresh token. It takes both
// the text that the program holds and the salt that the store holds, so neither
// alone reveals it. The same input gives the same token, which allows repeating a
// response without storing tokens.
func deriveToken(mark, before string, salt []byte) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(mark + before))
	return mark + encodeBase62(mac.Sum(nil))
}

// parseForm reads the form of a request. Parameters in the query of the URL are
// ignored, since URLs are logged.
func parseForm(w http.ResponseWriter, r *http.Request) (url.Values, *oauthError) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return nil, newOAuthError("invalid_request", "the request body must be a form, sent as application/x-www-form-urlencoded")
	}
	return r.PostForm, nil
}

// tokenRequest is a request at the token endpoint.
type tokenRequest struct {
	grant, client, code, verifier, redirect, refresh, resource, scope string
}

// parseTokenRequest reads a token request and checks that all parameters of its
// grant type are there.
func parseTokenRequest(v url.Values) (*tokenRequest, *oauthError) {
	var req tokenRequest
	if bad := readParameters(v, map[string]*string{
		"grant_type": &req.grant, "client_id": &req.client, "code": &req.code, "code_verifier": &req.verifier, "redirect_uri": &req.redirect,
		"refresh_token": &req.refresh, "resource": &req.resource, "scope": &req.scope,
	}); bad != nil {
		return nil, bad
	}
	missing := func(name string) (*tokenRequest, *oauthError) {
		return nil, newOAuthError("invalid_request", name+" is missing")
	}
	switch {
	case req.grant == "":
		return missing("grant_type")
	case req.grant != "authorization_code" && req.grant != "refresh_token":
		return nil, newOAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
	case req.client == "":
		return missing("client_id")
	case req.grant == "refresh_token" && req.refresh == "":
		return missing("refresh_token")
	case req.grant == "refresh_token":
		return &req, nil
	case req.code == "":
		return missing("code")
	case req.verifier == "":
		return missing("code_verifier")
	case req.redirect == "":
		return missing("redirect_uri")
	}
	return &req, nil
}

// serveToken exchanges a code or a refresh token for tokens.
func (srv *Server) serveToken(w http.ResponseWriter, r *http.Request) {
	if !srv.allowRequest(w, r, "tokens", tokenRate()) {
		return
	}
	v, oerr := parseForm(w, r)
	var req *tokenRequest
	if oerr == nil {
		req, oerr = parseTokenRequest(v)
	}
	if oerr != nil {
		writeOAuthError(w, oerr)
		return
	}
	issued, err := srv.issueTokens(r.Context(), req)
	switch oerr, isFault := err.(*oauthError); { //nolint:errorlint // made in this package, and not wrapped
	case isFault:
		writeOAuthError(w, oerr)
	case err != nil:
		srv.writeInternalError(w, r, err)
	default:
		writeJSON(w, http.StatusOK, issued)
	}
}

// tokenResponse is the response of the token endpoint (RFC 6749, 5.1).
type tokenResponse struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Seconds int64  `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// invalidGrant returns an OAuth error with the code invalid_grant.
func invalidGrant(text string) error { return newOAuthError("invalid_grant", text) }

// issueTokens issues tokens for a code or refresh token. The error is an
// *oauthError if the request is invalid, else a failure of the store.
//
// The store marks the code or token as used and adds the new tokens in one
// transaction. If two requests arrive at once, one of them is first, and the other
// is answered as a reuse.
func (srv *Server) issueTokens(ctx context.Context, req *tokenRequest) (*tokenResponse, error) {
	text, kind, name := req.code, store.TokenCode, "code"
	if req.grant == "refresh_token" {
		text, kind, name = req.refresh, store.TokenRefresh, "refresh token"
	}
	if len(text) > maxTokenLength {
		return nil, invalidGrant("this " + name + " is not valid")
	}
	t, c, err := srv.options.Store.ConsentToken(ctx, hashToken(text))
	now := srv.options.Now()
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && (t.Kind != kind || !now.Before(t.ExpiresAt)):
		return nil, invalidGrant("this " + name + " is not valid: it has expired, or was revoked")
	case err != nil:
		return nil, err
	}
	if !t.UsedAt.IsZero() {
		return srv.answerReuse(ctx, req, text, &t, &c)
	}
	if err := srv.checkTokenRequest(ctx, req, &t, &c, now); err != nil {
		if _, bad := err.(*oauthError); bad && kind == store.TokenCode { //nolint:errorlint // made in this package
			// A code gets one try, so that a verifier cannot be guessed.
			if _, burnt := srv.options.Store.For(c.Tenant).UseToken(ctx, t, nil, now); burnt != nil {
				return nil, burnt
			}
		}
		return nil, err
	}
	scopes := t.Scopes
	if req.scope != "" && kind == store.TokenRefresh {
		asked, bad := srv.parseScopes(req.scope)
		if bad != nil || !coversScopes(scopes, asked) {
			return nil, newOAuthError("invalid_scope", "a refreshed token cannot have more scopes than "+srv.scopeNames(scopes))
		}
		scopes = asked
	}
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // never fails: it ends the process first
	g := srv.buildTokens(text, salt, scopes, accessLife)
	next := store.ConsentToken{Kind: store.TokenAccess, Hash: hashToken(g.Access), Consent: c.ID, Family: t.Family, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(accessLife)}
	again := next
	again.Kind, again.Hash, again.Scopes, again.ExpiresAt = store.TokenRefresh, hashToken(g.Refresh), t.Scopes, now.Add(refreshLife)
	first, err := srv.options.Store.For(c.Tenant).UseToken(ctx, t, salt, now, next, again)
	if err != nil || first {
		return g, err
	}
	if t, c, err = srv.options.Store.ConsentToken(ctx, t.Hash); err != nil {
		return nil, invalidGrant("this " + name + " has ended")
	}
	return srv.answerReuse(ctx, req, text, &t, &c)
}

// checkTokenRequest checks that a request comes from the program to which the code
// or token was given, that a code has not expired and its PKCE verifier matches,
// and that the user may still sign in. A refused request is an *oauthError.
func (srv *Server) checkTokenRequest(ctx context.Context, req *tokenRequest, t *store.ConsentToken, c *junctor.Consent, now time.Time) error {
	sum := sha256.Sum256([]byte(req.verifier))
	switch {
	case req.client != c.Client:
		return invalidGrant("this was issued to another client")
	case req.resource != "" && req.resource != c.Resource:
		return newOAuthError("invalid_target", "this was issued for "+c.Resource)
	case t.Kind != store.TokenCode:
	case !now.Before(t.CreatedAt.Add(codeLife)):
		return invalidGrant("this code has expired")
	case req.redirect != t.Redirect:
		return invalidGrant("redirect_uri differs from the one of the authorization request")
	case !isVerifier(req.verifier) || subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(t.Challenge)) != 1:
		return invalidGrant("code_verifier does not match code_challenge")
	}
	u, err := srv.options.Store.For(c.Tenant).User(ctx, c.User)
	if junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && u.Disabled {
		return invalidGrant("the user who consented no longer has access")
	}
	return err
}

// isVerifier reports whether a text has the form of a PKCE verifier (RFC 7636,
// 4.1).
func isVerifier(text string) bool {
	return len(text) >= 43 && len(text) <= 128 && isURLSafe(strings.NewReplacer(".", "", "~", "").Replace(text))
}

// answerReuse answers the second use of a code or token. Within reuseWindow, a
// refresh token gets its former response again, unless the program already used the
// new refresh token. Any other reuse means that the code or token was stolen, and
// all tokens of its family end.
func (srv *Server) answerReuse(ctx context.Context, req *tokenRequest, text string, t *store.ConsentToken, c *junctor.Consent) (*tokenResponse, error) {
	if req.client != c.Client {
		return nil, invalidGrant("this was issued to another client")
	}
	if now := srv.options.Now(); t.Kind == store.TokenRefresh && len(t.Salt) > 0 && now.Before(t.UsedAt.Add(reuseWindow)) {
		g := srv.buildTokens(text, t.Salt, t.Scopes, 0)
		followed, _, err := srv.options.Store.ConsentToken(ctx, hashToken(g.Refresh))
		access, _, gone := srv.options.Store.ConsentToken(ctx, hashToken(g.Access))
		if err == nil && gone == nil && followed.UsedAt.IsZero() {
			g.Scope, g.Seconds = srv.scopeNames(access.Scopes), int64(access.ExpiresAt.Sub(now)/time.Second)
			return g, nil
		}
	}
	srv.options.Log.LogAttrs(ctx, slog.LevelWarn, "OAuth code or token was used twice: all tokens of its consent are revoked", slog.String("tenant", string(c.Tenant)),
		slog.String("user", c.User), slog.String("client", c.Client), slog.String("consent", c.ID), slog.String("what", string(t.Kind)))
	if err := srv.endFamily(ctx, c, t.Family); err != nil {
		return nil, err
	}
	return nil, invalidGrant("this was used before; all tokens from it are revoked")
}

// endFamily ends all tokens that came of one code.
func (srv *Server) endFamily(ctx context.Context, c *junctor.Consent, family string) error {
	ctx = context.WithoutCancel(ctx) // both parts have to happen, even if the client disconnects
	if err := srv.options.Store.For(c.Tenant).EndFamily(ctx, family); err != nil {
		return err
	}
	return srv.options.OnTokensEnded(ctx, c.Tenant, c.ID)
}

// buildTokens returns the response with the tokens that follow before.
func (srv *Server) buildTokens(before string, salt []byte, scopes []junctor.Scope, life time.Duration) *tokenResponse {
	return &tokenResponse{
		Access: deriveToken(accessPrefix, before, salt), Refresh: deriveToken(refreshPrefix, before, salt), Type: "Bearer",
		Seconds: int64(life / time.Second), Scope: srv.scopeNames(slices.Clone(scopes)),
	}
}

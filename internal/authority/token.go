package authority

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

// What programs hold begins with these, so that who finds one knows what it is.
const (
	codeMark    = "jcc_"
	accessMark  = "jca_"
	refreshMark = "jcr_"
)

const (
	accessLife  = time.Hour
	refreshLife = 30 * 24 * time.Hour // without use
	// leeway is how long a refresh token that was used is answered as it was then:
	// the first answer may have been lost, or two parts of a program asked at once.
	leeway = 10 * time.Second
)

const (
	maxForm  = 16 << 10
	maxToken = 200
)

// newID makes an id with 80 random bits.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// newSecret makes 32 random bytes in base 62.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process first
	return digits(b[:])
}

// digits is 32 bytes in base 62, always 43 digits: letters and digits alone, so
// that they survive shells, headers and a double click.
func digits(b []byte) string {
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", 43-len(text)) + text
}

func hash(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// follower is the token that follows another. Both what the program holds and
// what we keep are needed to make it, so neither alone tells it, and a program
// that asks twice gets the same.
func follower(mark, before string, salt []byte) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(mark + before))
	return mark + digits(mac.Sum(nil))
}

// form reads the form that a program posts.
func form(w http.ResponseWriter, r *http.Request) (url.Values, *fault) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return nil, faultf("invalid_request", "a form is needed, sent as application/x-www-form-urlencoded")
	}
	return r.PostForm, nil
}

// wish is what a program posts to get tokens.
type wish struct {
	grant, client, code, verifier, redirect, refresh, resource, scope string
}

func readWish(v url.Values) (*wish, *fault) {
	var f wish
	if bad := read(v, map[string]*string{
		"grant_type": &f.grant, "client_id": &f.client, "code": &f.code, "code_verifier": &f.verifier, "redirect_uri": &f.redirect,
		"refresh_token": &f.refresh, "resource": &f.resource, "scope": &f.scope,
	}); bad != nil {
		return nil, bad
	}
	missing := func(name string) (*wish, *fault) {
		return nil, faultf("invalid_request", name+" is missing")
	}
	switch {
	case f.grant == "":
		return missing("grant_type")
	case f.grant != "authorization_code" && f.grant != "refresh_token":
		return nil, faultf("unsupported_grant_type", "grant_type has to be authorization_code or refresh_token")
	case f.client == "":
		return missing("client_id")
	case f.grant == "refresh_token" && f.refresh == "":
		return missing("refresh_token")
	case f.grant == "refresh_token":
		return &f, nil
	case f.code == "":
		return missing("code")
	case f.verifier == "":
		return missing("code_verifier")
	case f.redirect == "":
		return missing("redirect_uri")
	}
	return &f, nil
}

// token gives tokens for a code or a refresh token.
func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	if !a.may(w, r, "tokens", forTokens()) {
		return
	}
	v, f := form(w, r)
	var wants *wish
	if f == nil {
		wants, f = readWish(v)
	}
	if f != nil {
		refuse(w, f)
		return
	}
	given, err := a.give(r.Context(), wants)
	switch f, isFault := err.(*fault); { //nolint:errorlint // made in this package, and not wrapped
	case isFault:
		refuse(w, f)
	case err != nil:
		a.broken(w, r, err)
	default:
		answer(w, http.StatusOK, given)
	}
}

// given are the tokens that a program gets.
type given struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Seconds int64  `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

func notGood(text string) error { return faultf("invalid_grant", text) }

// give follows a wish. Errors are *fault where the program is at fault.
func (a *Authority) give(ctx context.Context, f *wish) (*given, error) {
	text, kind, name := f.code, store.TokenCode, "code"
	if f.grant == "refresh_token" {
		text, kind, name = f.refresh, store.TokenRefresh, "refresh token"
	}
	if len(text) > maxToken {
		return nil, notGood("this " + name + " is not known here")
	}
	t, c, err := a.o.Store.ConsentToken(ctx, hash(text))
	now := a.o.Now()
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && (t.Kind != kind || !now.Before(t.ExpiresAt)):
		return nil, notGood("this " + name + " is not known here: it has ended, or was revoked")
	case err != nil:
		return nil, err
	}
	if !t.UsedAt.IsZero() {
		return a.again(ctx, f, text, &t, &c)
	}
	if err := a.proper(ctx, f, &t, &c, now); err != nil {
		if _, bad := err.(*fault); bad && kind == store.TokenCode { //nolint:errorlint // made in this package
			// A code gets one try.
			if _, burnt := a.o.Store.For(c.Tenant).UseToken(ctx, t, nil, now); burnt != nil {
				return nil, burnt
			}
		}
		return nil, err
	}
	scopes := t.Scopes
	if f.scope != "" && kind == store.TokenRefresh {
		asked, bad := a.scopes(f.scope)
		if bad != nil || !covers(scopes, asked) {
			return nil, faultf("invalid_scope", "a refreshed token cannot have more scopes than "+a.names(scopes))
		}
		scopes = asked
	}
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // never fails: it ends the process first
	g := a.made(text, salt, scopes, accessLife)
	next := store.ConsentToken{Kind: store.TokenAccess, Hash: hash(g.Access), Consent: c.ID, Family: t.Family, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(accessLife)}
	again := next
	again.Kind, again.Hash, again.Scopes, again.ExpiresAt = store.TokenRefresh, hash(g.Refresh), t.Scopes, now.Add(refreshLife)
	first, err := a.o.Store.For(c.Tenant).UseToken(ctx, t, salt, now, next, again)
	if err != nil || first {
		return g, err
	}
	if t, c, err = a.o.Store.ConsentToken(ctx, t.Hash); err != nil {
		return nil, notGood("this " + name + " has ended")
	}
	return a.again(ctx, f, text, &t, &c)
}

// proper refuses a wish that is not that of the program and person whom a code
// or token was given to.
func (a *Authority) proper(ctx context.Context, f *wish, t *store.ConsentToken, c *junctor.Consent, now time.Time) error {
	sum := sha256.Sum256([]byte(f.verifier))
	switch {
	case f.client != c.Client:
		return notGood("this was given to another client")
	case f.resource != "" && f.resource != c.Resource:
		return faultf("invalid_target", "this was given for "+c.Resource)
	case t.Kind != store.TokenCode:
	case !now.Before(t.CreatedAt.Add(codeLife)):
		return notGood("this code has expired")
	case f.redirect != t.Redirect:
		return notGood("redirect_uri is not the one that the code was sent to")
	case !isVerifier(f.verifier) || subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(t.Challenge)) != 1:
		return notGood("code_verifier is not the one that the code was asked for with")
	}
	u, err := a.o.Store.For(c.Tenant).User(ctx, c.User)
	if junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && u.Disabled {
		return notGood("the person who consented is not let in any more")
	}
	return err
}

// isVerifier says whether a text can be the verifier of a code (RFC 7636).
func isVerifier(text string) bool {
	return len(text) >= 43 && len(text) <= 128 && isURLSafe(strings.NewReplacer(".", "", "~", "").Replace(text))
}

// again answers the second use of a code or token. A refresh token that was used
// a moment ago is answered as it was then. Otherwise somebody has it who should
// not, and all that came of its code ends.
func (a *Authority) again(ctx context.Context, f *wish, text string, t *store.ConsentToken, c *junctor.Consent) (*given, error) {
	if f.client != c.Client {
		return nil, notGood("this was given to another client")
	}
	if now := a.o.Now(); t.Kind == store.TokenRefresh && len(t.Salt) > 0 && now.Before(t.UsedAt.Add(leeway)) {
		g := a.made(text, t.Salt, t.Scopes, 0)
		followed, _, err := a.o.Store.ConsentToken(ctx, hash(g.Refresh))
		access, _, gone := a.o.Store.ConsentToken(ctx, hash(g.Access))
		if err == nil && gone == nil && followed.UsedAt.IsZero() {
			g.Scope, g.Seconds = a.names(access.Scopes), int64(access.ExpiresAt.Sub(now)/time.Second)
			return g, nil
		}
	}
	a.o.Log.LogAttrs(ctx, slog.LevelWarn, "a code or token of a program was used twice; all that came of it ends", slog.String("tenant", string(c.Tenant)),
		slog.String("user", c.User), slog.String("client", c.Client), slog.String("consent", c.ID), slog.String("what", string(t.Kind)))
	if err := a.end(ctx, c, t.Family); err != nil {
		return nil, err
	}
	return nil, notGood("this was used before; all that came of it has ended")
}

// end ends all that came of one code.
func (a *Authority) end(ctx context.Context, c *junctor.Consent, family string) error {
	ctx = context.WithoutCancel(ctx) // half of it would be worse than nothing
	if err := a.o.Store.For(c.Tenant).EndFamily(ctx, family); err != nil {
		return err
	}
	return a.o.Ended(ctx, c.Tenant, c.ID)
}

func (a *Authority) made(before string, salt []byte, scopes []junctor.Scope, life time.Duration) *given {
	return &given{
		Access: follower(accessMark, before, salt), Refresh: follower(refreshMark, before, salt), Type: "Bearer",
		Seconds: int64(life / time.Second), Scope: a.names(slices.Clone(scopes)),
	}
}

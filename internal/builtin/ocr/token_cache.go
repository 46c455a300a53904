package ocr

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

const (
	visionScope  = "https://www.googleapis.com/auth/cloud-vision"
	grantType    = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	tokenTimeout = 20 * time.Second
	tokenMargin  = time.Minute // a token is not used in its last minute, since it could expire in transit
	maxTokens    = 256
	maxTokenBody = 64 << 10
)

// tokenCache obtains access tokens for service accounts and caches them until
// shortly before they expire. Concurrent callers for one account share one
// exchange, which continues even if the caller that began it leaves.
type tokenCache struct {
	client *http.Client

	mu     sync.Mutex
	grants map[[sha256.Size]byte]*tokenGrant
}

// tokenGrant is one exchange with its result. The fields are set before done is
// closed, and never change after that.
type tokenGrant struct {
	done        chan struct{}
	token       seal.Secret
	usableUntil time.Time // the token must not be used after this
	err         error
}

// isPending reports whether the exchange still runs.
func (g *tokenGrant) isPending() bool {
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

// getToken returns a token for an account, from the cache if possible.
func (t *tokenCache) getToken(ctx context.Context, a *serviceAccount) (seal.Secret, error) {
	g := t.joinGrant(ctx, a)
	select {
	case <-ctx.Done():
		return seal.Secret{}, newExchangeError("the token of the service account", ctx.Err())
	case <-g.done:
		return g.token, g.err
	}
}

// joinGrant returns a grant that is valid or pending, and otherwise begins an
// exchange.
func (t *tokenCache) joinGrant(ctx context.Context, a *serviceAccount) *tokenGrant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.grants[a.digest]; g != nil && (g.isPending() || g.err == nil && time.Now().Before(g.usableUntil)) {
		return g
	}
	t.evictGrants()
	g := &tokenGrant{done: make(chan struct{})}
	t.grants[a.digest] = g
	go func() {
		// Others may wait for this exchange, so it does not end with its first
		// caller.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		defer close(g.done)
		var lasts time.Duration
		g.token, lasts, g.err = t.exchangeAssertion(ctx, a)
		g.usableUntil = time.Now().Add(lasts - tokenMargin)
	}()
	return g
}

// evictGrants makes room for one grant: it drops those that are of no use and,
// if all are valid, any.
func (t *tokenCache) evictGrants() {
	if len(t.grants) < maxTokens {
		return
	}
	for d, g := range t.grants {
		if !g.isPending() && (g.err != nil || !time.Now().Before(g.usableUntil)) {
			delete(t.grants, d)
		}
	}
	for d := range t.grants {
		if len(t.grants) < maxTokens {
			return
		}
		delete(t.grants, d)
	}
}

// dropToken removes a token that was refused, if the cache still has it.
func (t *tokenCache) dropToken(a *serviceAccount, refused seal.Secret) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.grants[a.digest]; g != nil && !g.isPending() && g.token.Equal(refused.Reveal()) {
		delete(t.grants, a.digest)
	}
}

// exchangeAssertion exchanges a signed assertion for a token, as in RFC 7523.
// It returns the lifetime of the token.
func (t *tokenCache) exchangeAssertion(ctx context.Context, a *serviceAccount) (seal.Secret, time.Duration, error) {
	assertion, err := a.signAssertion(time.Now())
	if err != nil {
		return seal.Secret{}, 0, &malformedCredentialError{err}
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {assertion}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.tokenURI, strings.NewReader(form))
	if err != nil {
		return seal.Secret{}, 0, newExchangeError("the token of the service account", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := t.client.Do(req)
	if err != nil {
		return seal.Secret{}, 0, newTokenError(err)
	}
	defer resp.Body.Close()
	body, err := readUpTo(resp.Body, maxTokenBody)
	if err != nil {
		return seal.Secret{}, 0, newTokenError(err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
	}
	readable := json.Unmarshal(body, &answer) == nil // the error is dropped, since it would quote the token
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUpstream, "Google issues no tokens at the moment (status %d): try again later", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return seal.Secret{}, 0, newRefusedAccountError(answer.Error, resp.StatusCode)
	case !readable || answer.AccessToken == "":
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUpstream, "the token_uri of the service account did not return a token: check that it is unchanged from Google's key file")
	}
	return seal.NewSecret(answer.AccessToken), time.Duration(min(max(answer.ExpiresIn, 0), 24*3600)) * time.Second, nil
}

// newTokenError describes a failed exchange.
func newTokenError(err error) error {
	e := newExchangeError("the token of the service account", err)
	if e.Code == junctor.CodeDenied { // egress denied the address; the caller itself is not denied
		e.Code = junctor.CodeUnreachable
	}
	return e
}

// newRefusedAccountError is the error for an account that Google refuses.
// reason is Google's error code, if it has the form of one.
func newRefusedAccountError(reason string, status int) error {
	if ok, _ := regexp.MatchString(`^[a-z_]{1,40}$`, reason); !ok {
		reason = "status " + strconv.Itoa(status)
	}
	return junctor.Errorf(junctor.CodeUpstream, "Google does not accept this service account (%s): check that its key was not deleted or disabled, and that the clock of this machine is right", reason)
}

// malformedCredentialError is the error for a credential of the wrong form, as
// opposed to one that was refused.
type malformedCredentialError struct{ error }

// signAssertion returns a JWT that requests a token for the account.
func (a *serviceAccount) signAssertion(now time.Time) (string, error) {
	key, err := a.parseKey()
	if err != nil {
		return "", err
	}
	header := struct {
		Alg string `json:"alg"`
		Typ string `json:"typ"`
		Kid string `json:"kid,omitzero"`
	}{"RS256", "JWT", a.keyID}
	claims := struct {
		Iss   string `json:"iss"`
		Scope string `json:"scope"`
		Aud   string `json:"aud"`
		Iat   int64  `json:"iat"`
		Exp   int64  `json:"exp"`
	}{a.email, visionScope, a.tokenURI, now.Unix(), now.Add(time.Hour).Unix()}
	var b bytes.Buffer
	for _, part := range []any{header, claims} {
		j, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(base64.RawURLEncoding.EncodeToString(j))
	}
	digest := sha256.Sum256(b.Bytes())
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return "", err
	}
	return b.String() + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

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
	tokenMargin  = time.Minute // a token is not used in its last minute, lest it end on the way
	maxTokens    = 256
	maxTokenBody = 64 << 10
)

// tokens gets access tokens for service accounts and keeps them until shortly
// before their end. Those who want the same one at the same time share one
// exchange, which no caller's end breaks off for the others.
type tokens struct {
	client *http.Client

	mu  sync.Mutex
	all map[[sha256.Size]byte]*grant
}

// grant is one exchange and what came of it. The fields are set before done is
// closed and not changed after it.
type grant struct {
	done  chan struct{}
	token seal.Secret
	until time.Time // do not use it after this
	err   error
}

func (g *grant) pending() bool {
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

func (t *tokens) get(ctx context.Context, a *account) (seal.Secret, error) {
	g := t.join(ctx, a)
	select {
	case <-ctx.Done():
		return seal.Secret{}, failure("the token of the service account", ctx.Err())
	case <-g.done:
		return g.token, g.err
	}
}

// join finds a token that is good, or one that is on its way, or sends for it.
func (t *tokens) join(ctx context.Context, a *account) *grant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.all[a.digest]; g != nil && (g.pending() || g.err == nil && time.Now().Before(g.until)) {
		return g
	}
	t.makeRoom()
	g := &grant{done: make(chan struct{})}
	t.all[a.digest] = g
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		defer close(g.done)
		var lasts time.Duration
		g.token, lasts, g.err = t.exchange(ctx, a)
		g.until = time.Now().Add(lasts - tokenMargin)
	}()
	return g
}

// makeRoom drops what is of no use; when all is, any one.
func (t *tokens) makeRoom() {
	if len(t.all) < maxTokens {
		return
	}
	for d, g := range t.all {
		if !g.pending() && (g.err != nil || !time.Now().Before(g.until)) {
			delete(t.all, d)
		}
	}
	for d := range t.all {
		if len(t.all) < maxTokens {
			return
		}
		delete(t.all, d)
	}
}

// drop forgets a token that was refused, if it is still the one that is kept.
func (t *tokens) drop(a *account, refused seal.Secret) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.all[a.digest]; g != nil && !g.pending() && g.token.Equal(refused.Reveal()) {
		delete(t.all, a.digest)
	}
}

// exchange trades a signed assertion for a token, as RFC 7523 has it.
func (t *tokens) exchange(ctx context.Context, a *account) (seal.Secret, time.Duration, error) {
	assertion, err := a.assertion(time.Now())
	if err != nil {
		return seal.Secret{}, 0, &unusable{err}
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {assertion}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.tokenURI, strings.NewReader(form))
	if err != nil {
		return seal.Secret{}, 0, failure("the token of the service account", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := t.client.Do(req)
	if err != nil {
		return seal.Secret{}, 0, tokenFailure(err)
	}
	defer resp.Body.Close()
	body, err := readUpTo(resp.Body, maxTokenBody)
	if err != nil {
		return seal.Secret{}, 0, tokenFailure(err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
	}
	readable := json.Unmarshal(body, &answer) == nil // its error would quote the answer, token and all
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUpstream, "Google gives out no tokens at the moment (status %d): try again later", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return seal.Secret{}, 0, refusedAccount(answer.Error, resp.StatusCode)
	case !readable || answer.AccessToken == "":
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUpstream, "the token_uri of the service account answered something that is no token: check that it is as Google wrote it")
	}
	return seal.NewSecret(answer.AccessToken), time.Duration(min(max(answer.ExpiresIn, 0), 24*3600)) * time.Second, nil
}

func tokenFailure(err error) error {
	e := failure("the token of the service account", err)
	if e.Code == junctor.CodeDenied { // what egress refuses is not the caller being refused here
		e.Code = junctor.CodeUnreachable
	}
	return e
}

func refusedAccount(reason string, status int) error {
	if ok, _ := regexp.MatchString(`^[a-z_]{1,40}$`, reason); !ok {
		reason = "status " + strconv.Itoa(status)
	}
	return junctor.Errorf(junctor.CodeUpstream, "Google does not accept this service account (%s): check that its key was not deleted or switched off, and that the clock of this machine is right", reason)
}

// unusable is a credential whose form is wrong, as opposed to one that was refused.
type unusable struct{ error }

// assertion is a JWT that says that we act for the account.
func (a *account) assertion(now time.Time) (string, error) {
	key, err := a.signer()
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

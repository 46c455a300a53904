package credential

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Bounds of a token: how much of an answer is read, how long before its end it
// is no longer used, and how long one without an end is.
const (
	maxTokenAnswer = 64 << 10
	tokenMargin    = 30 * time.Second
	tokenDefault   = 5 * time.Minute
)

// tokens gets and keeps the access token of an OAuth client.
type tokens struct {
	auth   junctor.Auth
	client *http.Client

	getting chan struct{} // holds one who reads or asks for the token
	token   seal.Secret
	secret  seal.Secret // that the token was got with
	expires time.Time
}

// get gives a token that holds for a while. Several callers wait for one
// request.
func (t *tokens) get(ctx context.Context, secret seal.Secret) (seal.Secret, error) {
	select {
	case t.getting <- struct{}{}:
		defer func() { <-t.getting }()
	case <-ctx.Done(): // nobody waits for another's request beyond its own time
		return seal.Secret{}, junctor.AsError(ctx.Err())
	}
	if !t.token.IsZero() && t.secret.Equal(secret.Reveal()) && time.Now().Before(t.expires) {
		return t.token, nil
	}
	token, life, err := t.request(ctx, secret)
	if err != nil {
		return seal.Secret{}, err
	}
	t.token, t.secret, t.expires = token, secret, time.Now().Add(max(life-tokenMargin, life/2))
	return token, nil
}

func (t *tokens) request(ctx context.Context, secret seal.Secret) (seal.Secret, time.Duration, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.auth.Scope != "" {
		form.Set("scope", t.auth.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.auth.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeInvalid, "token_url is not an address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(t.auth.ClientID), url.QueryEscape(secret.Reveal())) // RFC 6749, 2.3.1
	resp, err := t.client.Do(req)
	if err != nil {
		// The URL that net/http puts before it is not for messages.
		if e, ok := errors.AsType[*junctor.Error](err); ok {
			return seal.Secret{}, 0, &junctor.Error{Code: e.Code, Message: "no token: " + e.Message, Cause: e}
		}
		return seal.Secret{}, 0, junctor.AsError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenAnswer))
	if err != nil {
		return seal.Secret{}, 0, junctor.AsError(err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
	}
	readErr := json.Unmarshal(body, &answer)
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden || answer.Error == "invalid_client":
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUnauthenticated, "the authorization server does not accept this client_id and secret")
	case resp.StatusCode != http.StatusOK || readErr != nil || answer.AccessToken == "":
		return seal.Secret{}, 0, junctor.Errorf(junctor.CodeUpstream, "the authorization server answered %d and no token", resp.StatusCode)
	}
	life := tokenDefault
	if answer.ExpiresIn > 0 {
		life = time.Duration(min(answer.ExpiresIn, 24*60*60)) * time.Second
	}
	return seal.NewSecret(answer.AccessToken), life, nil
}

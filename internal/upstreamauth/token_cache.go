package upstreamauth

import (
	"context"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// tokenMargin is how long before its expiry a token is replaced, so that it does
// not expire during a call.
const tokenMargin = 30 * time.Second

// tokenCache requests and caches the access token of one OAuth client. The fields
// below lock are guarded by it; lock is a channel so that waiting ends with the
// caller's context.
type tokenCache struct {
	auth         junctor.Auth
	requestToken oauthclient.TokenRequester

	stale      atomic.Bool   // the server refused the token
	lock       chan struct{} // capacity 1
	token      seal.Secret
	proof      oauthclient.TokenProof // the secrets that token was requested with
	obtainedAt time.Time
	expires    time.Time
}

// refusedPause is how long a new token is used even if the server refuses it.
// Without it, a server that refuses every token would cause a token request for
// each call.
const refusedPause = 2 * time.Second

// get returns a valid token, from the cache or by one request for all concurrent
// callers. A token that was requested with other secrets is not reused.
func (t *tokenCache) get(ctx context.Context, with oauthclient.TokenProof) (seal.Secret, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done(): // a caller waits no longer than its own deadline
		return seal.Secret{}, junctor.AsError(ctx.Err())
	}
	if t.stale.Swap(false) && time.Since(t.obtainedAt) > refusedPause {
		t.token = seal.Secret{}
	}
	if !t.token.IsZero() && t.proof.Equal(&with) && time.Now().Before(t.expires) {
		return t.token, nil
	}
	token, life, err := t.requestToken(ctx, t.auth, with)
	if err != nil {
		return seal.Secret{}, err
	}
	t.token, t.proof, t.obtainedAt, t.expires = token, with, time.Now(), time.Now().Add(max(life-tokenMargin, life/2))
	return token, nil
}

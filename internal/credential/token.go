package credential

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// tokenMargin is how long before its end a token is no longer used.
const tokenMargin = 30 * time.Second

// Asker gets an access token for an OAuth client and its secret, and says how
// long it is good for. Its errors show nothing of either.
type Asker func(ctx context.Context, auth junctor.Auth, secret seal.Secret) (token seal.Secret, life time.Duration, err error)

// tokens gets and keeps the access token of an OAuth client.
type tokens struct {
	auth junctor.Auth
	ask  Asker

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
	token, life, err := t.ask(ctx, t.auth, secret)
	if err != nil {
		return seal.Secret{}, err
	}
	t.token, t.secret, t.expires = token, secret, time.Now().Add(max(life-tokenMargin, life/2))
	return token, nil
}

package credential

import (
	"context"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// tokenMargin is how long before its end a token is no longer used.
const tokenMargin = 30 * time.Second

// Proof is what an OAuth client gets its token with. Each may be zero.
type Proof struct {
	Secret    seal.Secret // the client's own
	Subject   seal.Secret // stands for whom the token is for
	IDPSecret seal.Secret // of the client at the identity provider
}

func (p *Proof) equal(o *Proof) bool {
	return p.Secret.Equal(o.Secret.Reveal()) && p.Subject.Equal(o.Subject.Reveal()) && p.IDPSecret.Equal(o.IDPSecret.Reveal())
}

// Asker gets an access token for an OAuth client, and says how long it is good
// for. Its errors show nothing of what proves the client.
type Asker func(ctx context.Context, auth junctor.Auth, with Proof) (token seal.Secret, life time.Duration, err error)

// tokens gets and keeps the access token of an OAuth client.
type tokens struct {
	auth junctor.Auth
	ask  Asker

	stale   atomic.Bool   // the server did not take the token
	getting chan struct{} // holds one who reads or asks for the token
	token   seal.Secret
	with    Proof // that the token was got with
	got     time.Time
	expires time.Time
}

// refusedPause is how long a token is used that the server did not take: where it
// takes none, not each call asks for another.
const refusedPause = 2 * time.Second

// get gives a token that holds for a while. Several callers wait for one
// request.
func (t *tokens) get(ctx context.Context, with Proof) (seal.Secret, error) {
	select {
	case t.getting <- struct{}{}:
		defer func() { <-t.getting }()
	case <-ctx.Done(): // nobody waits for another's request beyond its own time
		return seal.Secret{}, junctor.AsError(ctx.Err())
	}
	if t.stale.Swap(false) && time.Since(t.got) > refusedPause {
		t.token = seal.Secret{}
	}
	if !t.token.IsZero() && t.with.equal(&with) && time.Now().Before(t.expires) {
		return t.token, nil
	}
	token, life, err := t.ask(ctx, t.auth, with)
	if err != nil {
		return seal.Secret{}, err
	}
	t.token, t.with, t.got, t.expires = token, with, time.Now(), time.Now().Add(max(life-tokenMargin, life/2))
	return token, nil
}

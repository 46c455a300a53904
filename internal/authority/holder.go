package authority

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Mine says whether a token looks like one of ours.
func (a *Authority) Mine(token string) bool { return strings.HasPrefix(token, accessMark) }

// unknown bounds how often tokens are looked up in the database: what nobody
// was given must not keep it busy.
func unknown() limit.Rate { return limit.Rate{PerSecond: 100, Burst: 500} }

// Prove says whose one of our tokens is, which door it is for, and until when.
// It asks the database: the caller remembers the answer, and asks Live now and
// then. Unauthenticated for a token that is not good.
func (a *Authority) Prove(ctx context.Context, token string) (party *identity.Party, door string, expires time.Time, err error) {
	fail := func(err error) (*identity.Party, string, time.Time, error) { return nil, "", time.Time{}, err }
	now := a.o.Now()
	if ok, wait := a.tries.Take(ctx, "authority:unknown tokens", unknown(), now); !ok {
		e := junctor.Errorf(junctor.CodeUnavailable, "too many tokens are looked up just now: try again in a moment")
		e.RetryAfter = wait
		return fail(e)
	}
	notValid := junctor.Errorf(junctor.CodeUnauthenticated, "the token is not valid any more: it has expired, or was revoked")
	if len(token) > maxToken {
		return fail(notValid)
	}
	t, c, err := a.o.Store.ConsentToken(ctx, hash(token))
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && (t.Kind != store.TokenAccess || !now.Before(t.ExpiresAt)):
		return fail(notValid)
	case err != nil:
		return fail(err)
	}
	return a.o.Identity.Party(junctor.User{Tenant: c.Tenant, ID: c.User}, t.Scopes, a.most, t.ExpiresAt).Via(c.ID, c.Client), c.Resource, t.ExpiresAt, nil
}

// Live lists the SHA-256 of the tokens that are good at this moment.
func (a *Authority) Live(ctx context.Context) (map[[32]byte]bool, error) {
	list, err := a.o.Store.AccessTokens(ctx, a.o.Now())
	if err != nil {
		return nil, err
	}
	live := make(map[[32]byte]bool, len(list))
	for _, sum := range list {
		live[sum] = true
	}
	return live, nil
}

package server

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/store"
)

// IsLocalToken reports whether a token has the form of the access tokens that this
// package issues. It does not check whether the token is valid.
func (srv *Server) IsLocalToken(token string) bool { return strings.HasPrefix(token, accessPrefix) }

// LookupToken returns the user of an access token, the address of the endpoint it
// is for, and its expiry. It reads the database, so the caller caches the result
// and drops it when LiveTokens no longer lists the token. Errors: unauthenticated
// if the token is not valid, unavailable with RetryAfter if too many are looked up.
func (srv *Server) LookupToken(ctx context.Context, token string) (party *identity.TokenUser, endpoint string, expires time.Time, err error) {
	fail := func(err error) (*identity.TokenUser, string, time.Time, error) { return nil, "", time.Time{}, err }
	now := srv.options.Now()
	if ok, wait := srv.rateLimiter.Take(ctx, "authority:unknown tokens", lookupRate(), now); !ok {
		e := junctor.Errorf(junctor.CodeUnavailable, "too many unknown tokens were sent: try again in a moment")
		e.RetryAfter = wait
		return fail(e)
	}
	notValid := junctor.Errorf(junctor.CodeUnauthenticated, "the token is no longer valid: it has expired, or was revoked")
	if len(token) > maxTokenLength {
		return fail(notValid)
	}
	t, c, err := srv.options.Store.ConsentToken(ctx, hashToken(token))
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && (t.Kind != store.TokenAccess || !now.Before(t.ExpiresAt)):
		return fail(notValid)
	case err != nil:
		return fail(err)
	}
	return srv.options.Identity.NewTokenUser(junctor.User{Tenant: c.Tenant, ID: c.User}, t.Scopes, srv.allScopes, t.ExpiresAt).WithClient(c.ID, c.Client), c.Resource, t.ExpiresAt, nil
}

// LiveTokens returns the SHA-256 hashes of all access tokens that are valid now.
func (srv *Server) LiveTokens(ctx context.Context) (map[[32]byte]bool, error) {
	list, err := srv.options.Store.AccessTokens(ctx, srv.options.Now())
	if err != nil {
		return nil, err
	}
	live := make(map[[32]byte]bool, len(list))
	for _, sum := range list {
		live[sum] = true
	}
	return live, nil
}

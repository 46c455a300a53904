package client

import (
	"context"
	"strconv"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// GrantStore stores one grant. Implementations encrypt it. Load returns nil if
// there is none.
type GrantStore interface {
	Load(ctx context.Context) (*Grant, error)
	Save(ctx context.Context, g *Grant) error
}

// Login is one login in use. It provides the current access token and renews it
// before it expires. Replicas share the grant by the GrantStore: a Login notices if
// another replica renewed it. It is safe for concurrent use.
type Login struct {
	client *Client
	store  GrantStore
	// describeServer is called for each renewal, since the operator may have
	// changed the client's secret.
	describeServer func(ctx context.Context) (Server, error)
	// recordTrace receives the trace of each renewal.
	recordTrace func(context.Context, *junctor.Trace)

	mu          sync.Mutex
	loaded      bool // grant was read from store
	grant       *Grant
	generation  uint64    // counts grants; passed to RenewToken as number
	renewal     *renewal  // in progress; nil if none
	givenTokens []string  // the last maxGivenTokens tokens, for scrubbing
	retryAfter  time.Time // when a failed renewal may be repeated
}

// renewal is one request for a new token. All callers that need it wait for done;
// err is set before done is closed.
type renewal struct {
	done chan struct{}
	err  error
}

// Times of renewals.
const (
	renewMargin    = time.Minute      // a token is renewed this long before it expires
	renewTimeout   = 45 * time.Second // for one renewal, independent of its callers
	renewPause     = 10 * time.Second // between failed renewals while the token is still valid
	maxGivenTokens = 4
)

// NewLogin returns a Login. It reads nothing before the first call of its methods.
func NewLogin(c *Client, store GrantStore, describeServer func(context.Context) (Server, error), recordTrace func(context.Context, *junctor.Trace)) *Login {
	return &Login{client: c, store: store, describeServer: describeServer, recordTrace: recordTrace}
}

// loadGrant reads the grant if it is not loaded. The caller holds mu, which is
// released during the read. If the grant was invalidated meanwhile, it reads again.
func (l *Login) loadGrant(ctx context.Context) error {
	for !l.loaded {
		before := l.generation
		l.mu.Unlock()
		g, err := l.store.Load(ctx)
		l.mu.Lock()
		if err != nil {
			return err
		}
		if !l.loaded && l.generation == before { // else the grant that was read may be outdated
			l.setGrant(g)
		}
	}
	return nil
}

// setGrant replaces the grant and starts a new generation. The caller holds mu.
func (l *Login) setGrant(g *Grant) {
	l.grant, l.loaded = g, true
	l.generation++
	if g.IsLive() {
		l.givenTokens = append(l.givenTokens, g.Token.Access)
		l.givenTokens = l.givenTokens[max(0, len(l.givenTokens)-maxGivenTokens):]
	}
}

// Token returns the current access token, "" if there is no login, and its number
// for RenewToken.
func (l *Login) Token(ctx context.Context) (token string, number uint64, err error) {
	g, number, err := l.freshGrant(ctx)
	if !g.IsLive() {
		return "", number, err
	}
	return g.Token.Access, number, err
}

// NamedToken is Token with a name that identifies the login across renewals. The
// name changes when the person logs in again.
func (l *Login) NamedToken(ctx context.Context) (token, name string, number uint64, err error) {
	g, number, err := l.freshGrant(ctx)
	if !g.IsLive() {
		return "", "", number, err
	}
	return g.Token.Access, g.Endpoints.Issuer + " " + strconv.FormatInt(g.Since.UnixNano(), 36), number, err
}

// freshGrant returns the current grant and renews it if that is due. It waits for
// the renewal only if the token has expired. It renews at most once: a server that
// issues expired tokens would otherwise cause an endless loop.
func (l *Login) freshGrant(ctx context.Context) (*Grant, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadGrant(ctx); err != nil {
		return nil, 0, err
	}
	if ctx.Err() != nil {
		return nil, 0, junctor.AsError(ctx.Err())
	}
	if l.grant.IsLive() && l.isRenewalDue() {
		serves := l.client.Now().Before(l.grant.Token.ExpiresAt)
		if f := l.beginRenewal(); f != nil && !serves { //nolint:contextcheck // all waiting callers share it
			if err := l.awaitRenewal(ctx, f); err != nil {
				return nil, 0, err
			}
		}
	}
	return l.grant, l.generation, nil
}

// isRenewalDue reports whether the token should be renewed now. The margin is at
// most a fifth of the token's life. After a failure it waits for retryAfter, unless
// the token has expired. The caller holds mu.
func (l *Login) isRenewalDue() bool {
	t := &l.grant.Token
	if t.Refresh == "" || t.ExpiresAt.IsZero() {
		return false
	}
	margin := min(renewMargin, t.ExpiresAt.Sub(t.ObtainedAt)/5)
	now := l.client.Now()
	return !now.Before(t.ExpiresAt.Add(-margin)) && (!now.Before(t.ExpiresAt) || !now.Before(l.retryAfter))
}

// awaitRenewal waits for a renewal or for ctx. An ended login is no error here: the
// caller finds a grant that is not live. The caller holds mu, which is released
// meanwhile.
func (l *Login) awaitRenewal(ctx context.Context, f *renewal) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-f.done:
		if junctor.CodeOf(f.err) == junctor.CodeUnauthenticated {
			return nil // the login has ended
		}
		return f.err
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}

// beginRenewal starts a renewal, or returns the one in progress. It returns nil if
// there is no refresh token. The caller holds mu.
func (l *Login) beginRenewal() *renewal {
	if l.renewal != nil {
		return l.renewal
	}
	if !l.grant.IsLive() || l.grant.Token.Refresh == "" {
		return nil
	}
	f := &renewal{done: make(chan struct{})}
	l.renewal = f
	go l.runRenewal(f, l.grant)
	return f
}

// runRenewal renews the grant and completes f. It does not depend on the caller
// that began it: others may wait, and the response to a used refresh token must not
// be lost.
func (l *Login) runRenewal(f *renewal, from *Grant) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	next, err := l.renewGrant(ctx, from)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grant == from { // nobody logged in or out meanwhile
		if next != nil {
			l.setGrant(next)
		}
		if err != nil {
			l.retryAfter = l.client.Now().Add(renewPause)
		}
	}
	f.err = err
	l.renewal = nil
	close(f.done)
}

// renewGrant renews a grant and stores the result. If the authorization server
// rejects the refresh token for good, it returns both the ended grant and an error,
// unless another replica renewed the grant first.
func (l *Login) renewGrant(ctx context.Context, from *Grant) (*Grant, error) {
	if other := l.loadNewerGrant(ctx, from); other != nil {
		return other, nil
	}
	server, err := l.describeServer(ctx)
	if err != nil {
		return nil, err
	}
	next, trace, ended, err := l.client.refresh(ctx, from, server)
	if ended { // another replica may have used the refresh token first
		if other := l.loadNewerGrant(ctx, from); other != nil {
			return other, nil
		}
		over := *from
		over.Token, over.EndReason = Token{Scopes: from.Token.Scopes}, trace.Verdict
		next = &over
	}
	l.recordTrace(ctx, trace)
	if next == nil {
		return nil, err
	}
	// A login or logout during the renewal wins: its grant must not be overwritten.
	if kept, kerr := l.store.Load(ctx); kerr == nil && (kept == nil || kept.Token.Access != from.Token.Access) {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the login changed while it was renewed: try again")
	}
	if serr := l.store.Save(ctx, next); serr != nil && err == nil {
		trace.Remedy = "the login could not be stored and is lost at a restart: log in again after a restart"
	}
	return next, err
}

// loadNewerGrant returns the stored grant if it is newer than from: another replica
// renewed it, or somebody logged in there. Otherwise it returns nil.
func (l *Login) loadNewerGrant(ctx context.Context, from *Grant) *Grant {
	kept, err := l.store.Load(ctx)
	if err != nil || !kept.IsLive() || kept.Token.Access == from.Token.Access || !kept.Token.ObtainedAt.After(from.Token.ObtainedAt) {
		return nil
	}
	return kept
}

// RenewToken is called after the server refused the token with this number. It
// reports whether there is another token to try. If the token was replaced
// meanwhile, it does not renew again.
func (l *Login) RenewToken(ctx context.Context, number uint64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadGrant(ctx); err != nil {
		return false, err
	}
	if l.generation != number {
		return l.grant.IsLive(), nil
	}
	if ctx.Err() != nil { // the caller could not use another token
		return false, junctor.AsError(ctx.Err())
	}
	f := l.beginRenewal() //nolint:contextcheck // all waiting callers share it
	if f == nil {
		// Without a refresh token, only a login on another replica can have
		// replaced the token: read the store again.
		former := l.grant
		l.loaded = false
		if err := l.loadGrant(ctx); err != nil {
			return false, err
		}
		return l.grant.IsLive() && (former == nil || former.Token.Access != l.grant.Token.Access), nil
	}
	if err := l.awaitRenewal(ctx, f); err != nil {
		return false, err
	}
	return l.grant.IsLive() && l.generation != number, nil
}

// Grant returns the current grant without renewing it, or nil if there is none. The
// caller must not change it.
func (l *Login) Grant(ctx context.Context) (*Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.loadGrant(ctx)
	return l.grant, err
}

// Invalidate makes the next call read the stored grant again, because somebody
// logged in or out.
func (l *Login) Invalidate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded = false
	l.grant = nil
	l.generation++
}

// Secrets returns the tokens that were given out last.
func (l *Login) Secrets() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.givenTokens...)
}

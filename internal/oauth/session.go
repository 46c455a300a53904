package oauth

import (
	"context"
	"strconv"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Keep is where one login is kept, sealed.
type Keep interface {
	Load(ctx context.Context) (*Grant, error) // nil where there is none
	Save(ctx context.Context, g *Grant) error
}

// Login is the login of one party at one server while it is used: it gives the
// token of the moment and renews it. It is safe for use by several goroutines.
type Login struct {
	client *Client
	keep   Keep
	// server is asked for each time: the operator's client may have a new secret.
	server func(ctx context.Context) (Server, error)
	// traced takes the trace of each renewal.
	traced func(context.Context, *junctor.Trace)

	mu         sync.Mutex
	read       bool
	grant      *Grant
	generation uint64 // counts the tokens
	flight     *flight
	given      []string // tokens that were given out, the last ones
	quiet      time.Time
}

// flight is one renewal, for all who wait for it.
type flight struct {
	done chan struct{}
	err  error
}

// Ahead of its end a token is renewed while it still serves.
const (
	ahead      = time.Minute
	renewTime  = 45 * time.Second // for one renewal, whoever waits
	renewPause = 10 * time.Second // between two that fail while the token still serves
	maxGiven   = 4
)

// NewLogin makes a Login. Nothing is read before it is needed.
func NewLogin(c *Client, keep Keep, server func(context.Context) (Server, error), traced func(context.Context, *junctor.Trace)) *Login {
	return &Login{client: c, keep: keep, server: server, traced: traced}
}

// load reads the grant once; mu is held, and released meanwhile.
func (l *Login) load(ctx context.Context) error {
	for !l.read {
		before := l.generation
		l.mu.Unlock()
		g, err := l.keep.Load(ctx)
		l.mu.Lock()
		if err != nil {
			return err
		}
		if !l.read && l.generation == before { // else what was read may be what was before
			l.put(g)
		}
	}
	return nil
}

// put sets the grant; mu is held.
func (l *Login) put(g *Grant) {
	l.grant, l.read = g, true
	l.generation++
	if g.Live() {
		l.given = append(l.given, g.Token.Access)
		l.given = l.given[max(0, len(l.given)-maxGiven):]
	}
}

// Token gives the access token of the moment, "" where there is no login, and
// its number, which Renew wants.
func (l *Login) Token(ctx context.Context) (token string, number uint64, err error) {
	g, number, err := l.fresh(ctx)
	if !g.Live() {
		return "", number, err
	}
	return g.Token.Access, number, err
}

// Held is Token, with a name for the login, which it keeps when its token is
// renewed.
func (l *Login) Held(ctx context.Context) (token, name string, number uint64, err error) {
	g, number, err := l.fresh(ctx)
	if !g.Live() {
		return "", "", number, err
	}
	return g.Token.Access, g.Endpoints.Issuer + " " + strconv.FormatInt(g.Since.UnixNano(), 36), number, err
}

// fresh gives the grant of the moment, renewed where that is due: once, since what
// is still due after that would be so forever, and not for a caller who has left.
func (l *Login) fresh(ctx context.Context) (*Grant, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return nil, 0, err
	}
	if ctx.Err() != nil {
		return nil, 0, junctor.AsError(ctx.Err())
	}
	if l.grant.Live() && l.due() {
		serves := l.client.Now().Before(l.grant.Token.Expires)
		if f := l.renew(); f != nil && !serves { //nolint:contextcheck // it is for all who wait
			if err := l.wait(ctx, f); err != nil {
				return nil, 0, err
			}
		}
	}
	return l.grant, l.generation, nil
}

// due says whether the token is to be renewed now; mu is held.
func (l *Login) due() bool {
	t := &l.grant.Token
	if t.Refresh == "" || t.Expires.IsZero() {
		return false
	}
	margin := min(ahead, t.Expires.Sub(t.Got)/5)
	now := l.client.Now()
	return !now.Before(t.Expires.Add(-margin)) && (!now.Before(t.Expires) || !now.Before(l.quiet))
}

// wait waits for a renewal; mu is held, and released meanwhile.
func (l *Login) wait(ctx context.Context, f *flight) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-f.done:
		if junctor.CodeOf(f.err) == junctor.CodeUnauthenticated {
			return nil // there is no login any more
		}
		return f.err
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}

// renew begins a renewal, or gives the one that is under way; nil where there
// can be none. mu is held.
func (l *Login) renew() *flight {
	if l.flight != nil {
		return l.flight
	}
	if !l.grant.Live() || l.grant.Token.Refresh == "" {
		return nil
	}
	f := &flight{done: make(chan struct{})}
	l.flight = f
	go l.fly(f, l.grant)
	return f
}

// fly renews the grant. It goes on when who began it is gone: others may wait,
// and a refresh token that was used must not be lost.
func (l *Login) fly(f *flight, from *Grant) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	next, err := l.renewed(ctx, from)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grant == from { // nobody has logged in or out meanwhile
		if next != nil {
			l.put(next)
		}
		if err != nil {
			l.quiet = l.client.Now().Add(renewPause)
		}
	}
	f.err = err
	l.flight = nil
	close(f.done)
}

// renewed gives the grant that follows; with an error too, where that ends it.
func (l *Login) renewed(ctx context.Context, from *Grant) (*Grant, error) {
	if other := l.newer(ctx, from); other != nil {
		return other, nil
	}
	server, err := l.server(ctx)
	if err != nil {
		return nil, err
	}
	next, trace, ended, err := l.client.refresh(ctx, from, server)
	if ended { // or another instance was first
		if other := l.newer(ctx, from); other != nil {
			return other, nil
		}
		over := *from
		over.Token, over.Ended = Token{Scopes: from.Token.Scopes}, trace.Verdict
		next = &over
	}
	l.traced(ctx, trace)
	if next == nil {
		return nil, err
	}
	if kept, kerr := l.keep.Load(ctx); kerr == nil && (kept == nil || kept.Token.Access != from.Token.Access) {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the login was changed while it was renewed: try again")
	}
	if serr := l.keep.Save(ctx, next); serr != nil && err == nil {
		trace.Remedy = "it could not be stored, and is lost with a restart: log in again then"
	}
	return next, err
}

// newer gives the grant that is kept where it is not the one from which a
// renewal begins: another instance has renewed it, or somebody logged in there.
func (l *Login) newer(ctx context.Context, from *Grant) *Grant {
	kept, err := l.keep.Load(ctx)
	if err != nil || !kept.Live() || kept.Token.Access == from.Token.Access || !kept.Token.Got.After(from.Token.Got) {
		return nil
	}
	return kept
}

// Renew is called when the server refused the token of this number. It says
// whether there is another to try.
func (l *Login) Renew(ctx context.Context, number uint64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return false, err
	}
	if l.generation != number {
		return l.grant.Live(), nil
	}
	if ctx.Err() != nil { // nobody is left whom another token would help
		return false, junctor.AsError(ctx.Err())
	}
	f := l.renew() //nolint:contextcheck // it is for all who wait
	if f == nil {  // somebody may have logged in by way of another instance
		former := l.grant
		l.read = false
		if err := l.load(ctx); err != nil {
			return false, err
		}
		return l.grant.Live() && (former == nil || former.Token.Access != l.grant.Token.Access), nil
	}
	if err := l.wait(ctx, f); err != nil {
		return false, err
	}
	return l.grant.Live() && l.generation != number, nil
}

// Grant is the login as it stands; nil where there is none.
func (l *Login) Grant(ctx context.Context) (*Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.load(ctx)
	return l.grant, err
}

// Changed has what is kept read anew: somebody logged in or out.
func (l *Login) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = false
	l.grant = nil
	l.generation++
}

// Secrets are the tokens that were given out last.
func (l *Login) Secrets() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.given...)
}

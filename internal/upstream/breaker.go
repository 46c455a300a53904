package upstream

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	breakAfter = 5 // failures in a row until a server is left alone
	firstBreak = time.Second
	maxBreak   = time.Minute
	// authBreak is how long a credential that was refused is not tried again by
	// calls. Nothing tries it in the background.
	authBreak   = 30 * time.Second
	maxRefused  = 1024
	firstJitter = 0.8
)

// breaker keeps callers from waiting for a server that does not answer, and
// the server from those who would ask it all the same. It guards connecting as
// well as calling.
type breaker struct {
	id       string
	now      func() time.Time
	onDemand bool // a refused credential is tried again

	mu       sync.Mutex
	failures int
	until    time.Time            // nobody is let through before
	trial    bool                 // since it opened, one was let through to find out
	refused  map[string]time.Time // credentials, and until when they count as refused
}

// allow says whether the server may be asked now, with these credentials.
func (b *breaker) allow(credentials string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if until, bad := b.refused[credentials]; bad && now.Before(until) {
		return &junctor.Error{Code: junctor.CodeUnauthenticated, Message: "server " + b.id + " refused the credentials a moment ago: check the ones that are stored for it"}
	}
	if b.failures < breakAfter {
		return nil
	}
	if wait := b.until.Sub(now); wait > 0 {
		return &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + b.id + " does not answer; it is tried again in " + wait.Round(100*time.Millisecond).String(),
		}
	}
	b.until, b.trial = now.Add(firstBreak), true // one at a time finds out whether it is back
	return nil
}

// succeeded closes the breaker: the server answered.
func (b *breaker) succeeded(credentials string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.trial = 0, false
	delete(b.refused, credentials)
}

// failed counts a failure if it is one of the server's: those in a row until the
// breaker opens, then those of trials, each of which doubles the time that the
// server is left alone.
func (b *breaker) failed(credentials string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if b.onDemand {
			return
		}
		if b.refused == nil || len(b.refused) >= maxRefused {
			b.refused = map[string]time.Time{}
		}
		b.refused[credentials] = b.now().Add(authBreak)
		return
	}
	if !countsAsFailure(err) {
		return
	}
	if b.failures >= breakAfter && !b.trial {
		return // it was under way when the breaker opened: no news
	}
	b.trial = false
	if b.failures++; b.failures >= breakAfter {
		b.until = b.now().Add(jitter(backoff(firstBreak, maxBreak, b.failures-breakAfter)))
	}
}

// open says whether so many failed in a row that the server is left alone.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= breakAfter
}

// countsAsFailure says whether an error means that the server is not well: its own
// errors, and callers who go away, do not.
func countsAsFailure(err error) bool {
	if _, own := errors.AsType[*wire.Error](err); own {
		return false
	}
	switch junctor.CodeOf(err) {
	case junctor.CodeUnreachable, junctor.CodeTimeout:
		return true
	case junctor.CodeUpstream:
		return !errors.Is(err, errNotBegun) && (statusOf(err) == 0 || statusOf(err) >= 500)
	case junctor.CodeUnavailable:
		return errors.Is(err, errInterrupted)
	default:
		return false
	}
}

// backoff doubles first n times, up to most.
func backoff(first, most time.Duration, n int) time.Duration {
	return min(first<<min(n, 20), most)
}

// jitter spreads a delay, so that many who wait do not come back together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (firstJitter + 0.4*rand.Float64())) //nolint:gosec // not a secret
}

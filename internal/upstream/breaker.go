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
	failuresToOpen = 5 // failures in a row until a server is left alone
	firstOpenTime  = time.Second
	maxOpenTime    = time.Minute
	// refusedTime is how long a credential that was refused is not tried again by
	// calls. Nothing tries it in the background.
	refusedTime = 30 * time.Second
	maxRefused  = 1024
	minJitter   = 0.8
)

// breaker keeps callers from waiting for a server that does not answer, and
// the server from those who would ask it all the same. It guards connecting as
// well as calling.
type breaker struct {
	serverID       string
	now            func() time.Time
	retriesRefused bool // a refused credential is tried again

	mu           sync.Mutex
	failures     int
	openUntil    time.Time            // nobody is let through before
	trialRunning bool                 // since it opened, one was let through to find out
	refusedUntil map[string]time.Time // credentials, and until when they count as refused
}

// checkAllowed says whether the server may be asked now, with these credentials.
func (b *breaker) checkAllowed(credentials string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if until, bad := b.refusedUntil[credentials]; bad && now.Before(until) {
		return &junctor.Error{Code: junctor.CodeUnauthenticated, Message: "server " + b.serverID + " refused the credentials a moment ago: check the ones that are stored for it"}
	}
	if b.failures < failuresToOpen {
		return nil
	}
	if wait := b.openUntil.Sub(now); wait > 0 {
		return &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + b.serverID + " does not answer; it is tried again in " + wait.Round(100*time.Millisecond).String(),
		}
	}
	b.openUntil, b.trialRunning = now.Add(firstOpenTime), true // one at a time finds out whether it is back
	return nil
}

// recordSuccess closes the breaker: the server answered.
func (b *breaker) recordSuccess(credentials string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.trialRunning = 0, false
	delete(b.refusedUntil, credentials)
}

// recordFailure counts a failure if it is one of the server's: those in a row until the
// breaker opens, then those of trials, each of which doubles the time that the
// server is left alone.
func (b *breaker) recordFailure(credentials string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		if b.retriesRefused {
			return
		}
		if b.refusedUntil == nil || len(b.refusedUntil) >= maxRefused {
			b.refusedUntil = map[string]time.Time{}
		}
		b.refusedUntil[credentials] = b.now().Add(refusedTime)
		return
	}
	if !countsAsFailure(err) {
		return
	}
	if b.failures >= failuresToOpen && !b.trialRunning {
		return // it was under way when the breaker opened: no news
	}
	b.trialRunning = false
	if b.failures++; b.failures >= failuresToOpen {
		b.openUntil = b.now().Add(addJitter(backoffDelay(firstOpenTime, maxOpenTime, b.failures-failuresToOpen)))
	}
}

// isOpen says whether so many failed in a row that the server is left alone.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= failuresToOpen
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

// backoffDelay doubles first n times, up to most.
func backoffDelay(first, most time.Duration, n int) time.Duration {
	return min(first<<min(n, 20), most)
}

// addJitter spreads a delay, so that many who wait do not come back together.
func addJitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (minJitter + 0.4*rand.Float64())) //nolint:gosec // not a secret
}

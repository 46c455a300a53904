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
	// failuresToOpen is how many failures in a row open the breaker.
	failuresToOpen = 5
	firstOpenTime  = time.Second
	maxOpenTime    = time.Minute
	// refusedTime is how long calls do not try credentials again that the server refused.
	// Nothing tries them in the background.
	refusedTime = 30 * time.Second
	maxRefused  = 1024 // credentials that are remembered as refused
	minJitter   = 0.8  // smallest factor of addJitter
)

// breaker is a circuit breaker. It spares callers the wait for a server that does not
// answer, and the server the requests. It covers connecting as well as calling. The zero
// value with serverID and now is closed.
type breaker struct {
	serverID       string
	now            func() time.Time
	retriesRefused bool // refused credentials are tried again at once

	mu           sync.Mutex
	failures     int                  // in a row
	openUntil    time.Time            // no request passes before
	trialRunning bool                 // since it opened, one request was let through
	refusedUntil map[string]time.Time // by the digest of the credentials
}

// checkAllowed returns an error if the server must not be asked now with these
// credentials. The error has CodeUnauthenticated if the server refused them lately, and
// CodeUnavailable with RetryAfter if the breaker is open. While it is open, one request
// at a time passes as a trial.
func (b *breaker) checkAllowed(credentials string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if until, bad := b.refusedUntil[credentials]; bad && now.Before(until) {
		return &junctor.Error{Code: junctor.CodeUnauthenticated, Message: "server " + b.serverID + " rejected the stored credentials a moment ago: check them, then try again"}
	}
	if b.failures < failuresToOpen {
		return nil
	}
	if wait := b.openUntil.Sub(now); wait > 0 {
		return &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + b.serverID + " does not answer; Junctor tries again in " + wait.Round(100*time.Millisecond).String(),
		}
	}
	b.openUntil, b.trialRunning = now.Add(firstOpenTime), true // other requests are refused until this trial has ended
	return nil
}

// recordSuccess closes the breaker: the server answered.
func (b *breaker) recordSuccess(credentials string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.trialRunning = 0, false
	delete(b.refusedUntil, credentials)
}

// recordFailure counts a failure if it is the server's. Failures in a row open the
// breaker. Then each failed trial doubles the time until the next one.
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
		return // the request began before the breaker opened: it tells nothing new
	}
	b.trialRunning = false
	if b.failures++; b.failures >= failuresToOpen {
		b.openUntil = b.now().Add(addJitter(backoffDelay(firstOpenTime, maxOpenTime, b.failures-failuresToOpen)))
	}
}

// isOpen reports whether the breaker is open.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= failuresToOpen
}

// countsAsFailure reports whether an error means that the server is unhealthy. Its own
// JSON-RPC errors, and callers who give up, do not.
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

// addJitter varies a delay by a fifth, so that many waiters do not come back at once.
func addJitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (minJitter + 0.4*rand.Float64())) //nolint:gosec // not a secret
}

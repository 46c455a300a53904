package call

import (
	"context"
	"math"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// pacer spaces the requests to an API, and holds them back after a 429. It is
// safe for concurrent use.
type pacer struct {
	// perSecond is the rate; 0 is no bound.
	perSecond float64

	mu sync.Mutex
	// nextSend is the time at which the next request may leave.
	nextSend time.Time
}

// waitTurn returns when a request may leave. A request whose turn would come
// after its deadline is refused at once with CodeLimited, and takes no turn
// from others.
func (p *pacer) waitTurn(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	at := p.nextSend
	if at.Before(now) {
		at = now
	}
	wait := at.Sub(now)
	if deadline, ok := ctx.Deadline(); ok && wait > 0 && at.After(deadline) {
		p.mu.Unlock()
		e := junctor.Errorf(junctor.CodeLimited, "the request limit of this API is reached: try again in %d seconds", int(math.Ceil(wait.Seconds())))
		e.RetryAfter = wait
		return e
	}
	if p.perSecond > 0 {
		p.nextSend = at.Add(time.Duration(float64(time.Second) / p.perSecond))
	}
	p.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}

// holdBack lets no request leave for a time, at most a minute, because the API
// answered 429.
func (p *pacer) holdBack(d time.Duration) {
	if d <= 0 {
		return
	}
	until := time.Now().Add(min(d, time.Minute))
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.nextSend) {
		p.nextSend = until
	}
}

package limit

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CallLimiter applies one rate to every party, and then the limits of the Enforcer. It
// implements guard.Limiter.
type CallLimiter struct {
	memory   *RateLimiter
	rate     Rate
	enforcer *Enforcer
}

// NewCallLimiter returns a CallLimiter. A zero rate applies the enforcer alone.
func NewCallLimiter(rate Rate, enforcer *Enforcer) CallLimiter {
	return CallLimiter{NewRateLimiter(), rate, enforcer}
}

// Enter counts one call of a server's item. The caller leaves the pass when the call has
// ended.
func (l CallLimiter) Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (Pass, error) {
	if err := l.memory.CheckPrincipal(p, l.rate, now); err != nil {
		return Pass{}, err
	}
	return l.enforcer.Enter(ctx, p, server, name, now)
}

package limit

import (
	"context"
	"time"
)

// SharedRateLimiter limits callers that are not authenticated yet, by any key such as an address.
// With a Pool it counts together with the other replicas. It always counts in this
// process as well, so that the local count still holds while the pool is unavailable. All
// methods are safe for concurrent use.
type SharedRateLimiter struct {
	memory *RateLimiter
	pool   Pool // nil if nothing is shared
}

// NewSharedRateLimiter makes a SharedRateLimiter without keys. pool is nil if nothing is shared.
func NewSharedRateLimiter(pool Pool) *SharedRateLimiter {
	return &SharedRateLimiter{memory: NewRateLimiter(), pool: pool}
}

// Take takes one token of key at the time now. If there is none, in this process or among
// all replicas, ok is false and retryAfter is the time until one is available.
func (c *SharedRateLimiter) Take(ctx context.Context, key string, r Rate, now time.Time) (ok bool, retryAfter time.Duration) {
	if ok, retryAfter = c.memory.Take(key, r, now); !ok || c.pool == nil {
		return ok, retryAfter
	}
	if interval, _ := r.toDurations(); interval == 0 {
		return true, 0
	}
	// Take one token at a time, not a block: a token that this replica keeps for
	// later is an attempt that the other replicas refuse.
	g, err := c.pool.TakeTokens(ctx, key, r, 1, 0)
	if err != nil {
		return true, 0 // the local count still applies
	}
	return g.Count > 0, g.Wait
}

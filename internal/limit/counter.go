package limit

import (
	"context"
	"time"
)

// Counter counts what callers do that are not known yet, by any key, together with
// the other replicas where there is a Pool. It always counts in this process too:
// while the pool is unavailable, what was counted here still holds. All methods may
// be called from any goroutine.
type Counter struct {
	memory *Memory
	pool   Pool
}

// NewCounter makes a counter without any keys. pool is nil where nothing is shared.
func NewCounter(pool Pool) *Counter {
	return &Counter{memory: NewMemory(), pool: pool}
}

// Take takes one token of key at the time now. When there is none, here or among
// all replicas, ok is false and retryAfter is how long until there will be one.
func (c *Counter) Take(ctx context.Context, key string, r Rate, now time.Time) (ok bool, retryAfter time.Duration) {
	if ok, retryAfter = c.memory.Take(key, r, now); !ok || c.pool == nil {
		return ok, retryAfter
	}
	if interval, _ := r.toDurations(); interval == 0 {
		return true, 0
	}
	// One at a time: a token that a replica keeps for later is a try that the
	// others refuse.
	g, err := c.pool.Tokens(ctx, key, r, 1, 0)
	if err != nil {
		return true, 0 // it was counted here
	}
	return g.N > 0, g.Wait
}

package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/limit"
)

// onePool is what replicas share, on the clock of the test.
type onePool struct {
	memory      *limit.RateLimiter
	now         time.Time
	unavailable bool
}

func (p *onePool) TakeTokens(_ context.Context, key string, r limit.Rate, _ int, _ time.Duration) (limit.Grant, error) {
	if p.unavailable {
		return limit.Grant{}, errors.New("unavailable")
	}
	ok, wait := p.memory.Take(key, r, p.now)
	if !ok {
		return limit.Grant{Wait: wait}, nil
	}
	return limit.Grant{Count: 1}, nil
}

func (p *onePool) TakeCalls(context.Context, string, int64, int, int, int64) (limit.Grant, error) {
	return limit.Grant{}, errors.New("nobody asks for calls")
}

// Replicas share one count, and each holds its own while they cannot.
func TestCounterIsShared(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pool := &onePool{memory: limit.NewRateLimiter(), now: now}
	replicas := []*limit.SharedRateLimiter{limit.NewSharedRateLimiter(pool), limit.NewSharedRateLimiter(pool)}
	rate := limit.Rate{PerSecond: 1, Burst: 4}
	take := func(replica int, want bool) {
		t.Helper()
		ok, wait := replicas[replica].Take(t.Context(), "key", rate, now)
		if ok != want || !want && (wait <= 0 || wait > time.Second) {
			t.Errorf("replica %d: %v, wait %s", replica, ok, wait)
		}
	}
	for n := range 4 {
		take(n%2, true)
	}
	take(0, false)
	take(1, false)
	pool.unavailable = true
	take(0, true) // 3 of its own 4 were counted here, with the refused one
	take(0, false)
	take(1, true)
	if ok, _ := limit.NewSharedRateLimiter(nil).Take(t.Context(), "key", limit.Rate{}, now); !ok {
		t.Error("no limit refuses")
	}
}

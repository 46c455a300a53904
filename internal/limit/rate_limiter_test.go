package limit_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/limit"
)

func TestTake(t *testing.T) {
	t.Parallel()
	type step struct {
		at    time.Duration
		ok    bool
		retry time.Duration
	}
	tests := []struct {
		name  string
		rate  limit.Rate
		steps []step
	}{
		{"a burst, then one token each interval", limit.Rate{PerSecond: 10, Burst: 2}, []step{
			{0, true, 0},
			{0, true, 0},
			{0, false, 100 * time.Millisecond},
			{60 * time.Millisecond, false, 40 * time.Millisecond},
			{100 * time.Millisecond, true, 0},
			{100 * time.Millisecond, false, 100 * time.Millisecond},
		}},
		{"a pause gives back no more than the burst", limit.Rate{PerSecond: 1, Burst: 2}, []step{
			{0, true, 0},
			{time.Hour, true, 0},
			{time.Hour, true, 0},
			{time.Hour, false, time.Second},
		}},
		{"a burst below one is one", limit.Rate{PerSecond: 1, Burst: 0}, []step{{0, true, 0}, {0, false, time.Second}}},
		{"the zero rate is no limit", limit.Rate{}, []step{{0, true, 0}, {0, true, 0}, {0, true, 0}}},
		{"a rate that is no number is no limit", limit.Rate{PerSecond: math.NaN(), Burst: 1}, []step{{0, true, 0}, {0, true, 0}}},
		{"a clock that goes back waits one interval, not the hour", limit.Rate{PerSecond: 1, Burst: 1}, []step{
			{time.Hour, true, 0},
			{0, false, time.Second},
			{time.Second, false, time.Second},
		}},
		{"a rate near zero does not overflow", limit.Rate{PerSecond: 1e-300, Burst: math.MaxInt}, []step{{0, true, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, start := limit.NewRateLimiter(), time.Now()
			for i, s := range tt.steps {
				ok, retry := m.Take("key", tt.rate, start.Add(s.at))
				if ok != s.ok || retry != s.retry {
					t.Fatalf("step %d at %v: got %v, %v; want %v, %v", i, s.at, ok, retry, s.ok, s.retry)
				}
			}
		})
	}
}

func TestKeysDoNotShare(t *testing.T) {
	t.Parallel()
	m, now, rate := limit.NewRateLimiter(), time.Now(), limit.Rate{PerSecond: 1, Burst: 1}
	for _, key := range []string{"a", "b", ""} {
		if ok, _ := m.Take(key, rate, now); !ok {
			t.Errorf("first token of %q was refused", key)
		}
		if ok, _ := m.Take(key, rate, now); ok {
			t.Errorf("second token of %q was given", key)
		}
	}
}

// model is a token bucket in the plainest form: a fraction of tokens that grows
// with time, in units of a nanosecond so that nothing is rounded.
type model struct {
	tokens, full, interval time.Duration
	last                   time.Time
}

func (b *model) take(now time.Time) bool {
	b.tokens = min(b.full, b.tokens+now.Sub(b.last))
	b.last = now
	if b.tokens < b.interval {
		return false
	}
	b.tokens -= b.interval
	return true
}

func TestAgreesWithTokenBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Rates whose interval is a whole number of nanoseconds.
		interval := time.Duration(rapid.SampledFrom([]int64{1e3, 1e6, 5e6, 1e8, 1e9}).Draw(t, "interval"))
		rate := limit.Rate{PerSecond: float64(time.Second) / float64(interval), Burst: rapid.IntRange(1, 20).Draw(t, "burst")}
		full := interval * time.Duration(rate.Burst)
		m, now := limit.NewRateLimiter(), time.Now()
		want := map[string]*model{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*interval)).Draw(t, "pause")))
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			if want[key] == nil {
				want[key] = &model{tokens: full, full: full, interval: interval, last: now}
			}
			ok, retry := m.Take(key, rate, now)
			if ok != want[key].take(now) {
				t.Fatalf("take of %q at %v: got %v", key, now, ok)
			}
			if ok != (retry == 0) || retry > interval {
				t.Fatalf("take of %q gave ok %v with retry %v, interval %v", key, ok, retry, interval)
			}
			if !ok {
				now = now.Add(retry)
				if again, _ := m.Take(key, rate, now); !again || !want[key].take(now) {
					t.Fatalf("%q was refused after the wait it was told: %v", key, retry)
				}
			}
		}
	})
}

func TestConcurrentTakesAreExact(t *testing.T) {
	t.Parallel()
	m, now := limit.NewRateLimiter(), time.Now()
	rate := limit.Rate{PerSecond: 1, Burst: 20_000}
	var given atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5_000 {
				if ok, _ := m.Take("shared", rate, now); ok {
					given.Add(1)
				}
			}
		})
	}
	// Meanwhile the shards grow and are swept.
	for i := range 5_000 {
		m.Take(fmt.Sprint(i), limit.Rate{PerSecond: 1e6}, now.Add(time.Duration(i)*time.Microsecond))
	}
	wg.Wait()
	if given.Load() != 20_000 {
		t.Errorf("%d tokens given of a burst of 20,000", given.Load())
	}
}

func TestIdleKeysAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, rate := limit.NewRateLimiter(), limit.Rate{PerSecond: 10, Burst: 10}
		for round := range 20 {
			for i := range 10_000 {
				m.Take(fmt.Sprintf("%d/%d", round, i), rate, time.Now())
			}
			time.Sleep(2 * time.Second)
		}
		if n := m.Len(); n > 40_000 {
			t.Errorf("%d keys held after 200,000 came and went", n)
		}
		time.Sleep(2 * time.Minute)
		for i := range 2_000 {
			m.Take(fmt.Sprint(i), rate, time.Now())
		}
		if n := m.Len(); n != 2_000 {
			t.Errorf("%d keys held, want the 2000 that are in use", n)
		}
	})
}

func TestSweepKeepsWhatCounts(t *testing.T) {
	t.Parallel()
	m, now := limit.NewRateLimiter(), time.Now()
	slow := limit.Rate{PerSecond: 0.001, Burst: 1}
	m.Take("spent", slow, now)
	for i := range 50_000 {
		m.Take(fmt.Sprint(i), limit.Rate{PerSecond: 1e6, Burst: 1}, now.Add(time.Duration(i)*time.Millisecond))
	}
	if ok, _ := m.Take("spent", slow, now.Add(time.Minute)); ok {
		t.Error("a spent key was forgotten by a sweep")
	}
}

func TestWarmKeyAllocatesNothing(t *testing.T) {
	m, rate := limit.NewRateLimiter(), limit.Rate{PerSecond: 1e6, Burst: 10}
	m.Take("key", rate, time.Now())
	if n := testing.AllocsPerRun(1000, func() { m.Take("key", rate, time.Now()) }); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}

func BenchmarkTake(b *testing.B) {
	m, rate := limit.NewRateLimiter(), limit.Rate{PerSecond: 200, Burst: 400}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		now := time.Now()
		for pb.Next() {
			m.Take("01JD0000000000000000000000", rate, now)
		}
	})
}

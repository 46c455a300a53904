package limit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

func bound(who string, l junctor.Limits) limit.Bound {
	return limit.Bound{Kind: who, Account: &limit.Account{}, Limits: &l}
}

func limited(t *testing.T, err error, after time.Duration) {
	t.Helper()
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok || e.Code != junctor.CodeLimited || e.RetryAfter != after || e.Allowance == nil {
		t.Fatalf("got %#v, want limited for %s with an allowance", err, after)
	}
}

func TestEnterCountsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := []limit.Bound{bound("agent", junctor.Limits{PerSecond: 2, Burst: 3})}
		for want := 2; want >= 0; want-- {
			pass, err := limit.Enter(t.Context(), b, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if a := pass.Allowance; a.Name != "agent-per-second" || a.Limit != 3 || a.Remaining != want {
				t.Fatalf("allowance %+v, want %d left", a, want)
			}
			pass.Leave()
		}
		_, err := limit.Enter(t.Context(), b, time.Now())
		limited(t, err, 500*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		if _, err := limit.Enter(t.Context(), b, time.Now()); err != nil {
			t.Fatalf("after the wait that was named: %v", err)
		}
	})
}

func TestEnterCountsTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := []limit.Bound{bound("user", junctor.Limits{PerDay: 2})}
		for range 2 {
			if _, err := limit.Enter(t.Context(), b, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		midnight := time.Unix((limit.Day(now)+1)*86400, 0)
		_, err := limit.Enter(t.Context(), b, now)
		limited(t, err, midnight.Sub(now))
		if _, err := limit.Enter(t.Context(), b, midnight); err != nil {
			t.Fatalf("on the next day: %v", err)
		}
	})
}

// A call that one bound refuses counts against none.
func TestEnterIsAllOrNothing(t *testing.T) {
	now := time.Now()
	agent := bound("agent", junctor.Limits{PerSecond: 1, Burst: 5, PerDay: 5, Concurrent: 5})
	tool := bound("tool", junctor.Limits{PerSecond: 0.001, Burst: 1, Concurrent: 1})
	pass, err := limit.Enter(t.Context(), []limit.Bound{agent, tool}, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := limit.Enter(t.Context(), []limit.Bound{agent, tool}, now); junctor.CodeOf(err) != junctor.CodeLimited {
			t.Fatal(err)
		}
	}
	pass.Leave()
	for i := range 4 {
		if _, err := limit.Enter(t.Context(), []limit.Bound{agent}, now); err != nil {
			t.Fatalf("call %d after refusals of another bound: %v", i, err)
		}
	}
	if _, err := limit.Enter(t.Context(), []limit.Bound{agent}, now); err == nil {
		t.Fatal("the sixth call of five passed")
	}
}

func TestEnterQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := []limit.Bound{bound("agent", junctor.Limits{PerSecond: 1, Burst: 1, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 3_000})}
		start := time.Now()
		var wg sync.WaitGroup
		var passed, refused atomic.Int64
		for range 10 {
			wg.Go(func() {
				if _, err := limit.Enter(t.Context(), b, time.Now()); err != nil {
					refused.Add(1)
				} else {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 4 || refused.Load() != 6 {
			t.Fatalf("%d passed and %d were refused within a wait of 3 s at one a second, want 4 and 6", passed.Load(), refused.Load())
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Fatalf("took %s", took)
		}
	})
}

func TestEnterQueuesForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := []limit.Bound{bound("agent", junctor.Limits{Concurrent: 2, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 5_000})}
		var wg sync.WaitGroup
		var passed, most, now atomic.Int64
		for range 6 {
			wg.Go(func() {
				pass, err := limit.Enter(t.Context(), b, time.Now())
				if err != nil {
					return
				}
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(2 * time.Second)
				now.Add(-1)
				passed.Add(1)
				pass.Leave()
			})
		}
		wg.Wait()
		if passed.Load() != 6 || most.Load() != 2 {
			t.Fatalf("%d passed, %d at a time; want 6, 2 at a time", passed.Load(), most.Load())
		}
		pass, _ := limit.Enter(t.Context(), b, time.Now())
		second, _ := limit.Enter(t.Context(), b, time.Now())
		if _, err := limit.Enter(t.Context(), b, time.Now()); junctor.CodeOf(err) != junctor.CodeLimited {
			t.Fatalf("a third at a time: %v", err)
		}
		pass.Leave()
		second.Leave()
	})
}

// A limit that changes holds for those who wait too: more places let them in when
// the next one comes, fewer keep them waiting.
func TestPlacesFollowTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := &limit.Account{}
		var running atomic.Int32
		enter := func(most int) {
			l := junctor.Limits{Concurrent: most, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 3_600_000}
			pass, err := limit.Enter(t.Context(), []limit.Bound{{Kind: "agent", Account: account, Limits: &l}}, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			running.Add(1)
			time.Sleep(time.Minute)
			running.Add(-1)
			pass.Leave()
		}
		expect := func(want int32, when string) {
			t.Helper()
			synctest.Wait()
			if got := running.Load(); got != want {
				t.Fatalf("%d run %s, want %d", got, when, want)
			}
		}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { enter(1) })
		}
		expect(1, "under a limit of 1")
		time.Sleep(30 * time.Second)
		all.Go(func() { enter(4) })
		expect(4, "after it was raised to 4")
		time.Sleep(15 * time.Second)
		all.Go(func() { enter(2) })
		expect(4, "after it was lowered to 2, while they run on")
		time.Sleep(20 * time.Second) // the first has ended
		expect(3, "with one gone")
		time.Sleep(30 * time.Second) // the other three too
		expect(2, "under a limit of 2")
		all.Wait()
	})
}

func TestEnterEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, l := range map[string]junctor.Limits{
			"rate":  {PerSecond: 0.1, Burst: 1, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 30_000},
			"place": {Concurrent: 1, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 30_000},
		} {
			b := []limit.Bound{bound("agent", l)}
			first, err := limit.Enter(t.Context(), b, time.Now())
			if err != nil {
				t.Fatal(name, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := limit.Enter(ctx, b, time.Now()); junctor.CodeOf(err) != junctor.CodeTimeout {
				t.Fatal(name, err)
			}
			cancel()
			first.Leave()
			time.Sleep(9 * time.Second) // the token that the second gave back is the third's
			if pass, err := limit.Enter(t.Context(), b, time.Now()); err != nil {
				t.Fatal(name, err)
			} else {
				pass.Leave()
			}
		}
	})
}

// Whatever callers do, no second and no day has more calls than the limits say,
// and what is refused is told a time at which it would pass.
func TestEnterKeepsEveryLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := junctor.Limits{
			PerSecond: rapid.Float64Range(0.5, 50).Draw(rt, "rate"), Burst: rapid.IntRange(1, 10).Draw(rt, "burst"),
			PerDay: rapid.IntRange(1, 40).Draw(rt, "day"),
		}
		b := []limit.Bound{bound("agent", l)}
		now := time.Unix(1_800_000_000, 0)
		begin, passed, today, day := now, 0, 0, limit.Day(now)
		for range rapid.IntRange(1, 80).Draw(rt, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(rt, "pause")) / time.Duration(rapid.SampledFrom([]int{1, 1000, 100000}).Draw(rt, "scale")))
			if limit.Day(now) != day {
				day, today = limit.Day(now), 0
			}
			_, err := limit.Enter(context.Background(), b, now)
			if err == nil {
				passed, today = passed+1, today+1
			} else if e := junctor.AsError(err); e.RetryAfter <= 0 {
				rt.Fatalf("refused without a time to come back: %v", err)
			}
			if today > l.PerDay {
				rt.Fatalf("%d calls on a day of %d", today, l.PerDay)
			}
			if most := float64(l.Burst) + now.Sub(begin).Seconds()*l.PerSecond + 1e-6; float64(passed) > most {
				rt.Fatalf("%d calls in %s at %v a second and a burst of %d", passed, now.Sub(begin), l.PerSecond, l.Burst)
			}
		}
	})
}

package lazyctx

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever happens in whichever order, a context with limits says what one of package
// context would say, as long as nobody restarts it.
func TestLimitsAsPackageContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := map[string]func(ctx context.Context, cancel, cancelParent context.CancelFunc){
			"cancel": func(_ context.Context, cancel, _ context.CancelFunc) { cancel() },
			"parent": func(_ context.Context, _, parent context.CancelFunc) { parent() },
			"late":   func(context.Context, context.CancelFunc, context.CancelFunc) { time.Sleep(2 * time.Second) },
			"done":   func(ctx context.Context, _, _ context.CancelFunc) { ctx.Done() },
			"err":    func(ctx context.Context, _, _ context.CancelFunc) { _ = ctx.Err() },
			"child":  func(ctx context.Context, _, _ context.CancelFunc) { context.AfterFunc(ctx, func() {}) },
		}
		outcome := func(makeCtx func(context.Context) (context.Context, context.CancelFunc), order ...string) [3]any {
			parent, cancelParent := context.WithTimeout(context.WithValue(t.Context(), key{}, 7), time.Hour)
			defer cancelParent()
			ctx, cancel := makeCtx(parent)
			defer cancel()
			at, _ := ctx.Deadline()
			left := time.Until(at)
			for _, name := range order {
				steps[name](ctx, cancel, cancelParent)
				synctest.Wait()
			}
			child, cancelChild := context.WithCancel(ctx)
			defer cancelChild()
			synctest.Wait()
			ended := false
			select {
			case <-ctx.Done():
				ended = child.Err() != nil
			default:
			}
			err := ctx.Err()
			if ended != (err != nil) || !errors.Is(child.Err(), err) {
				t.Errorf("%v: done is %t, the error %v, that of a child %v", order, ended, err, child.Err())
			}
			if slices.Contains(order, "late") && slices.Contains(order, "parent") && err != nil {
				err = context.Canceled // nobody may have seen which of them came first
			}
			return [3]any{err, ctx.Value(key{}), left}
		}
		limited := func(idle, total time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
			return func(parent context.Context) (context.Context, context.CancelFunc) {
				c := WithLimits(parent, &Group{}, idle, total)
				return c, c.Cancel
			}
		}
		timeout := func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(parent, time.Second)
		}
		for a := range steps {
			for b := range steps {
				for c := range steps {
					want := outcome(timeout, a, b, c)
					for _, limits := range [][2]time.Duration{{time.Second, 0}, {0, time.Second}, {time.Second, time.Minute}, {time.Minute, time.Second}} {
						if got := outcome(limited(limits[0], limits[1]), a, b, c); got != want {
							t.Errorf("%s, %s, %s, limits %v: %v, but package context %v", a, b, c, limits, got, want)
						}
					}
					if got, want := outcome(limited(0, 0), a, b, c), outcome(context.WithCancel, a, b, c); got != want {
						t.Errorf("%s, %s, %s, no limits: %v, but package context %v", a, b, c, got, want)
					}
				}
			}
		}
	})
}

// A context that is restarted lives until it is not, or until its total limit.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idle, total, every, stops, ends time.Duration
		which                           Limit
	}{
		"never restarted":       {5 * time.Minute, time.Hour, time.Hour, 0, 5 * time.Minute, LimitIdle},
		"restarted for a while": {5 * time.Minute, time.Hour, time.Minute, 10 * time.Minute, 15 * time.Minute, LimitIdle},
		"restarted for ever":    {5 * time.Minute, time.Hour, time.Minute, 2 * time.Hour, time.Hour, LimitTotal},
		"no total":              {5 * time.Minute, 0, time.Minute, 48 * time.Hour, 48*time.Hour + 5*time.Minute, LimitIdle},
		"total first":           {5 * time.Minute, time.Minute, time.Hour, 0, time.Minute, LimitTotal},
		"no idle":               {0, time.Minute, time.Second, time.Hour, time.Minute, LimitTotal},
	} {
		for _, waits := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := WithLimits(t.Context(), nil, tt.idle, tt.total)
					defer c.Cancel()
					begun := time.Now()
					if waits {
						child, cancel := context.WithCancel(c)
						defer cancel()
						go func() {
							for time.Since(begun) < tt.stops {
								time.Sleep(tt.every)
								c.Restart()
							}
						}()
						<-child.Done()
						if took := time.Since(begun); took != tt.ends || !errors.Is(child.Err(), context.DeadlineExceeded) {
							t.Errorf("a child ended after %s with %v, want %s", took, child.Err(), tt.ends)
						}
						time.Sleep(max(0, tt.stops-time.Since(begun)) + tt.every) // nothing brings it back
					} else {
						for c.Err() == nil {
							time.Sleep(time.Second)
							if since := time.Since(begun); since <= tt.stops && since%tt.every == 0 {
								c.Restart()
							}
						}
						if took := time.Since(begun); took != tt.ends {
							t.Errorf("ended after %s, want %s", took, tt.ends)
						}
					}
					if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) || c.Which() != tt.which {
						t.Errorf("ended by %d with %v, want %d", c.Which(), err, tt.which)
					}
				})
			})
		}
	}
}

// A group ends its contexts, those that are waited for and those that are not, and those
// that are made later.
func TestGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &Group{}
		ended := WithLimits(t.Context(), g, time.Minute, 0)
		ended.Done()
		ended.Cancel()
		var told atomic.Int64
		all := make([]*Limited, 5)
		for i := range all {
			all[i] = WithLimits(t.Context(), g, time.Minute, time.Hour)
			defer all[i].Cancel()
			if i > 0 {
				context.AfterFunc(all[i], func() { told.Add(1) })
			}
			synctest.Wait()
		}
		all[2].Cancel()
		g.End()
		all = append(all, WithLimits(t.Context(), g, time.Minute, 0))
		synctest.Wait()
		for i, c := range all {
			select {
			case <-c.Done():
			default:
				t.Errorf("%d goes on", i)
			}
			if !errors.Is(c.Err(), context.Canceled) || c.Which() != LimitNone {
				t.Errorf("%d: %v, %d", i, c.Err(), c.Which())
			}
		}
		if told.Load() != 4 {
			t.Errorf("%d of 4 were told", told.Load())
		}
	})
}

// A context with limits that nobody waits for costs one object.
func TestLimitsCost(t *testing.T) {
	parent, cancelParent := context.WithCancel(t.Context())
	defer cancelParent()
	g := &Group{}
	n := testing.AllocsPerRun(1000, func() {
		c := WithLimits(parent, g, time.Minute, time.Hour)
		c.Restart()
		if c.Err() != nil {
			t.Error(c.Err())
		}
		c.Cancel()
	})
	if n > 1 {
		t.Errorf("%v allocations", n)
	}
	// What a waiter costs, against package context.
	waits := testing.AllocsPerRun(1000, func() {
		c := WithLimits(parent, g, time.Minute, time.Hour)
		c.Done()
		c.Cancel()
	})
	usual := testing.AllocsPerRun(1000, func() {
		c, cancel := WithTimeout(parent, time.Minute)
		c.Done()
		cancel()
	})
	t.Logf("somebody waits: %v allocations, with a time-out %v", waits, usual)
	if waits > usual+2 {
		t.Errorf("%v allocations if somebody waits, %v with a time-out", waits, usual)
	}
}

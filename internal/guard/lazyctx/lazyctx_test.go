package lazyctx

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// Whatever happens in whichever order, a lazy context says what one of package
// context would say.
func TestAsPackageContext(t *testing.T) {
	t.Parallel()
	type makes struct {
		cancel  func(context.Context) (context.Context, context.CancelFunc)
		timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	}
	synctest.Test(t, func(t *testing.T) {
		steps := map[string]func(ctx context.Context, cancel, cancelParent context.CancelFunc){
			"cancel": func(_ context.Context, cancel, _ context.CancelFunc) { cancel() },
			"parent": func(_ context.Context, _, parent context.CancelFunc) { parent() },
			"late":   func(context.Context, context.CancelFunc, context.CancelFunc) { time.Sleep(2 * time.Second) },
			"done":   func(ctx context.Context, _, _ context.CancelFunc) { ctx.Done() },
			"err":    func(ctx context.Context, _, _ context.CancelFunc) { _ = ctx.Err() },
			"child":  func(ctx context.Context, _, _ context.CancelFunc) { context.AfterFunc(ctx, func() {}) },
		}
		said := func(t *testing.T, m makes, timed bool, order ...string) [3]any {
			t.Helper()
			parent, cancelParent := context.WithTimeout(context.WithValue(t.Context(), key{}, 7), time.Hour)
			defer cancelParent()
			ctx, cancel := m.cancel(parent)
			if timed {
				ctx, cancel = m.timeout(parent, time.Second)
			}
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
				err = context.Canceled // which of them came first nobody may have seen
			}
			return [3]any{err, ctx.Value(key{}), left}
		}
		for a := range steps {
			for b := range steps {
				for c := range steps {
					for _, timed := range []bool{false, true} {
						got := said(t, makes{WithCancel, WithTimeout}, timed, a, b, c)
						want := said(t, makes{context.WithCancel, context.WithTimeout}, timed, a, b, c)
						if got != want {
							t.Errorf("%s, %s, %s, timed %t: %v, but package context %v", a, b, c, timed, got, want)
						}
					}
				}
			}
		}
	})
}

// A child is told at once.
func TestChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun, told := time.Now(), make(chan time.Duration, 1)
		context.AfterFunc(ctx, func() { told <- time.Since(begun) })
		if after := <-told; after != time.Second {
			t.Errorf("after %s", after)
		}
	})
}

// What nobody waits for costs one object and what ends it.
func TestCost(t *testing.T) {
	parent, cancelParent := context.WithCancel(t.Context())
	defer cancelParent()
	n := testing.AllocsPerRun(1000, func() {
		ctx, cancel := WithTimeout(parent, time.Minute)
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		cancel()
	})
	if n > 2 {
		t.Errorf("%v allocations", n)
	}
}

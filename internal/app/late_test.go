package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Who comes with something that is not known waits for a look that began behind
// their coming; as many as come meanwhile share one, and nobody waits for a second one
// about the same.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		var last atomic.Int64
		l := newLate(func(context.Context) error {
			last.Store(time.Now().UnixNano())
			looks.Add(1)
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(n) * time.Millisecond)
				came := time.Now().UnixNano()
				if !l.missed([32]byte{byte(n)}) {
					t.Errorf("%d was not looked for", n)
				}
				if last.Load() < came {
					t.Errorf("%d came after the look that was for it", n)
				}
			})
		}
		all.Wait()
		if n := looks.Load(); n < 2 || n > 3 {
			t.Errorf("%d looks for 100 who came within 100 ms", n)
		}
		before := looks.Load()
		for n := range 100 {
			if l.missed([32]byte{byte(n)}) {
				t.Errorf("%d is looked for again", n)
			}
		}
		if looks.Load() != before {
			t.Error("what is not there was looked for again")
		}
	})
}

// While nothing can be seen nothing is known: the next one looks again.
func TestLateLooksAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fail := true
		l := newLate(func(context.Context) error {
			if fail {
				return errors.New("away")
			}
			return nil
		})
		if l.missed([32]byte{1}) {
			t.Error("it was looked for")
		}
		fail = false
		if !l.missed([32]byte{1}) {
			t.Error("it was not looked for again")
		}
	})
}

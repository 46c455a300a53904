package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestMissLookup checks that a caller waits for a lookup that begins after it came,
// that callers share lookups, and that nobody waits twice for the same credential.
func TestMissLookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		var last atomic.Int64
		l := NewMissLookup(func(context.Context) error {
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
				if !l.LookUp([32]byte{byte(n)}) {
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
			if l.LookUp([32]byte{byte(n)}) {
				t.Errorf("%d is looked for again", n)
			}
		}
		if looks.Load() != before {
			t.Error("what is not there was looked for again")
		}
	})
}

// TestMissLookupAfterFailure checks that a lookup that failed is repeated.
func TestMissLookupAfterFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fail := true
		l := NewMissLookup(func(context.Context) error {
			if fail {
				return errors.New("away")
			}
			return nil
		})
		if l.LookUp([32]byte{1}) {
			t.Error("it was looked for")
		}
		fail = false
		if !l.LookUp([32]byte{1}) {
			t.Error("it was not looked for again")
		}
	})
}

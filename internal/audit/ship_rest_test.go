package audit

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestAfter(t *testing.T) {
	t.Parallel()
	const took = 10 * time.Millisecond
	for processors, want := range map[int]time.Duration{1: 630 * time.Millisecond, 2: 310 * time.Millisecond, 32: took, 63: took / 63, 64: 0, 128: 0} {
		if got := restDuration(took, processors); got != want {
			t.Errorf("%d processors: %v, want %v", processors, got, want)
		}
	}
	if got := restDuration(time.Hour, 1); got != shipMaxRest {
		t.Errorf("after an hour: %v, want %v", got, shipMaxRest)
	}
}

// A rest ends soon after the last call.
func TestRestEndsWithTheCalls(t *testing.T) {
	t.Parallel()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		j := open(t, Options{Dir: dir})
		for calls, want := range []time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond} {
			seq, begin := j.lastSeq(), time.Now()
			for i := range calls {
				time.AfterFunc(time.Duration(i)*shipPollInterval-time.Millisecond, func() { run(t, j, "c", 1) })
			}
			synctest.Wait()
			if got := time.Since(begin); !j.yieldToCalls(t.Context(), seq, time.Second) || time.Since(begin) != want {
				t.Errorf("%d calls: rested %v from %v on, want %v", calls, time.Since(begin), got, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if j.yieldToCalls(ended, j.lastSeq(), time.Second) {
			t.Error("it goes on after the end")
		}
		closed(t, j)
	})
}

// slow is a copy that takes its time over each batch, while calls go on or not.
type slow struct {
	memory
	meanwhile func() // may be nil
	took      time.Duration
	times     []time.Time // when a batch began
}

// Ship takes its time, which costs none: it runs in a synctest bubble.
func (s *slow) Ship(ctx context.Context, rs []Record) error {
	s.times = append(s.times, time.Now())
	time.Sleep(s.took)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return s.memory.Ship(ctx, rs)
}

// Copying leaves the processors to calls that come, and only to those.
func TestShippingRests(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"calls go on": 1, "nobody calls": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			synctest.Test(t, func(t *testing.T) {
				s := &slow{took: 10 * time.Millisecond}
				j := open(t, Options{Dir: dir, Shipper: s})
				time.Sleep(time.Second) // what the journal says of its beginning is copied
				synctest.Wait()
				s.times = nil
				s.meanwhile = func() {
					if len(s.times) < 4 {
						run(t, j, "m", calls)
					}
				}
				run(t, j, "a", 2*shipBatch) // two records each
				time.Sleep(2 * time.Second)
				synctest.Wait()
				closed(t, j)
				want := s.took
				if calls > 0 {
					want += min(restDuration(s.took, runtime.GOMAXPROCS(0)), shipPollInterval) // one call
				}
				if len(s.times) < 4 {
					t.Fatalf("%d batches", len(s.times))
				}
				for i := range 3 {
					if got := s.times[i+1].Sub(s.times[i]); got != want {
						t.Errorf("batch %d began %v after the one before it, want %v", i+2, got, want)
					}
				}
			})
		})
	}
}

package gateway

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What has ended leaves its goroutine to what comes next; a panic too. What runs
// at the same time runs at the same time, and only so many wait for more.
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWork(slog.New(slog.DiscardHandler))
		for range 10 {
			ran := false
			w.start(func() { ran = true; panic("a fault") })
			synctest.Wait()
			if n := w.idle.Load(); !ran || n != 1 {
				t.Fatalf("ran %v, %d wait", ran, n)
			}
		}
		const many = maxIdle + 10
		var all sync.WaitGroup
		all.Add(many)
		for range many {
			w.start(func() {
				all.Done()
				all.Wait() // ends only when all have begun
			})
		}
		synctest.Wait()
		if n := w.idle.Load(); n != maxIdle {
			t.Errorf("%d wait, want %d", n, maxIdle)
		}
		end := make(chan struct{})
		w.start(func() { <-end })
		time.AfterFunc(time.Second, func() { close(end) })
		begin := time.Now()
		w.stop(time.Minute)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("stop took %v, want what the last one takes", took)
		}
		w.stop(time.Minute) // again
		if w.start(func() { t.Error("started after the end") }) || w.idle.Load() != 0 {
			t.Errorf("%d wait after the end", w.idle.Load())
		}
	})
}

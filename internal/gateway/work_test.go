package gateway

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A panic ends nothing but itself; the end waits for all that runs, and nothing
// begins after it.
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWork(slog.New(slog.DiscardHandler))
		ran := false
		w.start(func() { ran = true; panic("a fault") })
		synctest.Wait()
		if !ran {
			t.Fatal("it did not run")
		}
		w.start(func() { time.Sleep(time.Second) })
		if !w.enter() {
			t.Fatal("too late before the end")
		}
		time.AfterFunc(2*time.Second, w.leave)
		begin := time.Now()
		w.stop(time.Minute)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("stop took %v, want what the last one takes", took)
		}
		w.stop(time.Minute) // again
		if w.start(func() { t.Error("started after the end") }) || w.enter() {
			t.Error("begun after the end")
		}
		synctest.Wait()
	})
}

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
		w := newBackgroundWork(slog.New(slog.DiscardHandler))
		ran := false
		w.startWork(func() { ran = true; panic("a fault") })
		synctest.Wait()
		if !ran {
			t.Fatal("it did not run")
		}
		w.startWork(func() { time.Sleep(time.Second) })
		if !w.beginWork() {
			t.Fatal("too late before the end")
		}
		time.AfterFunc(2*time.Second, w.endWork)
		begin := time.Now()
		w.stopWithin(time.Minute)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("stop took %v, want what the last one takes", took)
		}
		w.stopWithin(time.Minute) // again
		if w.startWork(func() { t.Error("started after the end") }) || w.beginWork() {
			t.Error("begun after the end")
		}
		synctest.Wait()
	})
}

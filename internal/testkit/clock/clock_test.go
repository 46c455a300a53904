package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/clock"
)

func TestClock(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	c := clock.New(noon)
	now := func() func() time.Time { return c.Now }() // the form that packages take
	if got := now(); !got.Equal(noon) {
		t.Errorf("a new clock shows %v, want %v", got, noon)
	}
	if got := c.Advance(90 * time.Minute); !got.Equal(noon.Add(90*time.Minute)) || !now().Equal(got) {
		t.Errorf("after Advance: %v, Now %v", got, now())
	}
	if got := c.Back(time.Hour); !got.Equal(noon.Add(30*time.Minute)) || !now().Equal(got) {
		t.Errorf("after Back: %v, Now %v", got, now())
	}
	c.Set(noon.AddDate(0, 0, -1))
	if got := now(); !got.Equal(noon.Add(-24 * time.Hour)) {
		t.Errorf("after Set: %v", got)
	}
}

func TestClockIsSharedSafely(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	c := clock.New(start)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c.Advance(time.Second)
				c.Now()
			}
		})
	}
	wg.Wait()
	if got := c.Now().Sub(start); got != 800*time.Second {
		t.Errorf("800 steps of a second moved the clock by %v", got)
	}
}

package cluster

import (
	"testing"
	"time"
)

func TestClockFollowsWhereItIsOff(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := NewClock(func() time.Time { return local })
	for _, step := range []struct {
		name    string
		took    time.Duration // until the answer was there
		there   time.Duration // what the database's clock shows, from ours
		changed bool
		off     time.Duration // afterwards
	}{
		{"the same", 0, 0, false, 0},
		{"hardly off", 2 * time.Millisecond, 200 * time.Millisecond, false, 0},
		{"an answer that took so long says little", 10 * time.Second, 5 * time.Second, false, 0},
		{"behind by five minutes", 2 * time.Millisecond, 5*time.Minute + time.Millisecond, true, 5 * time.Minute},
		{"still so", 4 * time.Millisecond, 5*time.Minute + 100*time.Millisecond, false, 5 * time.Minute},
		{"ahead by five minutes", 0, -5 * time.Minute, true, -5 * time.Minute},
		{"set right", 0, 30 * time.Millisecond, true, 0},
	} {
		if changed := c.adjust(local, local.Add(step.took), local.Add(step.there)); changed != step.changed {
			t.Errorf("%s: changed is %v", step.name, changed)
		}
		if off := c.Now().Sub(local); off != step.off {
			t.Errorf("%s: off by %v, want %v", step.name, off, step.off)
		}
	}
}

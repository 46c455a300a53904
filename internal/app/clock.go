package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// clockSlack is by how much two clocks may differ and still be taken for the same.
const clockSlack = 250 * time.Millisecond

// clock tells the time. What processes that share a database decide by the time
// (whose a lease is, whether a key has expired, whether a message is too old) they
// must decide alike, so one whose own clock is off goes by the database's.
type clock struct {
	local func() time.Time
	off   atomic.Int64 // what is added to the local time
}

// Now is the time by which this process goes.
func (c *clock) Now() time.Time {
	off := c.off.Load()
	if off == 0 {
		return c.local()
	}
	return c.local().Add(time.Duration(off))
}

// set compares with the clock that all go by, which showed there at some moment
// between two of ours. It says whether that changed anything. Small differences
// change nothing, so that the time does not jump to and fro.
func (c *clock) set(before, after, there time.Time) bool {
	half := after.Sub(before) / 2
	off, unsure := there.Sub(before.Add(half)), clockSlack+half
	if (off - time.Duration(c.off.Load())).Abs() <= unsure {
		return false
	}
	if off.Abs() <= unsure {
		off = 0
	}
	c.off.Store(int64(off))
	return true
}

// agree has this process go by the clock of the database that it shares.
func (a *App) agree(ctx context.Context) error {
	before := a.clock.local()
	there, err := a.store.Clock(ctx)
	if err != nil {
		return err
	}
	if a.clock.set(before, a.clock.local(), there) {
		a.log.Warn("the clock of this machine and that of the database differ, and the database's counts; set them with NTP", slog.Duration("by", time.Duration(a.clock.off.Load()).Round(time.Millisecond)))
	}
	return nil
}

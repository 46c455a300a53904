package cluster

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/store"
)

// clockSlack is the greatest difference between two clocks that counts as none.
const clockSlack = 250 * time.Millisecond

// Clock tells the time. Replicas must agree on decisions by time: who holds a lease,
// whether a key has expired, whether a message is too old. So a replica whose own
// clock is off follows the clock of the database.
type Clock struct {
	local  func() time.Time
	offset atomic.Int64 // added to the local time, in nanoseconds
}

// NewClock returns a Clock that follows local until Agree finds it off.
func NewClock(local func() time.Time) *Clock { return &Clock{local: local} }

// Now returns the time that this replica goes by.
func (c *Clock) Now() time.Time {
	offset := c.offset.Load()
	if offset == 0 {
		return c.local()
	}
	return c.local().Add(time.Duration(offset))
}

// adjust compares the local clock with the shared one, which showed there at some
// moment between before and after. It reports whether the offset changed. Small
// differences change nothing, so that the time does not jump back and forth.
func (c *Clock) adjust(before, after, there time.Time) bool {
	half := after.Sub(before) / 2
	offset, unsure := there.Sub(before.Add(half)), clockSlack+half
	if (offset - time.Duration(c.offset.Load())).Abs() <= unsure {
		return false
	}
	if offset.Abs() <= unsure {
		offset = 0
	}
	c.offset.Store(int64(offset))
	return true
}

// Agree compares the clock with that of the database and follows it if they differ.
func (c *Clock) Agree(ctx context.Context, st *store.Store, log *slog.Logger) error {
	before := c.local()
	there, err := st.Clock(ctx)
	if err != nil {
		return err
	}
	if c.adjust(before, c.local(), there) {
		log.Warn("the clock of this machine differs from the database's, which is used: synchronize both with NTP", slog.Duration("by", time.Duration(c.offset.Load()).Round(time.Millisecond)))
	}
	return nil
}

// Package clock is a clock that a test sets. Its Now stands wherever a package
// takes `Now func() time.Time`. It stands outside the data path, and only tests
// import it; what a goroutine waits for belongs into testing/synctest instead.
package clock

import (
	"sync"
	"time"
)

// Clock stands still until it is moved. All methods may be called from any
// goroutine.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// New makes a clock that shows at.
func New(at time.Time) *Clock { return &Clock{now: at} }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on, or back where d is below zero, and gives the new
// time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Back sets the clock back, as an operator or a time server may do, and gives
// the new time.
func (c *Clock) Back(d time.Duration) time.Time { return c.Advance(-d) }

// Set makes the clock show at.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = at
}

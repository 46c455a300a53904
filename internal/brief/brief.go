// Package brief makes contexts for work that is mostly over before anybody waits
// for its end: calls. Package guard bounds each by one, package gateway lets the
// sender of each cancel it.
package brief

import (
	"context"
	"errors"
	"sync"
	"time"
)

// WithCancel is that of package context. Timers, channels and the tie to parent are
// made when somebody asks for Done; who asks for Err alone needs none of them.
func WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := &brief{Context: parent}
	return c, c.cancel
}

// WithTimeout is that of package context, made as WithCancel makes it.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &brief{Context: parent, deadline: time.Now().Add(d)}
	return c, c.cancel
}

// brief is a context of package context that is not made before it is needed.
type brief struct {
	context.Context           // the parent
	deadline        time.Time // zero is none

	mu   sync.Mutex
	err  error           // it ended while full was nil
	full context.Context // nil until somebody waits
	end  context.CancelFunc
}

// Deadline implements context.Context.
func (c *brief) Deadline() (time.Time, bool) {
	at, ok := c.Context.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(at)) {
		return c.deadline, true
	}
	return at, ok
}

// Err implements context.Context.
func (c *brief) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		return c.full.Err()
	}
	return c.look()
}

// look sees whether it has ended. Of two reasons that came in between two looks, it
// takes the parent's.
func (c *brief) look() error {
	switch {
	case c.err != nil:
	case c.Context.Err() != nil:
		c.err = c.Context.Err()
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Done implements context.Context.
func (c *brief) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil {
		if c.deadline.IsZero() || errors.Is(c.err, context.Canceled) { // before its time
			c.full, c.end = context.WithCancel(c.Context)
		} else {
			c.full, c.end = context.WithDeadline(c.Context, c.deadline)
		}
		if c.err != nil {
			c.end()
		}
	}
	return c.full.Done()
}

// Value implements context.Context. What package context looks for there finds the
// one that it made itself, and children are tied to that.
func (c *brief) Value(key any) any {
	c.mu.Lock()
	from := c.full
	c.mu.Unlock()
	if from == nil {
		from = c.Context
	}
	return from.Value(key)
}

func (c *brief) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		c.end()
	} else if c.look() == nil {
		c.err = context.Canceled
	}
}

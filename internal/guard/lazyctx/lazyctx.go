// Package lazyctx makes contexts that cost nothing until somebody waits for them.
// Most calls end before anything selects on their context, so the timer, the
// channel and the registration with the parent would be wasted work on the hot
// path. Package guard bounds each call with WithTimeout, and package gateway
// cancels a call with WithCancel when its sender does.
package lazyctx

import (
	"context"
	"errors"
	"sync"
	"time"
)

// WithCancel behaves like [context.WithCancel]. The channel and the registration
// with parent are made by the first call of Done; Err needs neither.
func WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := &lazyContext{Context: parent}
	return c, c.cancel
}

// WithTimeout behaves like [context.WithTimeout]. Its timer too is made by the
// first call of Done.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &lazyContext{Context: parent, deadline: time.Now().Add(d)}
	return c, c.cancel
}

// lazyContext becomes a context of package context at the first call of Done.
type lazyContext struct {
	context.Context           // the parent
	deadline        time.Time // zero: none

	mu   sync.Mutex
	err  error           // set if the context ended while full was nil
	full context.Context // nil until somebody waits
	end  context.CancelFunc
}

// Deadline implements context.Context.
func (c *lazyContext) Deadline() (time.Time, bool) {
	at, ok := c.Context.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(at)) {
		return c.deadline, true
	}
	return at, ok
}

// Err implements context.Context.
func (c *lazyContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		return c.full.Err()
	}
	return c.checkEnd()
}

// checkEnd returns why the context has ended, or nil. If the parent and the
// deadline both ended since the last check, the parent's reason wins. The caller
// holds mu, and full is nil.
func (c *lazyContext) checkEnd() error {
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
func (c *lazyContext) Done() <-chan struct{} {
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

// Value implements context.Context. Package context looks up its own cancelable
// parent by a private key; forwarding to full lets it register children there
// instead of starting a goroutine for each.
func (c *lazyContext) Value(key any) any {
	c.mu.Lock()
	from := c.full
	c.mu.Unlock()
	if from == nil {
		from = c.Context
	}
	return from.Value(key)
}

func (c *lazyContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		c.end()
	} else if c.checkEnd() == nil {
		c.err = context.Canceled
	}
}

package lazyctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Limit is a limit of time that ended a Limited context.
type Limit uint8

// The limits.
const (
	LimitNone  Limit = iota // the parent, the group or Cancel ended it, or nothing has
	LimitIdle               // it was not restarted for too long
	LimitTotal              // it existed for too long
)

// Limited is a context that ends if Restart is not called for too long, or if it has
// existed for too long, or with its parent or its group. Like other contexts of this
// package it costs one object until somebody waits for it. Its owner must call Cancel.
//
// Deadline is when it ends unless it is restarted, so it may move. Once the context has
// ended, Err is context.DeadlineExceeded if a limit ended it, and Which says which one.
type Limited struct {
	context.Context // the parent
	group           *Group
	idle            time.Duration // 0: no limit
	endsAt          time.Time     // by the limit of the total; zero: no limit

	mu         sync.Mutex
	idleUntil  time.Time // zero: no limit
	err        error
	which      Limit
	done       chan struct{} // nil until somebody waits
	timer      *time.Timer   // nil until somebody waits
	stopParent func() bool
	after      map[int]func() // registered by AfterFunc
	lastAfter  int

	// Place in the group, while somebody waits. Group.mu guards it.
	left, right *Limited
	listed      bool
}

// WithLimits makes a Limited that begins now. A limit of 0 is none. group may be nil.
func WithLimits(parent context.Context, group *Group, idle, total time.Duration) *Limited {
	c := &Limited{Context: parent, group: group, idle: idle}
	now := time.Now()
	if idle > 0 {
		c.idleUntil = now.Add(idle)
	}
	if total > 0 {
		c.endsAt = now.Add(total)
	}
	return c
}

// Restart begins the idle limit anew: there was a sign of life.
func (c *Limited) Restart() {
	if c.idle <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The timer is not reset: when it fires, it looks at the deadline again.
	if c.checkEnd() == nil {
		c.idleUntil = time.Now().Add(c.idle)
	}
}

// Which returns the limit that ended the context.
func (c *Limited) Which() Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.which
}

// Deadline implements context.Context.
func (c *Limited) Deadline() (time.Time, bool) {
	at, ok := c.Context.Deadline()
	c.mu.Lock()
	own, _ := c.nextEnd()
	c.mu.Unlock()
	if !own.IsZero() && (!ok || own.Before(at)) {
		return own, true
	}
	return at, ok
}

// nextEnd returns when the earlier of the two limits ends the context, and which it is;
// zero for none. The caller holds mu.
func (c *Limited) nextEnd() (at time.Time, which Limit) {
	switch {
	case c.idleUntil.IsZero() && c.endsAt.IsZero():
		return time.Time{}, LimitNone
	case c.idleUntil.IsZero(), !c.endsAt.IsZero() && !c.idleUntil.Before(c.endsAt):
		return c.endsAt, LimitTotal
	}
	return c.idleUntil, LimitIdle
}

// Err implements context.Context.
func (c *Limited) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkEnd()
}

// checkEnd returns why the context has ended, or nil. It ends the context if the reason
// is new. The caller holds mu.
func (c *Limited) checkEnd() error {
	if c.err != nil {
		return c.err
	}
	if err := c.Context.Err(); err != nil {
		c.endWith(err, LimitNone)
		return err
	}
	if c.group.Ended() {
		c.endWith(context.Canceled, LimitNone)
		return c.err
	}
	if at, which := c.nextEnd(); which != LimitNone && !time.Now().Before(at) {
		c.endWith(context.DeadlineExceeded, which)
	}
	return c.err
}

// endWith ends the context, unless it has ended. The caller holds mu.
func (c *Limited) endWith(err error, which Limit) {
	if c.err != nil {
		return
	}
	c.err, c.which = err, which
	if c.done == nil {
		return
	}
	close(c.done)
	if c.timer != nil {
		c.timer.Stop()
	}
	c.group.remove(c)
	// Package context holds the lock of a child while it registers the child here. Calling
	// the child under mu would take the two locks in the other order.
	for _, f := range c.after {
		go f()
	}
	c.after = nil
}

// Done implements context.Context.
func (c *Limited) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	return c.done
}

// watch makes the context end by itself. The caller holds mu.
func (c *Limited) watch() {
	if c.done != nil {
		return
	}
	_ = c.checkEnd() // sets err
	c.done = make(chan struct{})
	if c.err != nil {
		close(c.done)
		return
	}
	if !c.group.add(c) {
		c.endWith(context.Canceled, LimitNone)
		return
	}
	if at, which := c.nextEnd(); which != LimitNone {
		c.timer = time.AfterFunc(time.Until(at), c.fire)
	}
	if c.Context.Done() != nil {
		c.stopParent = context.AfterFunc(c.Context, c.fire)
	}
}

// fire runs when a limit, the parent or the group may have ended the context.
func (c *Limited) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checkEnd() != nil {
		return
	}
	if at, which := c.nextEnd(); which != LimitNone {
		c.timer.Reset(time.Until(at)) // the context was restarted
	}
}

// AfterFunc runs f in its own goroutine after the context has ended. Package context
// registers children with it.
func (c *Limited) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[int]func(){}
	}
	c.lastAfter++
	id := c.lastAfter
	c.after[id] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[id]
		delete(c.after, id)
		return waiting
	}
}

// Cancel ends the context.
func (c *Limited) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checkEnd() == nil {
		c.endWith(context.Canceled, LimitNone)
	}
	if c.stopParent != nil {
		c.stopParent()
		c.stopParent = nil
	}
}

// Group ends many Limited contexts at once. The zero value is ready; a nil Group ends
// nothing.
type Group struct {
	isEnd atomic.Bool // set under mu
	mu    sync.Mutex
	first *Limited // that somebody waits for
}

// End ends all contexts of the group, also those that are made later. Their Err is
// context.Canceled.
func (g *Group) End() {
	g.mu.Lock()
	g.isEnd.Store(true)
	var all []*Limited
	for c := g.first; c != nil; c = c.right {
		all = append(all, c)
	}
	g.mu.Unlock()
	for _, c := range all {
		c.fire()
	}
}

// Ended reports whether End was called.
func (g *Group) Ended() bool { return g != nil && g.isEnd.Load() }

// add adds a context that somebody waits for. It returns false if the group has ended.
func (g *Group) add(c *Limited) bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isEnd.Load() {
		return false
	}
	if c.right = g.first; c.right != nil {
		c.right.left = c
	}
	g.first, c.listed = c, true
	return true
}

// remove removes a context, if it was added.
func (g *Group) remove(c *Limited) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !c.listed {
		return
	}
	if c.left != nil {
		c.left.right = c.right
	} else {
		g.first = c.right
	}
	if c.right != nil {
		c.right.left = c.left
	}
	c.left, c.right, c.listed = nil, nil, false
}

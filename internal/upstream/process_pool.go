package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Rests of a command whose children end by themselves: the first after one, each
// twice as long as the one before, all with jitter.
const (
	firstRestartDelay = 250 * time.Millisecond
	maxRestartDelay   = time.Minute
	maxAwaitedDelay   = 2 * time.Second // a rest that is waited for rather than refused
	stableAfter       = time.Minute     // a child that lived so long did not fail at its start
)

// exitKind is why a child is no more.
type exitKind int32

const (
	exitFault        exitKind = iota // it crashed, or could not be talked to
	exitAfterLongRun                 // it crashed after a long life
	exitNeutral                      // it was stopped before it had answered
	exitStopped                      // it was stopped
)

// processPool counts the children of one command and keeps a command that crashes from
// being started again and again.
type processPool struct {
	mu           sync.Mutex
	running      int
	exiting      int           // of those running: told to end
	exited       chan struct{} // closed when one has ended; nil while nobody waits for that
	failures     int           // in a row
	restUntil    time.Time     // before it none is started
	skipDiscover bool          // it cannot stand server/discover: begin with initialize
}

// countRunning is how many children there are.
func (c *processPool) countRunning() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// admitProcess admits one more child, after the command's rest, and after those that are
// on their way out where there is no room before.
func (c *processPool) admitProcess(ctx context.Context, id string, most int) error {
	if most <= 0 {
		most = defaultSharedProcesses
	}
	for {
		wait, left, err := c.tryAdmit(id, most)
		if wait <= 0 && left == nil || err != nil {
			return err
		}
		if left != nil {
			wait = maxRestartDelay // of no account: the child that is leaving will have
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-left:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return junctor.AsError(ctx.Err())
		}
	}
}

func (c *processPool) tryAdmit(id string, most int) (wait time.Duration, left <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.running < most:
	case c.running-c.exiting < most:
		if c.exited == nil {
			c.exited = make(chan struct{})
		}
		return 0, c.exited, nil
	default:
		return 0, nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + id + " runs as many processes as it may; wait until one is idle, or raise its max_sessions",
		}
	}
	switch wait := time.Until(c.restUntil); {
	case wait > maxAwaitedDelay:
		return 0, nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + id + " is not started now: its process has ended by itself again and again; server show tells what it wrote",
		}
	case wait > 0:
		return wait, nil, nil
	}
	c.running++
	return 0, nil, nil
}

// beginExit notes that a child is on its way out, and how that counts. leave must
// follow.
func (c *processPool) beginExit(how exitKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exiting++
	switch how {
	case exitStopped:
		c.failures = 0
		return
	case exitNeutral:
		return
	case exitAfterLongRun:
		c.failures = 0
	case exitFault:
	}
	c.failures++
	rest := min(maxRestartDelay, firstRestartDelay<<min(c.failures-1, 16))
	c.restUntil = time.Now().Add(rest/2 + rand.N(rest/2)) //nolint:gosec // jitter decides nothing
}

// finishExit counts a child out that has ended.
func (c *processPool) finishExit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.exiting--
	if c.exited != nil {
		close(c.exited)
		c.exited = nil
	}
}

func (c *processPool) skipsDiscover() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipDiscover
}

func (c *processPool) setSkipDiscover(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipDiscover = yes
}

package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Delays between starts of a command whose processes exit by themselves. The first
// follows one such exit, and each is twice as long as the one before. All have jitter.
const (
	firstRestartDelay = 250 * time.Millisecond
	maxRestartDelay   = time.Minute
	// maxAwaitedDelay is the longest delay that a caller waits for. If it is longer,
	// starting fails at once.
	maxAwaitedDelay = 2 * time.Second
	// stableAfter is the age from which a process counts as having started well.
	stableAfter = time.Minute
)

// exitKind is how the exit of a process counts.
type exitKind int32

const (
	exitFault        exitKind = iota // it crashed, or did not speak MCP
	exitAfterLongRun                 // it crashed after stableAfter
	exitNeutral                      // we stopped it before it had answered
	exitStopped                      // we stopped it
)

// processPool counts the processes of one command, and delays the restart of a command
// that crashes again and again. The zero value is ready.
type processPool struct {
	mu           sync.Mutex
	running      int
	exiting      int           // of those running: told to end
	exited       chan struct{} // closed when one has ended; nil if nobody waits for that
	failures     int           // in a row
	restUntil    time.Time     // none is started before
	skipDiscover bool          // the command crashes on server/discover: begin with initialize
}

// countRunning gives the number of processes, including those that are exiting.
func (c *processPool) countRunning() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// admitProcess admits one more process. It waits for a short restart delay, and for an
// exiting process if there is no room before. beginExit and finishExit must follow if it
// returns nil.
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
			wait = maxRestartDelay // the exiting process ends long before
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

// tryAdmit admits one more process if it can do so now. Otherwise it returns what to wait
// for: a time, a channel, or neither and an error.
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
			Message: "server " + id + " has reached its limit of processes; wait until one is idle, or raise max_sessions of the server",
		}
	}
	switch wait := time.Until(c.restUntil); {
	case wait > maxAwaitedDelay:
		return 0, nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + id + " is not restarted yet, because its process keeps exiting; junctor server show " + id + " shows its last output",
		}
	case wait > 0:
		return wait, nil, nil
	}
	c.running++
	return 0, nil, nil
}

// beginExit records that a process is on its way out, and how that counts. finishExit
// must follow.
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
	// Half of the delay is random, so that several replicas do not restart the command at
	// the same time.
	c.restUntil = time.Now().Add(rest/2 + rand.N(rest/2)) //nolint:gosec // jitter decides nothing
}

// finishExit counts out a process that has ended.
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

// skipsDiscover reports whether links begin with initialize.
func (c *processPool) skipsDiscover() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skipDiscover
}

// setSkipDiscover sets whether links begin with initialize.
func (c *processPool) setSkipDiscover(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipDiscover = yes
}

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
	firstRest   = 250 * time.Millisecond
	longestRest = time.Minute
	bearable    = 2 * time.Second // a rest that is waited for rather than refused
	steady      = time.Minute     // a child that lived so long did not fail at its start
)

// end is why a child is no more.
type end int32

const (
	endFault   end = iota // it crashed, or could not be talked to
	endLate               // it crashed after a long life
	endNeutral            // it was stopped before it had answered
	endGood               // it was stopped
)

// crew counts the children of one command and keeps a command that crashes from
// being started again and again.
type crew struct {
	mu       sync.Mutex
	running  int
	leaving  int           // of those running: told to end
	left     chan struct{} // closed when one has ended; nil while nobody waits for that
	failures int           // in a row
	rested   time.Time     // before it none is started
	blunt    bool          // it cannot stand server/discover: begin with initialize
}

// count is how many children there are.
func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// join admits one more child, after the command's rest, and after those that are
// on their way out where there is no room before.
func (c *crew) join(ctx context.Context, id string, most int) error {
	if most <= 0 {
		most = usualCrew
	}
	for {
		wait, left, err := c.tryJoin(id, most)
		if wait <= 0 && left == nil || err != nil {
			return err
		}
		if left != nil {
			wait = longestRest // of no account: the child that is leaving will have
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

func (c *crew) tryJoin(id string, most int) (wait time.Duration, left <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.running < most:
	case c.running-c.leaving < most:
		if c.left == nil {
			c.left = make(chan struct{})
		}
		return 0, c.left, nil
	default:
		return 0, nil, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + id + " runs as many processes as it may; wait until one is idle, or raise its max_sessions",
		}
	}
	switch wait := time.Until(c.rested); {
	case wait > bearable:
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

// leaves notes that a child is on its way out, and how that counts. leave must
// follow.
func (c *crew) leaves(how end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving++
	switch how {
	case endGood:
		c.failures = 0
		return
	case endNeutral:
		return
	case endLate:
		c.failures = 0
	case endFault:
	}
	c.failures++
	rest := min(longestRest, firstRest<<min(c.failures-1, 16))
	c.rested = time.Now().Add(rest/2 + rand.N(rest/2)) //nolint:gosec // jitter decides nothing
}

// leave counts a child out that has ended.
func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.leaving--
	if c.left != nil {
		close(c.left)
		c.left = nil
	}
}

func (c *crew) isBlunt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blunt
}

func (c *crew) setBlunt(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blunt = yes
}

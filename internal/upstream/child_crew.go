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
	usualCrew   = 16
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
	failures int       // in a row
	rested   time.Time // before it none is started
	blunt    bool      // it cannot stand server/discover: begin with initialize
}

// join admits one more child, after the command's rest.
func (c *crew) join(ctx context.Context, id string, most int) error {
	if most <= 0 {
		most = usualCrew
	}
	for {
		wait, err := c.tryJoin(id, most)
		if wait <= 0 || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return junctor.AsError(ctx.Err())
		}
	}
}

func (c *crew) tryJoin(id string, most int) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running >= most {
		return 0, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: time.Second,
			Message: "server " + id + " runs as many processes as it may; wait until one is idle, or raise their number",
		}
	}
	switch wait := time.Until(c.rested); {
	case wait > bearable:
		return 0, &junctor.Error{
			Code: junctor.CodeUnavailable, RetryAfter: wait,
			Message: "server " + id + " is not started now: its process has ended by itself again and again; server show tells what it wrote",
		}
	case wait > 0:
		return wait, nil
	}
	c.running++
	return 0, nil
}

// leave counts a child out.
func (c *crew) leave(how end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
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

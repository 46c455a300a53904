package cluster

import (
	"sync"
	"time"
)

const (
	// freshFor is how far the clocks of two replicas may differ for the first message
	// of one to count at the other.
	freshFor = 30 * time.Second
	// reordered is how many numbers behind the highest are still accepted:
	// notifications that are sent at the same time may overtake each other.
	reordered = 1024
	// maxSenders bounds how many replicas are remembered; the oldest are forgotten.
	maxSenders = 256
)

// replayGuard refuses messages that were received before. Any user of the database
// can record a notification and send it again. Each replica numbers its messages, and
// its id is of one run. Clocks matter only for the first message of a sender, which
// somebody may have recorded before this replica started.
type replayGuard struct {
	mu      sync.Mutex
	senders map[string]*senderWindow
}

// senderWindow holds the numbers received from one sender.
type senderWindow struct {
	floor   uint64 // messages up to it count only if they are fresh
	highest uint64
	seen    map[uint64]bool // all received above highest-reordered
	last    time.Time
}

// accept reports whether a message is received for the first time, and marks it as
// received. sent is the time by the sender's clock.
func (g *replayGuard) accept(from string, number uint64, sent, now time.Time) bool {
	if from == "" || number == 0 {
		return false
	}
	fresh := now.Sub(sent).Abs() <= freshFor
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.senders[from]
	if w == nil {
		if !fresh {
			return false
		}
		w = g.add(from, number, now)
	}
	if number <= w.floor && !fresh || number+reordered <= w.highest || w.seen[number] {
		return false
	}
	w.last = now
	w.seen[number] = true
	if number > w.highest {
		w.highest = number
	}
	if len(w.seen) > 2*reordered {
		for n := range w.seen {
			if n+reordered <= w.highest {
				delete(w.seen, n)
			}
		}
	}
	return true
}

// confirm reports whether a message that came in a channel is new. The channel proves
// its sender: from then on the sender's numbers count whatever the clocks say. The
// message itself counts as seen once it was acted on, by accept, so that a copy in the
// database makes up for a failure.
func (g *replayGuard) confirm(from string, number uint64, now time.Time) bool {
	if from == "" || number == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.senders[from]
	if w == nil {
		w = g.add(from, number-1, now)
	}
	return !w.seen[number]
}

// add begins the window of a sender. The caller holds mu.
func (g *replayGuard) add(from string, number uint64, now time.Time) *senderWindow {
	if g.senders == nil {
		g.senders = map[string]*senderWindow{}
	}
	if len(g.senders) >= maxSenders {
		oldest := ""
		for id, w := range g.senders {
			if oldest == "" || w.last.Before(g.senders[oldest].last) {
				oldest = id
			}
		}
		delete(g.senders, oldest)
	}
	w := &senderWindow{floor: number, highest: number, seen: map[uint64]bool{}, last: now}
	g.senders[from] = w
	return w
}

package app

import (
	"sync"
	"time"
)

const (
	// freshFor is how far the clocks of two replicas may differ for what one says to
	// count at the other that has not heard of it before.
	freshFor = 30 * time.Second
	// reordered is how many numbers behind the highest are still waited for:
	// notifications that are sent at the same time may overtake each other.
	reordered = 1024
	// maxSenders bounds how many replicas are remembered; those of before are gone.
	maxSenders = 256
)

// replayGuard knows what replicas said by way of the database, so that nobody can say
// it again: each numbers what it says, and its name is of one run. Clocks are needed
// for the first that is heard of a replica alone, which somebody may have recorded
// before this replica was there.
type replayGuard struct {
	mu      sync.Mutex
	senders map[string]*senderWindow
}

// senderWindow is what is known of one sender.
type senderWindow struct {
	floor   uint64 // at and below it, what is not fresh is refused
	highest uint64
	seen    map[uint64]bool // holds all above highest-reordered
	last    time.Time
}

// accept says whether what a sender said, under a number and at a time by its clock,
// is heard for the first time.
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

// add begins with a sender; mu is held.
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

package app

import (
	"context"
	"sync"
	"time"
)

const (
	// glanceTime is how long somebody may wait for a look at the database.
	glanceTime = time.Second
	// glanceEvery is how often one is begun, at most.
	glanceEvery = 100 * time.Millisecond
	// mostMissed bounds how many are remembered that nobody has given.
	mostMissed = 10_000
)

// late looks at the database for what another process has given somebody a moment
// ago (a key, a login), and which they bring here before the news of it. Nobody can
// have it before it was given: what is not there once never has to be looked for
// again.
type late struct {
	look func(context.Context) error

	mu     sync.Mutex
	none   map[[32]byte]struct{} // that were looked for, and not found
	next   *glance               // that has not begun
	begins time.Time             // when that may
}

// glance is one look, for all who came before it began.
type glance struct {
	done chan struct{}
	err  error
}

func newLate(look func(context.Context) error) *late {
	return &late{look: look, none: map[[32]byte]struct{}{}}
}

// missed looks, where that can help, and says whether it did.
func (l *late) missed(sum [32]byte) bool {
	l.mu.Lock()
	if _, known := l.none[sum]; known {
		l.mu.Unlock()
		return false
	}
	if len(l.none) >= mostMissed {
		clear(l.none)
	}
	g := l.next
	if g == nil {
		g = &glance{done: make(chan struct{})}
		l.next = g
		wait := max(0, time.Until(l.begins))
		l.begins = time.Now().Add(wait + glanceEvery)
		time.AfterFunc(wait, func() { l.run(g) })
	}
	l.mu.Unlock()
	<-g.done
	if g.err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.none[sum] = struct{}{} // who is found by it does not come here again
	return true
}

func (l *late) run(g *glance) {
	l.mu.Lock()
	l.next = nil // who comes from here on is too late for this one
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), glanceTime)
	defer cancel()
	g.err = l.look(ctx)
	close(g.done)
}

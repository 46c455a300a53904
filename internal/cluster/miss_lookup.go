package cluster

import (
	"context"
	"sync"
	"time"
)

const (
	// lookupTimeout is how long a caller may wait for the database.
	lookupTimeout = time.Second
	// lookupInterval is the least time between two lookups.
	lookupInterval = 100 * time.Millisecond
	// maxMisses bounds how many unknown credentials are remembered.
	maxMisses = 10_000
)

// MissLookup reads the database again for a credential (a key, a login) that another
// replica issued a moment ago and whose notification has not arrived yet. Nobody can
// have a credential before it was issued, so one that was not found once never has
// to be looked for again. That keeps guessed credentials from loading the database.
type MissLookup struct {
	reload func(context.Context) error

	mu     sync.Mutex
	misses map[[32]byte]struct{} // looked for and not found
	next   *sharedLookup         // has not begun yet
	begins time.Time             // when the next one may begin
}

// sharedLookup is one lookup for all callers that came before it began.
type sharedLookup struct {
	done chan struct{}
	err  error
}

// NewMissLookup returns a MissLookup that calls reload to read all credentials.
func NewMissLookup(reload func(context.Context) error) *MissLookup {
	return &MissLookup{reload: reload, misses: map[[32]byte]struct{}{}}
}

// LookUp reloads the credentials unless the one with this hash was looked for
// before, and reports whether it did: then the caller should check again.
func (l *MissLookup) LookUp(sum [32]byte) bool {
	l.mu.Lock()
	if _, known := l.misses[sum]; known {
		l.mu.Unlock()
		return false
	}
	if len(l.misses) >= maxMisses {
		clear(l.misses)
	}
	g := l.next
	if g == nil {
		g = &sharedLookup{done: make(chan struct{})}
		l.next = g
		wait := max(0, time.Until(l.begins))
		l.begins = time.Now().Add(wait + lookupInterval)
		time.AfterFunc(wait, func() { l.run(g) })
	}
	l.mu.Unlock()
	<-g.done
	if g.err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.misses[sum] = struct{}{} // a credential that was found does not come here again
	return true
}

func (l *MissLookup) run(g *sharedLookup) {
	l.mu.Lock()
	l.next = nil // later callers need a lookup that begins after they came
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	g.err = l.reload(ctx)
	close(g.done)
}

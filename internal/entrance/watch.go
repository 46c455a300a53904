package entrance

import "time"

// The watcher does for all connections what would cost every request: it closes
// those on which nothing comes, and finds the clients that left while their
// request runs. It looks at what changed since it last looked, so a request costs
// it nothing unless it takes longer than a tick.
const (
	tick     = 50 * time.Millisecond
	nap      = time.Second // between looks while nothing runs
	quiet    = 20          // ticks on which nothing ran before a nap
	maxLooks = time.Second // the longest time between two looks at a request
)

// watched is what the watcher knows of a connection; nobody else touches it.
type watched struct {
	state uint64 // as last seen
	since time.Time
	look  time.Time // the next look at what runs
}

// stir wakes the watcher: something runs.
func (s *Server) stir() {
	if s.asleep.Load() && s.asleep.CompareAndSwap(true, false) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// watch looks until the server ends. While nothing runs it does so rarely.
func (s *Server) watch() {
	long := min(nap, s.http.ReadHeaderTimeout/2, s.http.IdleTimeout/2)
	t := time.NewTimer(tick)
	defer t.Stop()
	for idle := 0; ; {
		select {
		case <-s.ended:
			s.watchEnd()
			return
		case <-t.C:
		case <-s.wake:
			idle = 0
		}
		wait := tick
		if idle++; idle > quiet {
			s.asleep.Store(true) // before the look: what begins after it stirs
			wait = long
		}
		if s.lookAll(time.Now()) {
			s.asleep.Store(false)
			idle, wait = 0, tick
		}
		t.Reset(wait)
	}
}

// watchEnd looks on while requests run that Shutdown waits for.
func (s *Server) watchEnd() {
	for t := time.NewTicker(tick); s.lookAll(time.Now()); {
		<-t.C
	}
}

// lookAll looks at every connection and says whether a request runs on one.
func (s *Server) lookAll(now time.Time) (runs bool) {
	var long []*conn
	s.mu.Lock()
	for c := range s.conns {
		state := c.state.Load()
		runs = runs || state%phases == running
		if w := &c.watch; w.state != state || w.since.IsZero() {
			w.state, w.since, w.look = state, now, now
			continue
		}
		long = append(long, c)
	}
	s.mu.Unlock()
	for _, c := range long {
		c.look(now)
	}
	return runs
}

// look judges a connection that is as it was when last seen.
func (c *conn) look(now time.Time) {
	w := &c.watch
	since := now.Sub(w.since)
	switch first := w.state < phases; w.state % phases {
	case waiting:
		if since > c.s.http.IdleTimeout || first && since > c.s.http.ReadHeaderTimeout {
			c.closeAs(w.state)
		}
	case reading:
		if since > c.s.http.ReadHeaderTimeout {
			c.closeAs(w.state)
		}
	case running:
		if now.Before(w.look) {
			return
		}
		w.look = now.Add(max(tick/2, min(since/8, maxLooks)))
		if t := c.now.Load(); t != nil && gone(c.raw) {
			t.cancel() // and that of no later one
		}
	}
}

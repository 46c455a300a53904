package httpfast

import "time"

// The watcher does for all connections what would cost every request: it closes
// those on which nothing comes, and finds the clients that left while their
// request runs. It looks at what changed since it last looked, so a request costs
// it nothing unless it takes longer than a tick.
const (
	watchInterval     = 50 * time.Millisecond
	idleWatchInterval = time.Second // between looks while nothing runs
	quietTicks        = 20          // ticks on which nothing ran before a nap
	maxCheckInterval  = time.Second // the longest time between two looks at a request
)

// watchState is what the watcher knows of a connection; nobody else touches it.
type watchState struct {
	state     uint64 // as last seen
	since     time.Time
	nextCheck time.Time // the next look at what runs
}

// wakeWatcherIfAsleep wakes the watcher: something runs.
func (s *Server) wakeWatcherIfAsleep() {
	if s.watcherAsleep.Load() && s.watcherAsleep.CompareAndSwap(true, false) {
		select {
		case s.wakeWatcher <- struct{}{}:
		default:
		}
	}
}

// watchConns looks until the server ends. While nothing runs it does so rarely.
func (s *Server) watchConns() {
	long := min(idleWatchInterval, s.httpServer.ReadHeaderTimeout/2, s.httpServer.IdleTimeout/2)
	t := time.NewTimer(watchInterval)
	defer t.Stop()
	for idle := 0; ; {
		select {
		case <-s.stopping:
			s.watchUntilIdle()
			return
		case <-t.C:
		case <-s.wakeWatcher:
			idle = 0
		}
		wait := watchInterval
		if idle++; idle > quietTicks {
			s.watcherAsleep.Store(true) // before the look: what begins after it stirs
			wait = long
		}
		if s.checkConns(time.Now()) {
			s.watcherAsleep.Store(false)
			idle, wait = 0, watchInterval
		}
		t.Reset(wait)
	}
}

// watchUntilIdle looks on while requests run that Shutdown waits for.
func (s *Server) watchUntilIdle() {
	for t := time.NewTicker(watchInterval); s.checkConns(time.Now()); {
		<-t.C
	}
}

// checkConns looks at every connection and says whether a request runs on one.
func (s *Server) checkConns(now time.Time) (runs bool) {
	var long []*serverConn
	s.mu.Lock()
	for c := range s.conns {
		state := c.state.Load()
		runs = runs || state%phaseCount == phaseRunning
		if w := &c.watched; w.state != state || w.since.IsZero() {
			w.state, w.since, w.nextCheck = state, now, now
			continue
		}
		long = append(long, c)
	}
	s.mu.Unlock()
	for _, c := range long {
		c.checkUnchanged(now)
	}
	return runs
}

// checkUnchanged judges a connection that is as it was when last seen.
func (c *serverConn) checkUnchanged(now time.Time) {
	w := &c.watched
	since := now.Sub(w.since)
	switch first := w.state < phaseCount; w.state % phaseCount {
	case phaseWaiting:
		if since > c.server.httpServer.IdleTimeout || first && since > c.server.httpServer.ReadHeaderTimeout {
			c.closeIfUnchanged(w.state)
		}
	case phaseReading:
		if since > c.server.httpServer.ReadHeaderTimeout {
			c.closeIfUnchanged(w.state)
		}
	case phaseRunning:
		if now.Before(w.nextCheck) {
			return
		}
		w.nextCheck = now.Add(max(watchInterval/2, min(since/8, maxCheckInterval)))
		if t := c.current.Load(); t != nil && isPeerClosed(c.rawConn) {
			t.cancel() // and that of no later one
		}
	}
}

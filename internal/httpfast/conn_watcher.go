package httpfast

import "time"

// One watcher does for all connections what net/http does with deadlines and a
// background read for each request: it closes connections that stay idle, and
// cancels requests whose client has closed the connection. It looks only at
// connections whose state did not change since its last look, so a request that is
// shorter than watchInterval costs it nothing.
const (
	watchInterval     = 50 * time.Millisecond
	idleWatchInterval = time.Second // while no request runs
	quietTicks        = 20          // intervals without a request before the watcher sleeps
	maxCheckInterval  = time.Second // between two checks of one long request
)

// watchState is the watcher's view of a connection. Only the watcher uses it.
type watchState struct {
	state     uint64    // of the connection when last seen
	since     time.Time // when that state was first seen
	nextCheck time.Time // of the client of a running request
}

// wakeWatcherIfAsleep makes the watcher look often again, because a request begins.
func (s *Server) wakeWatcherIfAsleep() {
	if s.watcherAsleep.Load() && s.watcherAsleep.CompareAndSwap(true, false) {
		select {
		case s.wakeWatcher <- struct{}{}:
		default:
		}
	}
}

// watchConns checks the connections until the server stops. While no request runs,
// it checks rarely.
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
			s.watcherAsleep.Store(true) // before the check: a request that begins after it wakes the watcher
			wait = long
		}
		if s.checkConns(time.Now()) {
			s.watcherAsleep.Store(false)
			idle, wait = 0, watchInterval
		}
		t.Reset(wait)
	}
}

// watchUntilIdle goes on while requests run that Shutdown waits for.
func (s *Server) watchUntilIdle() {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	for s.checkConns(time.Now()) {
		<-t.C
	}
}

// checkConns checks every connection and reports whether a request runs on one.
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

// checkUnchanged checks a connection whose state is the same as at the last look: it
// closes one that was idle for too long, and cancels a request without a client.
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
			t.cancel() // of this request, and never of a later one
		}
	}
}

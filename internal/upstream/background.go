package upstream

import "sync"

// backgroundGroup is a sync.WaitGroup that can be closed: after close no goroutine is
// started, so that nothing is missed by the wait. The zero value is ready.
type backgroundGroup struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs f in a goroutine. It returns false, and does not run f, after close.
func (t *backgroundGroup) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Go(f)
	return true
}

// close waits until all goroutines have ended. Their owner must have told them to end.
func (t *backgroundGroup) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

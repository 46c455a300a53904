package upstream

import "sync"

// backgroundGroup are goroutines that somebody waits for at the end. After close none is
// started.
type backgroundGroup struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// start runs f in a goroutine of its own; it says false, and does not, once
// close was called.
func (t *backgroundGroup) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Go(f)
	return true
}

// close waits for what runs.
func (t *backgroundGroup) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

package upstream

import "sync"

// jobs are goroutines that somebody waits for at the end. After close none is
// started.
type jobs struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// start runs f in a goroutine of its own; it says false, and does not, once
// close was called.
func (t *jobs) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.group.Go(f)
	return true
}

// close waits for what runs.
func (t *jobs) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.group.Wait()
}

package gateway

import (
	"sync"
	"time"
)

// closeWait bounds how long a close waits for what was told to end.
const closeWait = 5 * time.Second

// work is what runs in the background. Unlike a bare WaitGroup it may be offered
// more while it is being stopped: that is not started any more.
type work struct {
	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

// start runs f in a goroutine, or says that it is too late.
func (w *work) start(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.wg.Go(f)
	return true
}

// stop lets nothing more start and waits until all has ended, or the time is up.
func (w *work) stop(atMost time.Duration) {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(ended)
	}()
	late := time.NewTimer(atMost)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}

package gateway

import (
	"log/slog"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// closeWait bounds how long a close waits for work that was told to end.
const closeWait = 5 * time.Second

// backgroundWork counts goroutines and requests that must end before their owner closes.
// Unlike a bare WaitGroup, it may be offered more work while it is being stopped; it then
// refuses.
type backgroundWork struct {
	log     *slog.Logger
	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

// newBackgroundWork makes a backgroundWork that logs panics to log.
func newBackgroundWork(log *slog.Logger) *backgroundWork { return &backgroundWork{log: log} }

// beginWork counts work that the caller does itself. If it returns true, the caller must
// call endWork. It returns false after the work was stopped.
func (w *backgroundWork) beginWork() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.wg.Add(1)
	}
	return !w.stopped
}

// endWork ends work that beginWork counted.
func (w *backgroundWork) endWork() { w.wg.Done() }

// startWork runs f in a goroutine. It returns false, and does not run f, after the work
// was stopped. A panic ends f only and is logged.
func (w *backgroundWork) startWork(f func()) bool {
	if !w.beginWork() {
		return false
	}
	go func() {
		defer w.endWork()
		defer func() {
			if p := recover(); p != nil {
				logPanic(w.log, p)
			}
		}()
		f()
	}()
	return true
}

// stopWithin refuses new work and waits until all work has ended, or the time is up.
func (w *backgroundWork) stopWithin(atMost time.Duration) {
	w.refuseNew()
	// If the time is up, this goroutine stays until the last work has ended.
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

// stopAndWait refuses new work and waits until all work has ended, however long it takes.
func (w *backgroundWork) stopAndWait() {
	w.refuseNew()
	w.wg.Wait()
}

// refuseNew makes beginWork and startWork return false from now on.
func (w *backgroundWork) refuseNew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// internalErrorText is all that a client learns about a fault of ours.
const internalErrorText = "internal error; the log of this instance has the details"

// logPanic logs a recovered panic with its stack.
func logPanic(log *slog.Logger, p any) {
	log.Error("request goroutine panicked", telemetry.PanicAttr(p))
}

// answerRecovering runs f, which answers the request with this id outside of the
// goroutine that net/http started. A panic fails this response, not the process.
func (g *Gateway) answerRecovering(id []byte, f func() []byte) (answer []byte) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(g.options.Logger, p)
			answer = wire.AppendError(nil, id, &wire.Error{Code: wire.CodeInternal, Message: internalErrorText})
		}
	}()
	return f()
}

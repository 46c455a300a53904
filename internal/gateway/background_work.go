package gateway

import (
	"log/slog"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// closeWait bounds how long a close waits for what was told to end.
const closeWait = 5 * time.Second

// backgroundWork is what runs in the background, and what must come to its end before all
// stops. Unlike a bare WaitGroup it may be offered more while it is being stopped:
// that is not started any more.
type backgroundWork struct {
	log     *slog.Logger
	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

func newBackgroundWork(log *slog.Logger) *backgroundWork { return &backgroundWork{log: log} }

// beginWork counts work that the caller does itself, until leave, or says that it is
// too late.
func (w *backgroundWork) beginWork() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.wg.Add(1)
	}
	return !w.stopped
}

func (w *backgroundWork) endWork() { w.wg.Done() }

// startWork runs f in a goroutine, or says that it is too late. A panic ends f and
// nothing else.
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

// stopWithin lets nothing more start and waits until all has ended, or the time is up.
func (w *backgroundWork) stopWithin(atMost time.Duration) {
	w.refuseNew()
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

// stopAndWait is stop for as long as it takes.
func (w *backgroundWork) stopAndWait() {
	w.refuseNew()
	w.wg.Wait()
}

func (w *backgroundWork) refuseNew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// internalErrorText is all that a client hears of a fault of ours.
const internalErrorText = "internal error; the log of this instance says more"

func logPanic(log *slog.Logger, p any) {
	log.Error("a request panicked", telemetry.Panic(p))
}

// answerRecovering runs f, which answers the request with this id outside of the
// goroutine that HTTP gave it. A panic costs this answer, not the process.
func (g *Gateway) answerRecovering(id []byte, f func() []byte) (answer []byte) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(g.options.Logger, p)
			answer = wire.AppendError(nil, id, &wire.Error{Code: wire.CodeInternal, Message: internalErrorText})
		}
	}()
	return f()
}

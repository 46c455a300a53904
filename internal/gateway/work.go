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

// work is what runs in the background, and what must come to its end before all
// stops. Unlike a bare WaitGroup it may be offered more while it is being stopped:
// that is not started any more.
type work struct {
	log     *slog.Logger
	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

func newWork(log *slog.Logger) *work { return &work{log: log} }

// enter counts work that the caller does itself, until leave, or says that it is
// too late.
func (w *work) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.wg.Add(1)
	}
	return !w.stopped
}

func (w *work) leave() { w.wg.Done() }

// start runs f in a goroutine, or says that it is too late. A panic ends f and
// nothing else.
func (w *work) start(f func()) bool {
	if !w.enter() {
		return false
	}
	go func() {
		defer w.leave()
		defer func() {
			if p := recover(); p != nil {
				logPanic(w.log, p)
			}
		}()
		f()
	}()
	return true
}

// stop lets nothing more start and waits until all has ended, or the time is up.
func (w *work) stop(atMost time.Duration) {
	w.end()
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

// wait is stop for as long as it takes.
func (w *work) wait() {
	w.end()
	w.wg.Wait()
}

func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// internalError is all that a client hears of a fault of ours.
const internalError = "internal error; the log of this instance says more"

func logPanic(log *slog.Logger, p any) {
	log.Error("a request panicked", telemetry.Panic(p))
}

// answering runs f, which answers the request with this id outside of the
// goroutine that HTTP gave it. A panic costs this answer, not the process.
func (g *Gateway) answering(id []byte, f func() []byte) (answer []byte) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(g.o.Logger, p)
			answer = wire.AppendError(nil, id, &wire.Error{Code: wire.CodeInternal, Message: internalError})
		}
	}()
	return f()
}

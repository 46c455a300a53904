package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// closeWait bounds how long a close waits for what was told to end.
const closeWait = 5 * time.Second

// maxIdle is how many goroutines wait for more to do. The stack of a new one has
// to grow on its way through a call, step by step; one that waits has it.
const maxIdle = 64

// work is what runs in the background. Unlike a bare WaitGroup it may be offered
// more while it is being stopped: that is not started any more.
type work struct {
	log     *slog.Logger
	next    chan func() // for one that waits
	ended   chan struct{}
	idle    atomic.Int32
	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup
}

func newWork(log *slog.Logger) *work {
	return &work{log: log, next: make(chan func()), ended: make(chan struct{})}
}

// start runs f in a goroutine, or says that it is too late. A panic ends f and
// nothing else.
func (w *work) start(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	select {
	case w.next <- f:
	default:
		w.wg.Go(func() {
			for f := f; f != nil; f = w.await() {
				w.do(f)
			}
		})
	}
	return true
}

func (w *work) do(f func()) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(w.log, p)
		}
	}()
	f()
}

// await gives the next thing to do; nil when there is none any more, or enough
// wait for it already.
func (w *work) await() func() {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case f := <-w.next:
		return f
	case <-w.ended:
		return nil
	}
}

// stop lets nothing more start and waits until all has ended, or the time is up.
func (w *work) stop(atMost time.Duration) {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.ended)
	}
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

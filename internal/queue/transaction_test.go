package queue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// lookedAt is a context that reports when somebody is about to wait for its end.
type lookedAt struct {
	context.Context
	looked func()
}

func (l *lookedAt) Done() <-chan struct{} {
	l.looked()
	return l.Context.Done()
}

// Who stops waiting for a write finds it ended, or never begun: what it shares with
// the write is its own again.
func TestNothingRunsAfterAWriteHasReturned(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		q := r.queue("one")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		runs, ended := make(chan struct{}), false
		var returned atomic.Bool
		wrote := make(chan error, 1)
		go func() {
			err := q.Write(ctx, func(context.Context, *queue.Tx) error {
				close(runs)
				<-ctx.Done()
				poll.Holds(50*time.Millisecond, returned.Load) // a caller that does not wait has gone by then
				ended = true
				return nil
			})
			returned.Store(true)
			if !ended {
				err = errors.Join(err, errors.New("it returned while its function ran"))
			}
			wrote <- err
		}()
		<-runs
		var late atomic.Bool
		second, entered := make(chan error, 1), make(chan struct{})
		go func() { // it waits for the first, and has no time to
			second <- q.Write(&lookedAt{Context: ctx, looked: sync.OnceFunc(func() { close(entered) })}, func(context.Context, *queue.Tx) error { late.Store(true); return nil })
		}()
		<-entered
		cancel()
		if err := <-wrote; err != nil {
			r.Errorf("a write that was begun: %v", err)
		}
		err := <-second
		if e := q.Write(r.Context(), func(context.Context, *queue.Tx) error { return nil }); e != nil { // behind both
			r.Fatal(e)
		}
		if (err == nil) != late.Load() {
			r.Errorf("a write whose caller had gone: %v, run %v", err, late.Load())
		}
	})
}

package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
)

// Who stops waiting for a write finds it ended, or never begun: what it shares with
// the write is its own again.
func TestNothingRunsAfterAWriteHasReturned(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		q := r.queue("one")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		runs, ended := make(chan struct{}), false
		wrote := make(chan error, 1)
		go func() {
			err := q.Write(ctx, func(context.Context, *queue.Tx) error {
				close(runs)
				<-ctx.Done()
				time.Sleep(50 * time.Millisecond) // its caller would have gone by now
				ended = true
				return nil
			})
			if !ended {
				err = errors.Join(err, errors.New("it returned while its function ran"))
			}
			wrote <- err
		}()
		<-runs
		var late atomic.Bool
		second := make(chan error, 1)
		go func() { // it waits for the first, and has no time to
			second <- q.Write(ctx, func(context.Context, *queue.Tx) error { late.Store(true); return nil })
		}()
		time.Sleep(20 * time.Millisecond)
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

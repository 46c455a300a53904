package queue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
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

// Each commit that changes jobs names their tenants, and one that changes nothing names none.
func TestCommitsNameTheirTenants(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		changed := make(chan map[junctor.TenantID]bool, 100)
		q := r.queueWith("one", func(o *queue.Options) {
			o.OnChange = func(tenants map[junctor.TenantID]bool) { changed <- tenants }
		})
		none := errors.New("undone")
		if err := q.Write(r.Context(), func(context.Context, *queue.Tx) error { return none }); err == nil {
			r.Error("an error of a write is lost")
		}
		add(r.T, q, job("", "a"))
		if got := <-changed; len(got) != 1 || !got[tenant] {
			r.Errorf("a new job: %v", got)
		}
		leases := r.claim(q)
		if len(leases) != 1 {
			r.Fatalf("%d leases", len(leases))
		}
		if _, err := q.Settle(r.Context(), leases[0], queue.AttemptResult{Outcome: queue.OutcomeFinished}); err != nil {
			r.Fatal(err)
		}
		if got := <-changed; len(got) != 1 || !got[tenant] {
			r.Errorf("a settled job: %v", got)
		}
		if len(changed) != 0 {
			r.Errorf("%d commits more named tenants", len(changed))
		}
	})
}

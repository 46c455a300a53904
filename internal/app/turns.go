package app

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	turnFor   = 6 * time.Second // a lease lasts this long
	turnRenew = 2 * time.Second // and is renewed this often
	turnLook  = time.Second     // whoever has none looks this often
	// turnSpare is how long before its end a lease is not relied on: what was begun
	// under it must not go on under another's.
	turnSpare = time.Second
)

// turn is work that one of the processes that share a database does at a time:
// whoever holds its lease. A process that is alone has it always.
type turn struct {
	app   *App
	name  string
	alone bool

	until atomic.Pointer[time.Time] // by our own clock, which stands still for nobody
	fence atomic.Int64              // greater than that of all who had it before
}

// turns are all of them.
type turns struct {
	schedules *turn // events whose time has come, and old ones that are forgotten
	documents *turn // of generated servers, that are looked at again
	retention *turn // what has expired is removed
	chains    *turn // chains are followed
}

// run keeps what is this process's until ctx ends.
func (t turns) run(ctx context.Context) {
	var work sync.WaitGroup
	for _, one := range []*turn{t.schedules, t.documents, t.retention, t.chains} {
		work.Go(func() { one.run(ctx) })
	}
	work.Wait()
}

func (a *App) newTurn(name string) *turn { return &turn{app: a, name: name, alone: a.peers == nil} }

// mine says whether this process does the work now.
func (t *turn) mine() bool {
	if t.alone {
		return true
	}
	until := t.until.Load()
	return until != nil && time.Now().Before(*until)
}

// run takes the lease when it is free, and keeps it until ctx ends.
func (t *turn) run(ctx context.Context) {
	if t.alone {
		return
	}
	for {
		had := t.mine()
		t.take(ctx)
		wait := turnLook
		if t.mine() {
			wait = turnRenew
		}
		if now := t.mine(); now != had {
			t.app.log.Info("who does work for all processes has changed", slog.String("work", t.name), slog.Bool("here", now), slog.Int64("fence", t.fence.Load()))
		}
		if !pause(ctx, wait) {
			t.drop(context.WithoutCancel(ctx))
			return
		}
	}
}

// take asks for the lease. What is not answered in time is not relied on.
func (t *turn) take(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, turnRenew)
	defer cancel()
	until := time.Now().Add(turnFor - turnSpare) // before it is asked: the database counts from later on
	fence, held, err := t.app.store.TakeLease(ctx, t.name, t.app.peers.Self(), turnFor)
	switch {
	case err != nil: // it may still be ours, until then
	case held:
		t.fence.Store(fence)
		t.until.Store(&until)
	default:
		t.until.Store(nil)
	}
}

// drop gives the lease back, so that nobody has to wait for its end.
func (t *turn) drop(ctx context.Context) {
	if !t.mine() {
		return
	}
	t.until.Store(nil)
	ctx, cancel := context.WithTimeout(ctx, turnRenew)
	defer cancel()
	if err := t.app.store.DropLease(ctx, t.name, t.app.peers.Self()); err != nil {
		t.app.log.Warn("work for all processes waits for the end of a lease", slog.String("work", t.name), telemetry.Err(err))
	}
}

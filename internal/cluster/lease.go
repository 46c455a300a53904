package cluster

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	leaseDuration = 6 * time.Second
	leaseRenewal  = 2 * time.Second
	leasePoll     = time.Second // how often a replica without the lease asks for it
	// leaseMargin is how long before its end a lease no longer counts: work that was
	// begun under it must end before another replica begins the same.
	leaseMargin = time.Second
)

// Lease is a leader lease: of the replicas that share a database, only the one that
// holds it does a certain piece of work. A process that is alone always holds it.
type Lease struct {
	name    string
	replica string // id of this replica; "" if the process is alone
	store   *store.Store
	log     *slog.Logger

	until atomic.Pointer[time.Time] // by our own monotonic clock
	fence atomic.Int64              // greater than that of every former holder
}

// NewLease returns the lease of the named work. replicas is nil if the process is
// alone. Run takes and keeps the lease.
func NewLease(name string, replicas *Replicas, log *slog.Logger) *Lease {
	t := &Lease{name: name, log: log}
	if replicas != nil {
		t.replica, t.store = replicas.Self(), replicas.Store
	}
	return t
}

// Held reports whether this replica does the work now.
func (t *Lease) Held() bool {
	if t.replica == "" {
		return true
	}
	until := t.until.Load()
	return until != nil && time.Now().Before(*until)
}

// Run takes the lease when it is free, renews it, and gives it back when ctx ends.
func (t *Lease) Run(ctx context.Context) {
	if t.replica == "" {
		return
	}
	for {
		had := t.Held()
		t.take(ctx)
		wait := leasePoll
		if t.Held() {
			wait = leaseRenewal
		}
		if now := t.Held(); now != had {
			t.log.Info("leader lease changed", slog.String("work", t.name), slog.Bool("here", now), slog.Int64("fence", t.fence.Load()))
		}
		if !sleep(ctx, wait) {
			t.drop(context.WithoutCancel(ctx))
			return
		}
	}
}

// take asks for the lease or renews it. Without an answer the former end counts.
func (t *Lease) take(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaseRenewal)
	defer cancel()
	until := time.Now().Add(leaseDuration - leaseMargin) // taken before the request, so it ends before the end in the database
	fence, held, err := t.store.TakeLease(ctx, t.name, t.replica, leaseDuration)
	switch {
	case err != nil: // it is still ours until its end
	case held:
		t.fence.Store(fence)
		t.until.Store(&until)
	default:
		t.until.Store(nil)
	}
}

// drop gives the lease back, so that no replica waits for its end.
func (t *Lease) drop(ctx context.Context) {
	if !t.Held() {
		return
	}
	t.until.Store(nil)
	ctx, cancel := context.WithTimeout(ctx, leaseRenewal)
	defer cancel()
	if err := t.store.DropLease(ctx, t.name, t.replica); err != nil {
		t.log.Warn("cannot renew a leader lease; its work waits until the lease expires", slog.String("work", t.name), telemetry.ErrorAttr(err))
	}
}

package app

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// How long deliveries that ended are kept, dead ones longer.
const (
	keepDelivered = 30 * 24 * time.Hour
	keepDead      = 90 * 24 * time.Hour
)

// openDeliveries makes the queue and who works on it.
func (a *App) openDeliveries(ctx context.Context) (err error) {
	if a.queue, err = queue.New(queue.Options{DB: a.store.Database(), Owner: a.node, Logger: a.log, Now: a.clock.Now}); err != nil { //nolint:contextcheck // what writes lives as long as the queue
		return err
	}
	a.onClose(func(context.Context) { a.queue.Close() })
	a.endpoints = newEndpoints(a)
	a.onClose(func(context.Context) { a.endpoints.close() })
	if err := a.openChains(ctx); err != nil {
		return err
	}
	a.worker, err = worker.New(worker.Options{
		Queue: a.queue, Pipeline: a.guard, Endpoints: a.endpoints, Targets: a.chains, Files: a.chains, Meter: a.metrics, Logger: a.log, Now: a.clock.Now,
		Unknown: func(ctx context.Context, op *guard.Op) queue.Class { return a.servers.ClassifyUnknownTool(ctx, op) },
	})
	return err
}

// deliver works on deliveries until work ends, and follows what others do until
// ctx does.
func (a *App) deliver(ctx, work context.Context) {
	if err := a.queue.TakeBack(ctx, a.node); err != nil && ctx.Err() == nil { // from a process of this node that was killed
		a.log.Warn("deliveries that were under way are taken up when their leases have run out", telemetry.Err(err))
	}
	if a.cfg.DB != nil {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			a.listen(ctx)
		}()
		defer func() { <-heard }()
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		a.chains.run(ctx, a.log)
	}()
	defer func() { <-followed }()
	a.worker.Run(work)
	<-ctx.Done()
}

// pruneDeliveries forgets deliveries that ended long ago, and servers that were
// found for them.
func (a *App) pruneDeliveries(ctx context.Context) error {
	now := a.clock.Now()
	return errors.Join(a.worker.Prune(ctx, now.Add(-keepDelivered), now.Add(-keepDead)), a.chains.servers.sweep(ctx, a.chains))
}

// queueGauges shows how deliveries stand.
func (a *App) queueGauges() error {
	figures := &queueFigures{
		read: func(ctx context.Context) (queue.Stats, error) { return a.queue.Stats(ctx, worker.Deliveries) },
		failed: func(err error) {
			a.metrics.QueueUnread()
			a.log.Warn("the figures of the queue could not be read; /metrics has none of them", telemetry.Err(err))
		},
	}
	return a.metrics.Collect(func(set func(name, help, label, value string, number float64)) {
		a.chains.gauges(set)
		figures.collect(set)
	})
}

// queueFigures is how deliveries stand, as metrics.
type queueFigures struct {
	read   func(context.Context) (queue.Stats, error)
	failed func(error)

	mu   sync.Mutex
	at   time.Time // of the last look; a failed one counts too
	last queue.Stats
	ok   bool
}

const (
	figuresFresh = time.Second     // one look is for all who ask within this time
	figuresTime  = 5 * time.Second // a look that takes longer has failed
)

// now looks, unless somebody did a moment ago. What was seen before is not given
// where a look failed: a figure that is not true any more looks like one that is.
func (f *queueFigures) now() (queue.Stats, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < figuresFresh {
		return f.last, f.ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	stats, err := f.read(ctx)
	f.last, f.ok, f.at = stats, err == nil, time.Now()
	if err != nil {
		f.failed(err)
	}
	return f.last, f.ok
}

// collect gives the figures; none where they cannot be read.
func (f *queueFigures) collect(set func(name, help, label, value string, number float64)) {
	s, ok := f.now()
	if !ok {
		return
	}
	for _, state := range []queue.State{queue.Waiting, queue.Ready, queue.Leased, queue.Held, queue.Dead} {
		set("queue_depth", "Deliveries that did not end, and dead ones, by state.", "state", string(state), float64(s.Counts[state]))
	}
	oldest := 0.0
	if !s.OldestReady.IsZero() {
		oldest = max(0, time.Since(s.OldestReady).Seconds())
	}
	set("job_oldest_ready_seconds", "For how long the delivery has been due that waits longest.", "", "", oldest)
	for _, state := range []queue.LaneState{queue.LaneOpen, queue.LaneHalf, queue.LaneStopped} {
		set("breaker_state", "Endpoints that are left alone (open), are found out about (half) or were stopped.", "state", string(state), float64(s.Lanes[state]))
	}
}

// transportOf is the transport of an endpoint where none is said.
func transportOf(t junctor.Transport) junctor.Transport { return cmp.Or(t, junctor.TransportHTTP) }

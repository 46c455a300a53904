package events

import (
	"context"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// QueueGauges returns the collector of the gauges of the queue, for
// telemetry.Metrics.AddCollector.
func (s *Service) QueueGauges() func(set func(name, help, label, value string, number float64)) {
	g := &queueGauges{
		read: func(ctx context.Context) (queue.Stats, error) { return s.Queue.Stats(ctx, worker.Deliveries) },
		failed: func(err error) {
			s.Meter.CountQueueReadFailure()
			s.Log.Warn("the figures of the queue could not be read; /metrics has none of them", telemetry.ErrorAttr(err))
		},
	}
	return g.collect
}

// queueGauges reads the state of the queue for the metrics.
type queueGauges struct {
	read   func(context.Context) (queue.Stats, error)
	failed func(error)

	mu   sync.Mutex
	at   time.Time // of the last read, also of one that failed
	last queue.Stats
	ok   bool
}

const (
	gaugeInterval = time.Second     // least time between two reads
	gaugeTimeout  = 5 * time.Second // a read that takes longer has failed
)

// stats reads the queue, unless it was read a moment ago. If a read failed, the former
// figures are not returned: nobody could tell them from current ones.
func (g *queueGauges) stats() (queue.Stats, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.at.IsZero() && time.Since(g.at) < gaugeInterval {
		return g.last, g.ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	stats, err := g.read(ctx)
	g.last, g.ok, g.at = stats, err == nil, time.Now()
	if err != nil {
		g.failed(err)
	}
	return g.last, g.ok
}

// collect sets the gauges; none if the queue cannot be read.
func (g *queueGauges) collect(set func(name, help, label, value string, number float64)) {
	s, ok := g.stats()
	if !ok {
		return
	}
	for _, state := range []queue.State{queue.StateWaiting, queue.StateReady, queue.StateLeased, queue.StateHeld, queue.StateDead} {
		set("queue_depth", "Deliveries that have not ended, and dead deliveries, by state.", "state", string(state), float64(s.Counts[state]))
	}
	oldest := 0.0
	if !s.OldestReady.IsZero() {
		oldest = max(0, time.Since(s.OldestReady).Seconds())
	}
	set("job_oldest_ready_seconds", "Seconds since the oldest waiting delivery became due.", "", "", oldest)
	for _, state := range []queue.LaneState{queue.LaneOpen, queue.LaneHalfOpen, queue.LaneStopped} {
		set("breaker_state", "Delivery endpoints whose breaker is open or half-open, or that were stopped, by state.", "state", string(state), float64(s.Lanes[state]))
	}
}

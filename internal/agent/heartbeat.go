package agent

import (
	"context"
	"time"
)

// Replicas that share a database tell each other with heartbeats which of them
// runs what. HeartbeatTimeout is many intervals long, so that a slow database or
// a paused process does not make its running work count as lost.
const (
	HeartbeatInterval = 2 * time.Second
	HeartbeatTimeout  = time.Minute
)

// Heartbeat keeps the work of one replica alive in a shared database, and finds
// the work of replicas that died. Package room uses it for runs and package a2a
// for tasks. All fields are required.
type Heartbeat struct {
	Now func() time.Time

	// Report stores that the work of this replica still runs, and stops the work
	// that another replica asked to stop. It runs at every interval.
	Report func(ctx context.Context) error

	// Recover marks work as lost whose replica did not report for
	// HeartbeatTimeout. It runs twice per timeout.
	Recover func(ctx context.Context) error

	// LogFailure receives the result of every Report and Recover, nil included.
	// Both run again at their next time, so a failure needs no other handling.
	LogFailure func(ctx context.Context, err error)
}

// Run reports and recovers until ctx ends.
func (h *Heartbeat) Run(ctx context.Context) {
	tick := time.NewTicker(HeartbeatInterval)
	defer tick.Stop()
	recovered := h.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.LogFailure(ctx, h.Report(ctx))
		if h.Now().Sub(recovered) > HeartbeatTimeout/2 {
			recovered = h.Now()
			h.LogFailure(ctx, h.Recover(ctx))
		}
	}
}

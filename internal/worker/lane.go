package worker

import (
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// When an endpoint is left alone, and for how long.
const (
	breakInARow = 5
	breakOf     = 10 // attempts within breakWindow, of which half failed
	breakWindow = time.Minute
	firstBreak  = 5 * time.Second
	longBreak   = 5 * time.Minute
)

// lane is an endpoint as this process knows it.
type lane struct {
	taken  int // places
	peak   int
	row    int // failures in a row
	recent []attemptEnd
	broken bool // it was left alone, and one attempt finds out whether it is back
}

type attemptEnd struct {
	at  time.Time
	ill bool
}

// lane gives an endpoint's; the caller holds mu.
func (w *Worker) lane(tenant junctor.TenantID, name string) *lane {
	key := laneKey{tenant, name}
	l := w.lanes[key]
	if l == nil {
		l = &lane{}
		w.lanes[key] = l
	}
	l.peak = max(l.peak, l.taken)
	return l
}

// room is how many more attempts an endpoint takes: one at a time while it
// fails.
func (w *Worker) room(tenant junctor.TenantID, name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[laneKey{tenant, name}]
	switch {
	case l == nil:
		return w.o.Places
	case l.row > 0 || l.broken:
		return 1 - l.taken
	}
	return w.o.Places - l.taken
}

// note is told how attempts ended, and says whether the endpoint is to be left
// alone (open), or was and is back (closed).
func (l *lane) note(now time.Time, ill bool) (open, closed bool) {
	recent := l.recent[:0]
	failed := 0
	for _, e := range append(l.recent, attemptEnd{now, ill}) {
		if now.Sub(e.at) >= breakWindow {
			continue
		}
		recent = append(recent, e)
		if e.ill {
			failed++
		}
	}
	l.recent = recent
	if !ill {
		closed = l.broken
		l.row, l.broken = 0, false
		if closed {
			l.recent = nil
		}
		return false, closed
	}
	l.row++
	open = l.broken || l.row >= breakInARow || len(recent) >= breakOf && 2*failed >= len(recent)
	l.broken = l.broken || open
	return open, false
}

// learn keeps the breaker of an endpoint after an attempt that asked it.
func (w *Worker) learn(ctx context.Context, q *queue.Lease, o *outcome) {
	if o.kind == KindGone {
		w.change(w.o.Queue.StopLane(ctx, Deliveries, q.Tenant, q.Lane, "the endpoint says that it is gone for good (HTTP 410)"), q.Lane)
		return
	}
	if !o.ran || o.class == queue.Unbegun {
		return
	}
	w.mu.Lock()
	open, closed := w.lane(q.Tenant, q.Lane).note(w.o.Now(), o.ill())
	w.mu.Unlock()
	switch {
	case open:
		w.change(w.o.Queue.OpenLane(ctx, Deliveries, q.Tenant, q.Lane, firstBreak, longBreak, junctor.AsError(o.err).Message), q.Lane)
	case closed || q.Attempts > 0 && !o.ill():
		// What another process left alone is back as well.
		w.change(w.o.Queue.CloseLane(ctx, Deliveries, q.Tenant, q.Lane, false), q.Lane)
	}
}

func (w *Worker) change(err error, lane string) {
	if err != nil {
		w.o.Logger.Warn("whether an endpoint is left alone could not be noted", slog.String("endpoint", lane), telemetry.Err(err))
	}
}

// Peak is how many attempts there were at a time on an endpoint since the start.
func (w *Worker) Peak(tenant junctor.TenantID, name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[laneKey{tenant, name}]
	if l == nil {
		return 0
	}
	return max(l.peak, l.taken)
}

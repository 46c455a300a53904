package worker

import (
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Parameters of the breaker: when it opens, and for how long.
const (
	breakAfterFailures = 5
	breakMinAttempts   = 10 // attempts within breakWindow, if half of them failed
	breakWindow        = time.Minute
	minBreak           = 5 * time.Second
	maxBreak           = 5 * time.Minute
)

// lane is the state of an endpoint in this process. Worker.mu guards it. The
// queue stores whether the endpoint is paused, for all replicas.
type lane struct {
	takenPlaces    int // attempts that run
	peakPlaces     int // most attempts that ran at a time
	failuresInARow int // ends with the first success
	recent         []attemptEnd
	isBreakerOpen  bool // the endpoint was paused; the next attempt probes it alone
}

// attemptEnd is the end of one attempt within the window.
type attemptEnd struct {
	at     time.Time
	failed bool
}

// laneFor returns the lane of an endpoint. The caller holds mu.
func (w *Worker) laneFor(tenant junctor.TenantID, name string) *lane {
	key := laneKey{tenant, name}
	l := w.lanes[key]
	if l == nil {
		l = &lane{}
		w.lanes[key] = l
	}
	l.peakPlaces = max(l.peakPlaces, l.takenPlaces)
	return l
}

// freePlaces returns how many more attempts an endpoint may get now. While it
// fails, it gets one at a time.
func (w *Worker) freePlaces(tenant junctor.TenantID, name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[laneKey{tenant, name}]
	switch {
	case l == nil:
		return w.o.Places
	case l.failuresInARow > 0 || l.isBreakerOpen:
		return 1 - l.takenPlaces
	}
	return w.o.Places - l.takenPlaces
}

// noteAttempt records the end of an attempt. open means that the endpoint must
// be paused, closed that it was paused and answers again.
func (l *lane) noteAttempt(now time.Time, ill bool) (open, closed bool) {
	recent := l.recent[:0]
	failed := 0
	for _, e := range append(l.recent, attemptEnd{now, ill}) {
		if now.Sub(e.at) >= breakWindow {
			continue
		}
		recent = append(recent, e)
		if e.failed {
			failed++
		}
	}
	l.recent = recent
	if !ill {
		closed = l.isBreakerOpen
		l.failuresInARow, l.isBreakerOpen = 0, false
		if closed {
			l.recent = nil
		}
		return false, closed
	}
	l.failuresInARow++
	open = l.isBreakerOpen || l.failuresInARow >= breakAfterFailures || len(recent) >= breakMinAttempts && 2*failed >= len(recent)
	l.isBreakerOpen = l.isBreakerOpen || open
	return open, false
}

// updateBreaker updates the breaker of an endpoint after an attempt that
// reached it.
func (w *Worker) updateBreaker(ctx context.Context, q *queue.Lease, o *attemptOutcome) {
	if o.kind == KindGone {
		w.logLaneError(w.o.Queue.StopLane(ctx, Deliveries, q.Tenant, q.Lane, "the endpoint answered HTTP 410: it was removed permanently"), q.Lane)
		return
	}
	if !o.dispatched || o.class == queue.OutcomeNotStarted {
		return
	}
	w.mu.Lock()
	open, closed := w.laneFor(q.Tenant, q.Lane).noteAttempt(w.o.Now(), o.isEndpointFailure())
	w.mu.Unlock()
	switch {
	case open:
		w.logLaneError(w.o.Queue.OpenLane(ctx, Deliveries, q.Tenant, q.Lane, minBreak, maxBreak, junctor.AsError(o.err).Message), q.Lane)
	case closed || q.Attempts > 0 && !o.isEndpointFailure():
		// Another replica may have paused the endpoint.
		w.logLaneError(w.o.Queue.CloseLane(ctx, Deliveries, q.Tenant, q.Lane, false), q.Lane)
	}
}

// logLaneError reports that the state of a lane could not be stored.
func (w *Worker) logLaneError(err error, lane string) {
	if err != nil {
		w.o.Logger.Warn("cannot store the breaker state of a delivery endpoint", slog.String("endpoint", lane), telemetry.ErrorAttr(err))
	}
}

// Peak returns the largest number of attempts that ran at a time on an endpoint
// since the start. Tests use it to check the limit.
func (w *Worker) Peak(tenant junctor.TenantID, name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[laneKey{tenant, name}]
	if l == nil {
		return 0
	}
	return max(l.peakPlaces, l.takenPlaces)
}

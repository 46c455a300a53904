package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Pipeline is the part of guard that this package uses.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	AbandonCall(ctx context.Context, op *guard.Op, why error)
}

// Endpoints makes backends for agents' own endpoints.
type Endpoints interface {
	// Open returns the backend of a recipient's endpoint: at the recipient's
	// URL, or, if that is "", at the URL that is stored for the agent. sign
	// says that requests must be signed. The agent's token is sent if there is
	// one for the origin. The caller must call done once; well says whether the
	// backend may be reused. Errors: not_found if no endpoint is stored,
	// unauthenticated if there is no secret to sign with.
	Open(ctx context.Context, tenant junctor.TenantID, to Recipient, sign bool) (b catalog.Backend, done func(well bool), err error)
	// Scrub removes the secrets of a backend from a text.
	Scrub(tenant junctor.TenantID, server string, b catalog.Backend, text string) string
}

// Recipient is the resolved receiver of an order.
type Recipient struct {
	junctor.Target        // Resolve is ""
	Whose          string // the agent whose token is sent
	As             string // the server id under which calls of the endpoint are recorded
	Header         string // the header that the agent's registration requires for its token; "" if it names none
}

// Targets resolves endpoints that an order does not name. If the error is
// denied, somebody disabled the endpoint and the order is held. Unreachable is
// retried; other errors are not.
type Targets interface {
	Resolve(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (Recipient, error)
}

// Files fetches the content of files that belong to events.
type Files interface {
	// Content returns the content of an order's file as JSON, or nil if the
	// order must go without it. proof names what verified it, or is Unproved.
	// Unavailable, timeout and unreachable are temporary. Not found means that
	// the file cannot be had anywhere, and the order goes without it. With
	// other errors the order is not carried out.
	Content(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (content json.RawMessage, proof string, err error)
}

// Raiser stores the events that tools' answers become, in the transaction that
// ends the delivery.
type Raiser interface {
	Raise(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, e junctor.RaisedEvent) error
}

// Meter counts attempts.
type Meter interface {
	ObserveAttempt(outcome string, took time.Duration)
}

// Options of a Worker. Queue, Pipeline, Endpoints, Meter and Logger must be
// set.
type Options struct {
	Queue     *queue.Queue
	Pipeline  Pipeline
	Endpoints Endpoints
	Targets   Targets // nil: orders that need resolving fail
	Files     Files   // nil: orders with files fail
	Raiser    Raiser  // nil: answers raise no events
	// Unknown decides what happens to an order whose tool this replica does not
	// know: another replica may know more about the server. nil: the order
	// fails.
	Unknown func(ctx context.Context, op *guard.Op) queue.Outcome
	Meter   Meter
	Logger  *slog.Logger
	Now     func() time.Time // nil means time.Now
	NewID   func() string

	Places int // concurrent attempts per endpoint; 0 means 4
	Most   int // concurrent attempts in all; 0 means 1024
}

const (
	defaultPlaces          = 4
	defaultMaxAttempts     = 1024
	defaultEndpointTimeout = 30 * time.Second
	// shutdownGrace is how long running attempts may continue when the process
	// stops.
	shutdownGrace = 2 * time.Second
	// maxLostLeases is how often a delivery may lose its lease because a
	// process ended. Beyond that, the delivery itself is presumed to end the
	// process.
	maxLostLeases = 20
)

// Worker delivers orders. Run does the work; the other methods read and change
// deliveries and may be called at any time.
type Worker struct {
	o    Options
	wake chan struct{}

	mu         sync.Mutex
	lanes      map[laneKey]*lane
	running    map[*runningAttempt]struct{}
	onFeedback []func(junctor.TenantID, string)
}

// laneKey identifies an endpoint of a tenant.
type laneKey struct {
	tenant junctor.TenantID
	name   string
}

// runningAttempt is an attempt that runs.
type runningAttempt struct {
	lease      *queue.Lease
	cancel     context.CancelCauseFunc
	leaseTimer *time.Timer // cancels the attempt shortly before a lease expires that could not be extended
}

// New makes a Worker. It registers with the queue to be woken by new orders.
func New(o Options) (*Worker, error) {
	if o.Queue == nil || o.Pipeline == nil || o.Endpoints == nil || o.Meter == nil || o.Logger == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "worker: a part of Options is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Places <= 0 {
		o.Places = defaultPlaces
	}
	if o.Most <= 0 {
		o.Most = defaultMaxAttempts
	}
	w := &Worker{o: o, wake: make(chan struct{}, 1), lanes: map[laneKey]*lane{}, running: map[*runningAttempt]struct{}{}}
	o.Queue.RegisterWaker(w.wake)
	return w, nil
}

// SetRaiser sets Options.Raiser. Call it before Run.
func (w *Worker) SetRaiser(r Raiser) { w.o.Raiser = r }

// OnFeedback registers f to be called after each delivery to an agent. Call it
// before Run. f must not block.
func (w *Worker) OnFeedback(f func(tenant junctor.TenantID, agent string)) {
	w.onFeedback = append(w.onFeedback, f)
}

// Run delivers orders until ctx ends. Running attempts then get shutdownGrace
// to end; Run returns when all have ended.
func (w *Worker) Run(ctx context.Context) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	var flights sync.WaitGroup
	beating := make(chan struct{})
	beats, stopBeats := context.WithCancel(attempts)
	go func() {
		defer close(beating)
		w.extendLeases(beats)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := w.claimDeliveries(ctx, func(l *queue.Lease, since time.Time) {
			f := w.beginAttempt(attempts, l, since)
			flights.Go(func() { w.runAttempt(f.ctx, f.runningAttempt) })
		})
		timer.Reset(max(next.Sub(w.o.Now()), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-timer.C:
		}
	}
	stop := time.AfterFunc(shutdownGrace, func() { cut(errStopping) })
	flights.Wait()
	stop.Stop()
	stopBeats()
	<-beating
}

// errStopping is the cause of attempts that are cancelled at the end of Run.
var errStopping = junctor.Errorf(junctor.CodeCanceled, "this instance is stopping")

// claimDeliveries leases as many orders as may run, and starts each. It returns
// when to claim again.
func (w *Worker) claimDeliveries(ctx context.Context, start func(l *queue.Lease, since time.Time)) time.Time {
	w.mu.Lock()
	free := w.o.Most - len(w.running)
	w.mu.Unlock()
	if free <= 0 {
		return w.o.Now().Add(time.Second) // the end of an attempt wakes Run earlier
	}
	since := time.Now()
	leases, next, err := w.o.Queue.Claim(ctx, Deliveries, free, w.freePlaces)
	if err != nil && ctx.Err() == nil {
		w.o.Logger.Warn("cannot claim deliveries; retrying", telemetry.ErrorAttr(err))
		return w.o.Now().Add(time.Second)
	}
	for _, l := range leases {
		start(l, since)
	}
	return next
}

// startedAttempt is an attempt with its own context.
type startedAttempt struct {
	*runningAttempt
	ctx context.Context //nolint:containedctx // the attempt's own, which extendLeases cancels
}

// beginAttempt takes a place of the lane for an attempt. since is the time just
// before its lease was requested.
func (w *Worker) beginAttempt(ctx context.Context, l *queue.Lease, since time.Time) startedAttempt {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &runningAttempt{lease: l, cancel: cancel}
	f.leaseTimer = time.AfterFunc(w.safeLeaseTime(since), func() { cancel(errLeaseNotExtended) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[f] = struct{}{}
	w.laneFor(l.Tenant, l.Lane).takenPlaces++
	return startedAttempt{f, ctx}
}

// safeLeaseTime returns for how long from now a lease that was requested at
// since is certainly valid. It uses only the clock of this process, and leaves
// time to cancel the attempt before another replica may start it.
func (w *Worker) safeLeaseTime(since time.Time) time.Duration {
	lease := w.o.Queue.LeaseDuration()
	return lease - lease/5 - time.Since(since)
}

// endAttempt gives the place back and wakes Run.
func (w *Worker) endAttempt(f *runningAttempt) {
	f.leaseTimer.Stop()
	f.cancel(nil)
	w.mu.Lock()
	delete(w.running, f)
	w.laneFor(f.lease.Tenant, f.lease.Lane).takenPlaces--
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// extendLeases extends the leases of running attempts until ctx ends, and
// cancels attempts whose lease was lost.
func (w *Worker) extendLeases(ctx context.Context) {
	tick := time.NewTicker(w.o.Queue.LeaseDuration() / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		byLease := map[*queue.Lease]*runningAttempt{}
		var leases []*queue.Lease
		w.mu.Lock()
		for f := range w.running {
			byLease[f.lease] = f
			leases = append(leases, f.lease)
		}
		w.mu.Unlock()
		since := time.Now()
		asking, cancel := context.WithTimeout(ctx, w.o.Queue.LeaseDuration()/3) // do not wait longer for a database that hangs
		lost, err := w.o.Queue.ExtendLeases(asking, leases)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				w.o.Logger.Warn("cannot extend the leases of deliveries; retrying", telemetry.ErrorAttr(err))
			}
			continue
		}
		for _, l := range lost {
			byLease[l].cancel(errLeaseLost)
			delete(byLease, l)
		}
		for _, f := range byLease {
			f.leaseTimer.Reset(w.safeLeaseTime(since)) // harmless for an attempt that has ended: it is cancelled already
		}
	}
}

// errLeaseNotExtended is the cause of attempts that are cancelled because the
// database could not be reached: another replica may soon start the delivery.
var errLeaseNotExtended = junctor.Errorf(junctor.CodeCanceled, "the lease of the delivery could not be extended in time")

// errLeaseLost is the cause of attempts whose delivery another replica has, or
// that was dropped.
var errLeaseLost = junctor.Errorf(junctor.CodeCanceled, "another process has the delivery now, or it was dropped")

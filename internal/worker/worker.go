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

// Pipeline is guard, as this package uses it.
type Pipeline interface {
	Do(ctx context.Context, op *guard.Op, sink catalog.Sink) (catalog.Result, error)
	GiveUp(ctx context.Context, op *guard.Op, why error)
}

// Endpoints makes backends of agents' own endpoints.
type Endpoints interface {
	// Open gives the backend of a recipient's endpoint: at the URL, or where it is
	// stored for the agent when that is "". sign says that requests are to be
	// signed. The agent's token goes along where there is one for the origin. done
	// gives it back; well says whether it may be used again. Errors: not_found
	// where nothing is stored, unauthenticated where there is no secret to sign with.
	Open(ctx context.Context, tenant junctor.TenantID, to Recipient, sign bool) (b catalog.Backend, done func(well bool), err error)
	// Scrub takes what is secret about a backend out of a text.
	Scrub(tenant junctor.TenantID, server string, b catalog.Backend, text string) string
}

// Recipient is whom an order goes to, once that is known.
type Recipient struct {
	junctor.Target        // with no Resolve
	Whose          string // the agent whose token is sent
	As             string // the id of the server that a call of the endpoint counts as
	Header         string // where the agent's registration wants its token; "" where that is not said
}

// Targets finds endpoints that an order does not name. Denied is an endpoint that
// somebody switched off, for which the order is held; unreachable is tried again,
// other errors are not.
type Targets interface {
	Resolve(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (Recipient, error)
}

// Files gives the content of files that belong to events.
type Files interface {
	// Content gives the content of an order's file as JSON, or nil where the order
	// goes without it; proof names what proved it, or is Unproved. Unavailable,
	// timeout and unreachable may pass; not found says that nobody can have the file,
	// and the order goes without it. For other errors the order is not carried out.
	Content(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (content json.RawMessage, proof string, err error)
}

// Raiser takes the events that tools' answers become, in the transaction that
// ends the delivery.
type Raiser interface {
	Raise(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, e junctor.RaisedEvent) error
}

// Meter counts attempts.
type Meter interface {
	Attempt(outcome string, took time.Duration)
}

// Options of a Worker. Queue, Pipeline, Endpoints, Meter and Logger must be set.
type Options struct {
	Queue     *queue.Queue
	Pipeline  Pipeline
	Endpoints Endpoints
	Targets   Targets // nil: nothing is resolved
	Files     Files   // nil: no files
	Raiser    Raiser  // nil: answers raise nothing
	// Unknown says what becomes of an order whose tool this process did not know when
	// it was called: another one may know more of the server. nil: it is given up.
	Unknown func(ctx context.Context, op *guard.Op) queue.Class
	Meter   Meter
	Logger  *slog.Logger
	Now     func() time.Time // nil is time.Now
	NewID   func() string

	Places int // attempts on one endpoint at a time; 0 is 4
	Most   int // attempts at a time in all; 0 is 1024
}

const (
	defaultPlaces = 4
	defaultMost   = 1024
	attemptTime   = 30 * time.Second
	// graceTime is what attempts get to end when the process does.
	graceTime = 2 * time.Second
	// maxLost is how often a process may have ended while it was at work on a
	// delivery before that is taken to be no accident.
	maxLost = 20
)

// Worker delivers what is due. Run does; the other methods look and change.
type Worker struct {
	o    Options
	wake chan struct{}

	mu         sync.Mutex
	lanes      map[laneKey]*lane
	running    map[*flight]struct{}
	onFeedback []func(junctor.TenantID, string)
	onDead     []func(context.Context, Delivery)
}

type laneKey struct {
	tenant junctor.TenantID
	name   string
}

// flight is an attempt under way.
type flight struct {
	lease  *queue.Lease
	cancel context.CancelCauseFunc
	alone  *time.Timer // ends it before the lease does that nobody could extend
}

// New makes a Worker.
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
		o.Most = defaultMost
	}
	w := &Worker{o: o, wake: make(chan struct{}, 1), lanes: map[laneKey]*lane{}, running: map[*flight]struct{}{}}
	o.Queue.Wake(w.wake)
	return w, nil
}

// SetRaiser says who takes the events that answers become; before Run.
func (w *Worker) SetRaiser(r Raiser) { w.o.Raiser = r }

// OnFeedback has f told when something was delivered to an agent; before Run. It
// must not block.
func (w *Worker) OnFeedback(f func(tenant junctor.TenantID, agent string)) {
	w.onFeedback = append(w.onFeedback, f)
}

// OnDead has f told of deliveries that are given up; before Run. It may be told
// of none when the process ends just then: Dead lists them all.
func (w *Worker) OnDead(f func(ctx context.Context, d Delivery)) { w.onDead = append(w.onDead, f) }

// Run delivers until ctx ends. What is under way then gets a moment.
func (w *Worker) Run(ctx context.Context) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	var flights sync.WaitGroup
	beating := make(chan struct{})
	beats, stopBeats := context.WithCancel(attempts)
	go func() {
		defer close(beating)
		w.beat(beats)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := w.take(ctx, func(l *queue.Lease, since time.Time) {
			f := w.begin(attempts, l, since)
			flights.Go(func() { w.fly(f.ctx, f.flight) })
		})
		timer.Reset(max(next.Sub(w.o.Now()), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-timer.C:
		}
	}
	stop := time.AfterFunc(graceTime, func() { cut(errStopping) })
	flights.Wait()
	stop.Stop()
	stopBeats()
	<-beating
}

var errStopping = junctor.Errorf(junctor.CodeCanceled, "this instance is stopping")

// take leases what there is room for and starts it; next is when to come again.
func (w *Worker) take(ctx context.Context, start func(l *queue.Lease, since time.Time)) time.Time {
	w.mu.Lock()
	free := w.o.Most - len(w.running)
	w.mu.Unlock()
	if free <= 0 {
		return w.o.Now().Add(time.Second) // the end of one wakes earlier
	}
	since := time.Now()
	leases, next, err := w.o.Queue.Claim(ctx, Deliveries, free, w.room)
	if err != nil && ctx.Err() == nil {
		w.o.Logger.Warn("deliveries cannot be taken from the database just now", telemetry.Err(err))
		return w.o.Now().Add(time.Second)
	}
	for _, l := range leases {
		start(l, since)
	}
	return next
}

type begun struct {
	*flight
	ctx context.Context //nolint:containedctx // the attempt's own, which others end
}

// begin takes a place for an attempt, whose lease was asked for at since.
func (w *Worker) begin(ctx context.Context, l *queue.Lease, since time.Time) begun {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &flight{lease: l, cancel: cancel}
	f.alone = time.AfterFunc(w.sure(since), func() { cancel(errAlone) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[f] = struct{}{}
	w.lane(l.Tenant, l.Lane).taken++
	return begun{f, ctx}
}

// sure is for how long from now on a lease that was asked for at since can be relied
// on: by the clock of this process alone, and with time to let go of what is under
// way before another takes it up.
func (w *Worker) sure(since time.Time) time.Duration {
	lease := w.o.Queue.LeaseTime()
	return lease - lease/5 - time.Since(since)
}

// end gives the place back.
func (w *Worker) end(f *flight) {
	f.alone.Stop()
	f.cancel(nil)
	w.mu.Lock()
	delete(w.running, f)
	w.lane(f.lease.Tenant, f.lease.Lane).taken--
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// beat extends the leases of what is under way, and ends what was lost.
func (w *Worker) beat(ctx context.Context) {
	tick := time.NewTicker(w.o.Queue.LeaseTime() / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		byLease := map[*queue.Lease]*flight{}
		var leases []*queue.Lease
		w.mu.Lock()
		for f := range w.running {
			byLease[f.lease] = f
			leases = append(leases, f.lease)
		}
		w.mu.Unlock()
		since := time.Now()
		asking, cancel := context.WithTimeout(ctx, w.o.Queue.LeaseTime()/3) // a database that says nothing is asked again
		lost, err := w.o.Queue.Extend(asking, leases)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				w.o.Logger.Warn("leases of deliveries cannot be extended just now", telemetry.Err(err))
			}
			continue
		}
		for _, l := range lost {
			byLease[l].cancel(errLost)
			delete(byLease, l)
		}
		for _, f := range byLease {
			f.alone.Reset(w.sure(since)) // one that has ended is cancelled already
		}
	}
}

// errAlone ends an attempt of a process that the database does not hear: another
// may soon have the delivery.
var errAlone = junctor.Errorf(junctor.CodeCanceled, "the lease of the delivery could not be extended in time")

var errLost = junctor.Errorf(junctor.CodeCanceled, "another process has the delivery now, or it was dropped")

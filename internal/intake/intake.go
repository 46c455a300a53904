package intake

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Booking is a transaction in which an event is stored together with its
// deliveries.
type Booking interface {
	store.Statements
	// Place enqueues deliveries. A delivery whose dedupe key exists is not
	// added again.
	Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) (ids []string, err error)
	// NoteChange says that an event of a tenant is stored, for those who show events.
	NoteChange(tenant junctor.TenantID)
}

// Secrets stores the signing secrets and addresses of sources, sealed.
type Secrets interface {
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (s seal.Secret, ok bool, err error)
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
}

// Options of an Intake. All are required except IsLeader, Dial, SetToken and
// Outcome. Without Dial no Redis is read; SetToken and Outcome are used only
// with it.
type Options struct {
	Store *store.Store
	// Write runs fn in a transaction, and returns nil only once the result is
	// durable. fn may run more than once.
	Write   func(ctx context.Context, fn func(ctx context.Context, on Booking) error) error
	Secrets Secrets
	Now     func() time.Time
	NewID   func() string // ids that sort by time
	Replica string        // the id of this replica
	Log     *slog.Logger
	// IsLeader reports whether this replica holds the leader lease for schedules
	// and pruning; nil means always.
	IsLeader func() bool

	// Dial connects to a Redis that the operator named.
	Dial egress.RedisDialer
	// SetToken stores the token that a job has for its agent's endpoint,
	// sealed.
	SetToken func(ctx context.Context, tenant junctor.TenantID, agent, url, header string, token seal.Secret) error
	// Outcome returns the state of the deliveries of a job, by its source and
	// dedupe key.
	Outcome func(ctx context.Context, tenant junctor.TenantID, source, key string) (Outcome, error)
}

// Intake receives events. Its methods are safe for concurrent use.
type Intake struct {
	Options
	rules       sync.Map // by tenant and name: *event.Rule, parsed from the trigger's last version
	wakeSignal  chan struct{}
	pullSignal  changeSignal
	decoySecret string // a random secret, see loadSecrets
}

// New makes an Intake. It returns an error if a required option is missing.
func New(o Options) (*Intake, error) {
	if o.Store == nil || o.Write == nil || o.Secrets == nil || o.Now == nil || o.NewID == nil || o.Log == nil || o.Replica == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "intake: Store, Write, Secrets, Now, NewID, Replica and Log are required")
	}
	return &Intake{Options: o, wakeSignal: make(chan struct{}, 1), decoySecret: rand.Text() + rand.Text()}, nil
}

// Take stores an event with the deliveries that its triggers make. When it
// returns without an error, both are durable.
func (in *Intake) Take(ctx context.Context, e junctor.Event) (junctor.Taken, error) {
	plan, err := in.planEvent(ctx, &e)
	if err != nil {
		return junctor.Taken{}, err
	}
	var taken junctor.Taken
	err = in.Write(ctx, func(ctx context.Context, on Booking) (err error) {
		taken, err = in.storeEvent(ctx, on, &e, plan)
		return err
	})
	// A new entry may complete a batch.
	if err == nil && len(plan.waits) > 0 && !taken.Duplicate {
		in.wakeRun()
	}
	return taken, err
}

// Raise stores an event that a delivery's answer raised, in the transaction
// that settles the delivery. An event that is invalid, or that is too deep in a
// chain of such events, is logged and dropped: the delivery must settle
// nevertheless.
func (in *Intake) Raise(ctx context.Context, on Booking, tenant junctor.TenantID, r junctor.RaisedEvent) error {
	if r.Depth > maxRaiseDepth {
		in.Log.WarnContext(ctx, "event of an answer dropped: the chain of events is too long", "source", r.Source, "type", r.Type, "delivery", r.Cause, "depth", r.Depth)
		return nil
	}
	e := junctor.Event{Tenant: tenant, Source: r.Source, Type: r.Type, Agent: r.Agent, DedupeKey: r.Dedupe, Data: r.Data, Depth: r.Depth}
	if e.DedupeKey == "" {
		e.DedupeKey = r.Cause
	}
	plan, err := in.planEvent(ctx, &e)
	if err != nil {
		// The delivery succeeded as soon as the tool answered, whether or not
		// the answer becomes an event.
		in.Log.WarnContext(ctx, "cannot emit the event of an answer", "delivery", r.Cause, "error", err.Error())
		return nil
	}
	_, err = in.storeEvent(ctx, on, &e, plan)
	return err
}

// maxRaiseDepth bounds chains of events that raise one another through answers.
const maxRaiseDepth = 8

// eventPlan is what an event leads to: deliveries, and entries in batches.
type eventPlan struct {
	orders []junctor.Order
	waits  []store.EventWait
}

// planEvent completes an event with its id and time, checks it, and finds what
// follows from it.
func (in *Intake) planEvent(ctx context.Context, e *junctor.Event) (eventPlan, error) {
	e.ID, e.ReceivedAt = in.NewID(), in.Now().UTC().Truncate(time.Microsecond)
	if e.DedupeKey == "" {
		e.DedupeKey = e.ID
	}
	if err := e.Check(); err != nil {
		return eventPlan{}, err
	}
	rules, err := in.matchingRules(ctx, e)
	if err != nil {
		return eventPlan{}, err
	}
	return in.applyRules(e, rules), nil
}

// matchingRules returns the rules that match an event. A trigger that cannot be
// parsed is noted on the event as a fault.
func (in *Intake) matchingRules(ctx context.Context, e *junctor.Event) ([]*event.Rule, error) {
	triggers, err := in.Store.For(e.Tenant).Triggers(ctx)
	if err != nil {
		return nil, err
	}
	var out []*event.Rule
	for _, t := range triggers {
		if t.Disabled {
			continue
		}
		r, err := in.loadRule(t)
		if err != nil {
			e.Faults = append(e.Faults, formatFault(t.Name, err))
			continue
		}
		if r.Matches(e) {
			out = append(out, r)
		}
	}
	return out, nil
}

// loadRule parses a trigger once per version.
func (in *Intake) loadRule(t junctor.Trigger) (*event.Rule, error) {
	key := string(t.Tenant) + "/" + t.Name
	if known, ok := in.rules.Load(key); ok {
		if r, ok := known.(*event.Rule); ok && r.Trigger.UpdatedAt.Equal(t.UpdatedAt) && r.Trigger.CreatedAt.Equal(t.CreatedAt) {
			return r, nil
		}
	}
	r, err := event.NewRule(t)
	if err == nil {
		in.rules.Store(key, r)
	}
	return r, err
}

// applyRules makes the deliveries of an event, and notes on the event why one
// could not be made.
func (in *Intake) applyRules(e *junctor.Event, rules []*event.Rule) (p eventPlan) {
	for _, r := range rules {
		// A batching trigger makes no delivery now: sendBatches does when the
		// batch is full.
		if r.Batched() {
			line, err := batchLine(r, e)
			if err != nil {
				e.Faults = append(e.Faults, formatFault(r.Trigger.Name, err))
				continue
			}
			p.waits = append(p.waits, store.EventWait{Tenant: e.Tenant, Trigger: r.Trigger.Name, Line: line, Event: e.ID, Since: e.ReceivedAt})
			continue
		}
		o, err := newOrder(r, e)
		if err != nil {
			e.Faults = append(e.Faults, formatFault(r.Trigger.Name, err))
			continue
		}
		p.orders = append(p.orders, o)
	}
	e.Raised = len(p.orders)
	return p
}

// formatFault writes the fault of a trigger.
func formatFault(trigger string, err error) string {
	return fmt.Sprintf("trigger %s: %s", trigger, junctor.AsError(err).Message)
}

// batchLine returns the key of events that go out in one call: they concern the
// same agent, and have the same order key if the trigger has one.
func batchLine(r *event.Rule, e *junctor.Event) (string, error) {
	if r.Trigger.Action.OrderKey == "" {
		return e.Agent, nil
	}
	key, err := r.OrderKey(e)
	return e.Agent + "\n" + key, err
}

// newOrder makes the delivery of a rule for events that concern one agent and
// have one order key.
func newOrder(r *event.Rule, events ...*junctor.Event) (junctor.Order, error) {
	t, a, first := &r.Trigger, &r.Trigger.Action, events[0]
	arguments, err := r.Arguments(events...)
	if err != nil {
		return junctor.Order{}, err
	}
	o := junctor.Order{
		Event: first.ID, EventType: first.Type, Source: first.Source, Trigger: t.Name, Agent: first.Agent, Depth: first.Depth,
		Target: junctor.Target{Server: a.Server, Agent: a.Agent, Resolve: a.Resolve}, Tool: a.Tool, Arguments: arguments,
		Dedupe: first.ID + "/" + t.Name, MaxAttempts: a.Attempts, SkipAfter: a.SkipAfter, RetryErrors: a.RetryErrors, Timeout: time.Duration(a.TimeoutMS) * time.Millisecond, Sign: a.Sign,
	}
	// The trigger addresses the agent that the event is about.
	if a.Agent == junctor.EventAgent {
		if first.Agent == "" {
			return o, junctor.Errorf(junctor.CodeInvalid, "the event names no agent, so no delivery endpoint can be called")
		}
		o.Target.Agent = first.Agent
	}
	// All calls to an agent share one order key, whichever trigger makes them. With a
	// key per trigger, a retraction could overtake the message that it retracts.
	if o.Key, err = r.OrderKey(first); err != nil {
		return o, err
	}
	o.Unordered = o.Key == ""
	if a.Raise {
		o.Reply = &junctor.Reply{Source: "trigger:" + t.Name, Type: a.Tool}
	}
	if a.IncludeFile {
		if o.File = fileOfEvent(first, a.VerifyFile); o.File != nil {
			o.File.Attempts = a.FileAttempts
		}
	}
	return o, nil
}

// storeEvent stores an event and its plan in a transaction. If the event is a
// repetition, nothing is stored and the result is marked as a duplicate.
func (in *Intake) storeEvent(ctx context.Context, on Booking, e *junctor.Event, p eventPlan) (junctor.Taken, error) {
	rows := in.Store.For(e.Tenant)
	// The unique dedupe key decides about repetitions, also between replicas.
	id, added, err := rows.AddEvent(ctx, on, e)
	if err != nil || !added {
		return junctor.Taken{ID: id, Duplicate: true, Deliveries: []string{}}, err
	}
	on.NoteChange(e.Tenant)
	for _, w := range p.waits {
		if err := rows.AddEventWait(ctx, on, w); err != nil {
			return junctor.Taken{}, err
		}
	}
	ids, err := placeOrders(ctx, on, e.Tenant, p.orders)
	return junctor.Taken{ID: id, Deliveries: ids, Faults: e.Faults}, err
}

// placeOrders enqueues deliveries, if there are any.
func placeOrders(ctx context.Context, on Booking, tenant junctor.TenantID, orders []junctor.Order) ([]string, error) {
	if len(orders) == 0 {
		return []string{}, nil
	}
	return on.Place(ctx, tenant, orders...)
}

// Replay applies the current triggers to an event that was stored before. A
// trigger that has a delivery of the event already makes no second one.
func (in *Intake) Replay(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Taken, error) {
	e, err := in.Store.For(tenant).Event(ctx, id)
	if err != nil {
		return junctor.Taken{}, err
	}
	e.Faults = nil
	rules, err := in.matchingRules(ctx, &e)
	if err != nil {
		return junctor.Taken{}, err
	}
	p := in.applyRules(&e, rules)
	var ids []string
	err = in.Write(ctx, func(ctx context.Context, on Booking) (err error) {
		if ids, err = placeOrders(ctx, on, tenant, p.orders); err != nil {
			return err
		}
		for _, w := range p.waits {
			if err := in.Store.For(tenant).AddEventWait(ctx, on, w); err != nil {
				return err
			}
		}
		return in.Store.For(tenant).SetEventOutcome(ctx, on, id, len(ids), e.Faults)
	})
	in.wakeRun()
	return junctor.Taken{ID: id, Deliveries: ids, Faults: e.Faults}, err
}

// wakeRun makes Run look for due work at once.
func (in *Intake) wakeRun() {
	select {
	case in.wakeSignal <- struct{}{}:
	default:
	}
}

// eventRetention is how long events are kept, and therefore how long a
// repetition is recognised.
const eventRetention = 30 * 24 * time.Hour

// Run does the background work: schedules, batches, Redis readers and pruning.
// It returns when ctx has ended and all readers have stopped.
func (in *Intake) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { in.runReaders(ctx) })
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	pruned := time.Time{}
	for ctx.Err() == nil {
		mine := in.IsLeader == nil || in.IsLeader()
		if mine {
			in.fireDueSchedules(ctx)
		}
		next := in.sendBatches(ctx)
		if now := in.Now(); mine && now.Sub(pruned) > time.Hour {
			pruned = now
			if _, err := in.Store.PruneEvents(ctx, now.Add(-eventRetention)); err != nil && ctx.Err() == nil {
				in.Log.WarnContext(ctx, "cannot delete old events; retrying", "error", err.Error())
			}
		}
		// Wake up earlier than the ticker if a batch becomes due.
		var soon <-chan time.Time
		if next > 0 && next < pollInterval {
			soon = time.After(next)
		}
		select {
		case <-ctx.Done():
		case <-in.wakeSignal:
		case <-soon:
		case <-tick.C:
		}
	}
	work.Wait()
}

// pollInterval is how often schedules are checked. Their resolution is a
// minute.
const pollInterval = time.Second

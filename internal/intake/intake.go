package intake

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Booking is a transaction in which an event is stored together with the
// deliveries that it leads to.
type Booking interface {
	store.Statements
	// Place hands over deliveries. One whose dedupe key is there already is not
	// added again.
	Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) (ids []string, err error)
}

// Secrets keeps what sources are known by.
type Secrets interface {
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (s seal.Secret, ok bool, err error)
	Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error
}

// Options are the parts that intake stands on. All are needed but Dial, without
// which no Redis is read, and SetToken and Outcome, which belong to it.
type Options struct {
	Store *store.Store
	// Write runs fn in a transaction, and answers nil only when what it did
	// outlasts the end of the process. fn may run more than once.
	Write   func(ctx context.Context, fn func(ctx context.Context, on Booking) error) error
	Secrets Secrets
	Now     func() time.Time
	NewID   func() string // ids that sort by time
	Node    string        // this process among those that share a database
	Log     *slog.Logger
	// Turn says whether schedules and forgetting are this process's to do now; nil
	// is always.
	Turn func() bool

	// Dial reaches a Redis that the operator named.
	Dial Dialer
	// SetToken keeps the token of a job for its agent's endpoint, sealed.
	SetToken func(ctx context.Context, tenant junctor.TenantID, agent, url, header string, token seal.Secret) error
	// Outcome says what became of the event that a source's job with a key was.
	Outcome func(ctx context.Context, tenant junctor.TenantID, source, key string) (Outcome, error)
}

// Intake takes events. It is safe for concurrent use.
type Intake struct {
	Options
	rules sync.Map // tenant and name -> *event.Rule, as it was when last read
	poke  chan struct{}
	pulls pulls
	decoy string // a secret that nobody knows
}

// New checks the options.
func New(o Options) (*Intake, error) {
	if o.Store == nil || o.Write == nil || o.Secrets == nil || o.Now == nil || o.NewID == nil || o.Log == nil || o.Node == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "intake needs Store, Write, Secrets, Now, NewID, Node and Log")
	}
	return &Intake{Options: o, poke: make(chan struct{}, 1), decoy: rand.Text() + rand.Text()}, nil
}

// Take stores an event with the deliveries that its triggers make of it. When it
// returns without an error, they outlast whatever happens next.
func (in *Intake) Take(ctx context.Context, e junctor.Event) (junctor.Taken, error) {
	plan, err := in.plan(ctx, &e)
	if err != nil {
		return junctor.Taken{}, err
	}
	var taken junctor.Taken
	err = in.Write(ctx, func(ctx context.Context, on Booking) (err error) {
		taken, err = in.book(ctx, on, &e, plan)
		return err
	})
	if err == nil && len(plan.waits) > 0 && !taken.Duplicate {
		in.wake()
	}
	return taken, err
}

// Raise stores an event that follows from a delivery, in the transaction that
// settles the delivery.
func (in *Intake) Raise(ctx context.Context, on Booking, tenant junctor.TenantID, r junctor.RaisedEvent) error {
	if r.Depth > maxRaised {
		in.Log.WarnContext(ctx, "an answer raised no event: too many led to one another", "source", r.Source, "type", r.Type, "delivery", r.Cause, "depth", r.Depth)
		return nil
	}
	e := junctor.Event{Tenant: tenant, Source: r.Source, Type: r.Type, Agent: r.Agent, DedupeKey: r.Dedupe, Data: r.Data, Depth: r.Depth}
	if e.DedupeKey == "" {
		e.DedupeKey = r.Cause
	}
	plan, err := in.plan(ctx, &e)
	if err != nil {
		// The delivery is done whatever its answer was like.
		in.Log.WarnContext(ctx, "an answer raised no event", "delivery", r.Cause, "error", err.Error())
		return nil
	}
	_, err = in.book(ctx, on, &e, plan)
	return err
}

// maxRaised is how many events may follow from one another's answers.
const maxRaised = 8

// plan is what an event leads to.
type plan struct {
	orders []junctor.Order
	waits  []store.EventWait
}

// plan completes an event and finds what follows from it.
func (in *Intake) plan(ctx context.Context, e *junctor.Event) (plan, error) {
	e.ID, e.ReceivedAt = in.NewID(), in.Now().UTC().Truncate(time.Microsecond)
	if e.DedupeKey == "" {
		e.DedupeKey = e.ID
	}
	if err := e.Check(); err != nil {
		return plan{}, err
	}
	rules, err := in.matching(ctx, e)
	if err != nil {
		return plan{}, err
	}
	return in.follow(e, rules), nil
}

// matching gives the rules that are for an event.
func (in *Intake) matching(ctx context.Context, e *junctor.Event) ([]*event.Rule, error) {
	triggers, err := in.Store.For(e.Tenant).Triggers(ctx)
	if err != nil {
		return nil, err
	}
	var out []*event.Rule
	for _, t := range triggers {
		if t.Disabled {
			continue
		}
		r, err := in.rule(t)
		if err != nil {
			e.Faults = append(e.Faults, fault(t.Name, err))
			continue
		}
		if r.Matches(e) {
			out = append(out, r)
		}
	}
	return out, nil
}

// rule reads a trigger once for each time it was changed.
func (in *Intake) rule(t junctor.Trigger) (*event.Rule, error) {
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

// follow makes the deliveries, and notes on the event why one could not be made.
func (in *Intake) follow(e *junctor.Event, rules []*event.Rule) (p plan) {
	for _, r := range rules {
		if r.Batched() {
			line, err := batchLine(r, e)
			if err != nil {
				e.Faults = append(e.Faults, fault(r.Trigger.Name, err))
				continue
			}
			p.waits = append(p.waits, store.EventWait{Tenant: e.Tenant, Trigger: r.Trigger.Name, Line: line, Event: e.ID, Since: e.ReceivedAt})
			continue
		}
		o, err := order(r, e)
		if err != nil {
			e.Faults = append(e.Faults, fault(r.Trigger.Name, err))
			continue
		}
		p.orders = append(p.orders, o)
	}
	e.Raised = len(p.orders)
	return p
}

func fault(trigger string, err error) string {
	return fmt.Sprintf("trigger %s: %s", trigger, junctor.AsError(err).Message)
}

// batchLine says which events of a trigger go out in one call: those that concern
// the same agent, and have the same order key where the trigger names one.
func batchLine(r *event.Rule, e *junctor.Event) (string, error) {
	if r.Trigger.Action.OrderKey == "" {
		return e.Agent, nil
	}
	key, err := r.OrderKey(e)
	return e.Agent + "\n" + key, err
}

// order is the delivery that a rule makes of events, which concern one agent and
// have one order key.
func order(r *event.Rule, events ...*junctor.Event) (junctor.Order, error) {
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
	if a.Agent == junctor.EventAgent {
		if first.Agent == "" {
			return o, junctor.Errorf(junctor.CodeInvalid, "the event names no agent whose endpoint could be called")
		}
		o.Target.Agent = first.Agent
	}
	// An agent has one line, whichever triggers its calls are of: with a line for each
	// trigger, what replaces a message would overtake what takes that message back.
	if o.Key, err = r.OrderKey(first); err != nil {
		return o, err
	}
	o.Unordered = o.Key == ""
	if a.Raise {
		o.Reply = &junctor.Reply{Source: "trigger:" + t.Name, Type: a.Tool}
	}
	if a.IncludeFile {
		if o.File = fileOf(first, a.VerifyFile); o.File != nil {
			o.File.Attempts = a.FileAttempts
		}
	}
	return o, nil
}

// book stores an event and what follows from it.
func (in *Intake) book(ctx context.Context, on Booking, e *junctor.Event, p plan) (junctor.Taken, error) {
	rows := in.Store.For(e.Tenant)
	id, added, err := rows.AddEvent(ctx, on, e)
	if err != nil || !added {
		return junctor.Taken{ID: id, Duplicate: true, Deliveries: []string{}}, err
	}
	for _, w := range p.waits {
		if err := rows.AddEventWait(ctx, on, w); err != nil {
			return junctor.Taken{}, err
		}
	}
	ids, err := place(ctx, on, e.Tenant, p.orders)
	return junctor.Taken{ID: id, Deliveries: ids, Faults: e.Faults}, err
}

func place(ctx context.Context, on Booking, tenant junctor.TenantID, orders []junctor.Order) ([]string, error) {
	if len(orders) == 0 {
		return []string{}, nil
	}
	return on.Place(ctx, tenant, orders...)
}

// Replay asks the triggers of today what follows from an event that was taken
// before. A delivery that there is already stays the only one of its trigger.
func (in *Intake) Replay(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Taken, error) {
	e, err := in.Store.For(tenant).Event(ctx, id)
	if err != nil {
		return junctor.Taken{}, err
	}
	e.Faults = nil
	rules, err := in.matching(ctx, &e)
	if err != nil {
		return junctor.Taken{}, err
	}
	p := in.follow(&e, rules)
	var ids []string
	err = in.Write(ctx, func(ctx context.Context, on Booking) (err error) {
		if ids, err = place(ctx, on, tenant, p.orders); err != nil {
			return err
		}
		for _, w := range p.waits {
			if err := in.Store.For(tenant).AddEventWait(ctx, on, w); err != nil {
				return err
			}
		}
		return in.Store.For(tenant).SetEventOutcome(ctx, on, id, len(ids), e.Faults)
	})
	in.wake()
	return junctor.Taken{ID: id, Deliveries: ids, Faults: e.Faults}, err
}

// wake tells those who look for what is due that there may be more.
func (in *Intake) wake() {
	select {
	case in.poke <- struct{}{}:
	default:
	}
}

// keepEvents is how long events are kept, and so how long one that comes again is
// known.
const keepEvents = 30 * 24 * time.Hour

// Run does what nobody asks for: schedules, events that go out together, sources
// that are read, and forgetting. It returns when ctx has ended and all is left in
// order.
func (in *Intake) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { in.pull(ctx) })
	tick := time.NewTicker(look)
	defer tick.Stop()
	pruned := time.Time{}
	for ctx.Err() == nil {
		mine := in.Turn == nil || in.Turn()
		if mine {
			in.due(ctx)
		}
		next := in.gather(ctx)
		if now := in.Now(); mine && now.Sub(pruned) > time.Hour {
			pruned = now
			if _, err := in.Store.PruneEvents(ctx, now.Add(-keepEvents)); err != nil && ctx.Err() == nil {
				in.Log.WarnContext(ctx, "old events could not be forgotten", "error", err.Error())
			}
		}
		var soon <-chan time.Time
		if next > 0 && next < look {
			soon = time.After(next)
		}
		select {
		case <-ctx.Done():
		case <-in.poke:
		case <-soon:
		case <-tick.C:
		}
	}
	work.Wait()
}

// look is how often schedules are looked at: they name minutes.
const look = time.Second

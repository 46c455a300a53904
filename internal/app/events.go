package app

import (
	"cmp"
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// openEvents joins intake with the queue, whose transactions it books in.
func (a *App) openEvents() (err error) {
	a.intake, err = intake.New(intake.Options{
		Store: a.store, Secrets: a.vault, Now: a.clock.Now, NewID: newID, Node: a.node, Log: a.log, Turn: a.turns.schedules.mine,
		Write: func(ctx context.Context, fn func(context.Context, intake.Booking) error) error {
			return a.queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, booking{tx}) })
		},
		Dial: egress.DialNamed, SetToken: a.jobToken, Outcome: a.outcome,
	})
	if err == nil {
		a.worker.SetRaiser(raiser{a.intake})
		a.chains.records.Raiser = raiser{a.intake}
	}
	return err
}

// jobToken keeps the token that a job of somebody's queue brings for its agent's
// endpoint, sealed and for that origin alone.
func (a *App) jobToken(ctx context.Context, tenant junctor.TenantID, agent, url, header string, token seal.Secret) error {
	origin, err := junctor.Origin(url)
	if err != nil {
		return err
	}
	owner, name := secretOf("token", agent, origin)
	if had, ok, err := a.vault.Get(ctx, tenant, owner, name); err != nil || ok && had.Equal(token.Reveal()) {
		return err
	}
	if err := a.vault.Put(ctx, tenant, owner, name, token); err != nil {
		return err
	}
	rows := a.store.For(tenant)
	_, err = store.Retry(ctx, func() (junctor.AgentEndpoint, error) {
		row, err := rows.Endpoint(ctx, agent, origin)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return row, err
		}
		row.Agent, row.Origin, row.URL, row.Header, row.Reference = agent, origin, url, header, ""
		row.Transport = transportOf(row.Transport)
		return rows.PutEndpoint(ctx, row)
	})
	return err
}

// booking is a transaction of the queue in which deliveries can be placed.
type booking struct{ *queue.Tx }

func (b booking) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) ([]string, error) {
	return worker.Place(ctx, b.Tx, tenant, orders...)
}

// raiser takes the events that answers of tools become.
type raiser struct{ intake *intake.Intake }

func (r raiser) Raise(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, e junctor.RaisedEvent) error {
	return r.intake.Raise(ctx, booking{tx}, tenant, e)
}

// outcome says what became of the deliveries of a source's event.
func (a *App) outcome(ctx context.Context, tenant junctor.TenantID, source, key string) (intake.Outcome, error) {
	e, err := a.store.For(tenant).EventOf(ctx, source, key)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return intake.Outcome{}, nil // it was forgotten with time
	}
	if err != nil {
		return intake.Outcome{}, err
	}
	list, _, err := a.worker.List(ctx, tenant, queue.Filter{Event: e.ID, Limit: 100})
	out := intake.Outcome{}
	for i := range list {
		switch d := &list[i]; d.State {
		case queue.Done, queue.Dropped:
		case queue.Dead:
			out.Dead, out.Error, out.Attempts, out.At = true, d.Error, d.Attempts, d.EndedAt
		default:
			out.Open = true
		}
	}
	return out, err
}

// happenings is what the admin API does with events.
type happenings struct{ app *App }

var _ admin.Events = happenings{}

// SendEvent takes an event from a caller. What it says of its source is not
// believed where others rely on it.
func (h happenings) SendEvent(ctx context.Context, p *junctor.Principal, e junctor.Event) (junctor.Taken, error) {
	e.Tenant = p.Tenant
	switch {
	case p.Agent != "":
		e.Source = junctor.AgentOwner(p.Agent)
	case strings.Contains(e.Source, ":"):
		return junctor.Taken{}, junctor.Errorf(junctor.CodeInvalid, "the source of an event that is sent has no colon: %q is made here", e.Source)
	default:
		e.Source = cmp.Or(e.Source, "api")
		if p.Has(junctor.ScopeAdmin) {
			break
		}
		// The sources of other tenants are none of the caller's: they are not told of,
		// and their events are others' anyway.
		if _, err := h.app.store.For(p.Tenant).Source(ctx, e.Source); junctor.CodeOf(err) != junctor.CodeNotFound {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeDenied, "%q is a source whose messages are signed: only an admin can send in its name", e.Source)
		}
	}
	return h.app.intake.Take(ctx, e)
}

func (h happenings) Events(ctx context.Context, p *junctor.Principal, f admin.EventFilter) ([]junctor.Event, string, error) {
	list, err := h.app.store.For(p.Tenant).Events(ctx, store.EventFilter{Source: f.Source, Type: f.Type, Agent: f.Agent, Since: f.Since, Before: f.Cursor, Limit: f.Limit + 1})
	if err != nil || len(list) <= f.Limit {
		return list, "", err
	}
	return list[:f.Limit], list[f.Limit-1].ID, nil
}

func (h happenings) Event(ctx context.Context, p *junctor.Principal, id string) (junctor.Event, error) {
	return h.app.store.For(p.Tenant).Event(ctx, id)
}

func (h happenings) ReplayEvent(ctx context.Context, p *junctor.Principal, id string) (junctor.Taken, error) {
	return h.app.intake.Replay(ctx, p.Tenant, id)
}

func (h happenings) ReadyTriggers() []junctor.Trigger { return event.Ready() }

func (h happenings) AddTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger) (junctor.Trigger, error) {
	t.Owner = p.ID()
	if err := h.check(ctx, p.Tenant, &t); err != nil {
		return t, err
	}
	t, err := h.app.store.For(p.Tenant).By(p.ID()).AddTrigger(ctx, t)
	if err == nil {
		err = h.app.offerEvents(ctx, p.Tenant, false)
	}
	return t, err
}

func (h happenings) ChangeTrigger(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Trigger) error) (junctor.Trigger, error) {
	rows := h.app.store.For(p.Tenant).By(p.ID())
	return store.Retry(ctx, func() (junctor.Trigger, error) {
		t, err := rows.Trigger(ctx, name)
		if err != nil {
			return t, err
		}
		if err := h.app.file.CheckNotDeclared("trigger", name, t.Declared); err != nil {
			return t, err
		}
		if err := change(&t); err != nil {
			return t, err
		}
		t.Declared = ""
		if err := h.check(ctx, p.Tenant, &t); err != nil {
			return t, err
		}
		return rows.UpdateTrigger(ctx, t)
	})
}

func (h happenings) RemoveTrigger(ctx context.Context, p *junctor.Principal, name string) error {
	t, err := h.app.store.For(p.Tenant).Trigger(ctx, name)
	if err == nil {
		err = h.app.file.CheckNotDeclared("trigger", name, t.Declared)
	}
	if err != nil {
		return err
	}
	return h.app.store.For(p.Tenant).DeleteTrigger(ctx, name)
}

// check refuses a trigger that could never make a call. A tool of a server that
// does not answer just now may be there later.
func (h happenings) check(ctx context.Context, tenant junctor.TenantID, t *junctor.Trigger) error {
	if _, err := event.NewRule(*t); err != nil {
		return err
	}
	if t.Action.Server == "" {
		return nil
	}
	if _, err := h.app.store.For(tenant).Server(ctx, t.Action.Server); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "action: there is no server %q; junctor server ls lists them", t.Action.Server)
	}
	shelf := h.app.catalog.Snapshot().For(tenant)
	all := &junctor.Principal{Tenant: tenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}} // as the tenant's own admin sees them
	known := false
	for _, tool := range shelf.Describe(all, catalog.Filter{Server: t.Action.Server}) {
		known = true
		if tool.Name == t.Action.Tool {
			return nil
		}
	}
	if known {
		return junctor.Errorf(junctor.CodeInvalid, "action: the server %q has no tool %q; junctor tool ls --server %s lists them, and tools are named as the server does, without the part before __",
			t.Action.Server, t.Action.Tool, t.Action.Server)
	}
	return nil
}

// TryTrigger says what a trigger would do with an event.
func (h happenings) TryTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger, e junctor.Event) (admin.TriggerTrial, error) {
	rule, err := event.NewRule(t)
	if err != nil {
		return admin.TriggerTrial{}, err
	}
	e.Tenant = p.Tenant
	if e.ReceivedAt.IsZero() {
		e.ReceivedAt = time.Now()
	}
	out := admin.TriggerTrial{Matches: rule.Matches(&e)}
	if out.Arguments, err = rule.Arguments(&e); err != nil {
		out.Fault = junctor.AsError(err).Message
		return out, nil
	}
	if _, err := rule.OrderKey(&e); err != nil {
		out.Fault = junctor.AsError(err).Message
		return out, nil
	}
	if t.Action.Agent == junctor.EventAgent && e.Agent == "" {
		out.Fault = "the event names no agent whose endpoint could be called"
	}
	if t.Action.Server == "" {
		return out, nil
	}
	item, err := h.app.catalog.Snapshot().For(p.Tenant).Tool(p, catalog.View{Server: t.Action.Server}, t.Action.Tool, "")
	if err != nil {
		out.Fault = junctor.AsError(err).Message
		return out, nil
	}
	out.Tool = true
	if err := item.Tool.Input.Check(ctx, out.Arguments); err != nil {
		out.Breaks = junctor.AsError(err).Violations
		out.Fault = junctor.AsError(err).Message
	}
	return out, nil
}

func (h happenings) Sources(ctx context.Context, p *junctor.Principal) ([]junctor.Source, error) {
	return h.app.store.For(p.Tenant).Sources(ctx)
}

func (h happenings) Source(ctx context.Context, p *junctor.Principal, id string) (junctor.Source, error) {
	return h.app.store.For(p.Tenant).Source(ctx, id)
}

func (h happenings) AddSource(ctx context.Context, p *junctor.Principal, s junctor.Source, secret seal.Secret) (junctor.Source, error) {
	if s.Pulled() && !p.Operator() {
		return s, junctor.Errorf(junctor.CodeDenied, "a Redis may be at any address: only an admin of the tenant %s can have one read", junctor.DefaultTenant)
	}
	if err := plainSecret(secret); err != nil {
		return s, err
	}
	return h.app.intake.AddSource(ctx, p.Tenant, s, secret)
}

// plainSecret refuses a reference where a secret is stored as it is: its text is
// one that others can guess.
func plainSecret(secret seal.Secret) error {
	if junctor.IsReference("", secret.Reveal()) {
		return junctor.Errorf(junctor.CodeInvalid, "secret: references such as env:NAME are read in a settings file alone; enter the secret itself")
	}
	return nil
}

func (h happenings) ChangeSource(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Source) error, secret seal.Secret, atOnce bool) (junctor.Source, error) {
	return store.Retry(ctx, func() (junctor.Source, error) {
		s, err := h.app.store.For(p.Tenant).Source(ctx, id)
		if err != nil {
			return s, err
		}
		if err := h.app.file.CheckNotDeclared("source", id, s.Declared); err != nil {
			return s, err
		}
		if err := change(&s); err != nil {
			return s, err
		}
		s.Declared = ""
		if s.Pulled() && !p.Operator() {
			return s, junctor.Errorf(junctor.CodeDenied, "a Redis may be at any address: only an admin of the tenant %s can have one read", junctor.DefaultTenant)
		}
		if err := plainSecret(secret); err != nil {
			return s, err
		}
		return h.app.intake.ChangeSource(ctx, p.Tenant, p.ID(), s, secret, atOnce)
	})
}

func (h happenings) RemoveSource(ctx context.Context, p *junctor.Principal, id string) error {
	s, err := h.app.store.For(p.Tenant).Source(ctx, id)
	if err == nil {
		err = h.app.file.CheckNotDeclared("source", id, s.Declared)
	}
	if err != nil {
		return err
	}
	return h.app.intake.RemoveSource(ctx, p.Tenant, id)
}

func (h happenings) Schedules(ctx context.Context, p *junctor.Principal) ([]junctor.Schedule, error) {
	return h.app.store.For(p.Tenant).Schedules(ctx)
}

func (h happenings) PutSchedule(ctx context.Context, p *junctor.Principal, s junctor.Schedule) (junctor.Schedule, error) {
	if err := intake.CheckSchedule(&s, time.Now()); err != nil {
		return s, err
	}
	want := s.UpdatedAt
	rows := h.app.store.For(p.Tenant).By(p.ID())
	return store.Retry(ctx, func() (junctor.Schedule, error) {
		had, err := rows.Schedule(ctx, s.Name)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return s, err
		}
		if err := h.app.file.CheckNotDeclared("schedule", s.Name, had.Declared); err != nil {
			return s, err
		}
		if err := junctor.CheckVersion(want, had.UpdatedAt); err != nil {
			return s, err
		}
		s.UpdatedAt = had.UpdatedAt
		return rows.PutSchedule(ctx, s)
	})
}

func (h happenings) RemoveSchedule(ctx context.Context, p *junctor.Principal, name string) error {
	s, err := h.app.store.For(p.Tenant).Schedule(ctx, name)
	if err == nil {
		err = h.app.file.CheckNotDeclared("schedule", name, s.Declared)
	}
	if err != nil {
		return err
	}
	return h.app.store.For(p.Tenant).DeleteSchedule(ctx, name)
}

func (h happenings) NextTimes(cron, timezone string, count int) ([]time.Time, error) {
	return h.app.intake.NextTimes(cron, timezone, count)
}

package events

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/store"
)

// EventAPI serves events, triggers, sources and schedules to the admin API.
type EventAPI struct{ service *Service }

var (
	_ admin.Events   = EventAPI{}
	_ servers.Events = EventAPI{}
)

// EventAPI returns the Service as the admin API uses it for events.
func (s *Service) EventAPI() EventAPI { return EventAPI{s} }

// SendEvent takes an event from a caller. The caller may not name a source that others
// rely on.
func (a EventAPI) SendEvent(ctx context.Context, p *junctor.Principal, e junctor.Event) (junctor.Taken, error) {
	e.Tenant = p.Tenant
	switch {
	case p.Agent != "":
		e.Source = junctor.AgentOwner(p.Agent)
	case strings.Contains(e.Source, ":"):
		return junctor.Taken{}, junctor.Errorf(junctor.CodeInvalid, "source: %q contains a colon, which is reserved for the sources of this instance", e.Source)
	default:
		e.Source = cmp.Or(e.Source, "api")
		if p.Has(junctor.ScopeAdmin) {
			break
		}
		// Sources of other tenants are not looked up: the caller must not learn of them,
		// and the event is of the caller's tenant anyway.
		if _, err := a.service.Store.For(p.Tenant).Source(ctx, e.Source); junctor.CodeOf(err) != junctor.CodeNotFound {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeDenied, "the messages of the source %q are signed: only an admin can send events for it", e.Source)
		}
	}
	return a.service.Intake.Take(ctx, e)
}

// AgentFeedback implements servers.Events: it returns the deliveries to an agent as a JSON document, newest first;
// not_found if the principal may not read them.
func (a EventAPI) AgentFeedback(ctx context.Context, p *junctor.Principal, agent string) (json.RawMessage, error) {
	since, err := a.service.feedbackSince(ctx, p, agent)
	if err != nil {
		return nil, err
	}
	return a.service.Worker.Feedback(ctx, p.Tenant, agent, since, 0)
}

// OnFeedback implements servers.Events: it sets the function that is called after each change of the deliveries to an
// agent.
func (a EventAPI) OnFeedback(changed func(tenant junctor.TenantID, agent string)) {
	a.service.Worker.OnFeedback(changed)
}

// Events implements admin.Events.
func (a EventAPI) Events(ctx context.Context, p *junctor.Principal, f admin.EventFilter, page *junctor.RowPage) ([]junctor.Event, junctor.RowTotal, error) {
	list, total, err := a.service.Store.For(p.Tenant).Events(ctx, store.EventFilter(f), page)
	for i := range list {
		restrictEvent(p, &list[i])
	}
	return list, total, err
}

// Event implements admin.Events.
func (a EventAPI) Event(ctx context.Context, p *junctor.Principal, id string) (junctor.Event, error) {
	e, err := a.service.Store.For(p.Tenant).Event(ctx, id)
	restrictEvent(p, &e)
	return e, err
}

// ReplayEvent implements admin.Events.
func (a EventAPI) ReplayEvent(ctx context.Context, p *junctor.Principal, id string) (junctor.Taken, error) {
	return a.service.Intake.Replay(ctx, p.Tenant, id)
}

// ReadyTriggers implements admin.Events.
func (a EventAPI) ReadyTriggers() []junctor.Trigger { return event.Ready() }

// AddTrigger implements admin.Events.
func (a EventAPI) AddTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger) (junctor.Trigger, error) {
	t.Owner = p.ID()
	if err := a.service.checkTrigger(ctx, p.Tenant, &t); err != nil {
		return t, err
	}
	t, err := a.service.Store.For(p.Tenant).By(p.ID()).AddTrigger(ctx, t)
	if err == nil {
		err = a.service.OfferServer(ctx, p.Tenant, false)
	}
	return t, err
}

// ChangeTrigger implements admin.Events.
func (a EventAPI) ChangeTrigger(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Trigger) error) (junctor.Trigger, error) {
	rows := a.service.Store.For(p.Tenant).By(p.ID())
	return store.Retry(ctx, func() (junctor.Trigger, error) {
		t, err := rows.Trigger(ctx, name)
		if err != nil {
			return t, err
		}
		if err := a.service.CheckNotDeclared("trigger", name, t.Declared); err != nil {
			return t, err
		}
		if err := change(&t); err != nil {
			return t, err
		}
		t.Declared = ""
		if err := a.service.checkTrigger(ctx, p.Tenant, &t); err != nil {
			return t, err
		}
		return rows.UpdateTrigger(ctx, t)
	})
}

// RemoveTrigger implements admin.Events.
func (a EventAPI) RemoveTrigger(ctx context.Context, p *junctor.Principal, name string) error {
	t, err := a.service.Store.For(p.Tenant).Trigger(ctx, name)
	if err == nil {
		err = a.service.CheckNotDeclared("trigger", name, t.Declared)
	}
	if err != nil {
		return err
	}
	return a.service.Store.For(p.Tenant).DeleteTrigger(ctx, name)
}

// checkTrigger refuses a trigger that could never make a call. If the server does not
// answer now, its tool is accepted: the server may have it later.
func (s *Service) checkTrigger(ctx context.Context, tenant junctor.TenantID, t *junctor.Trigger) error {
	if _, err := event.NewRule(*t); err != nil {
		return err
	}
	if t.Action.Server == "" {
		return nil
	}
	if _, err := s.Store.For(tenant).Server(ctx, t.Action.Server); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "action: there is no server %q; junctor server ls lists the servers", t.Action.Server)
	}
	shelf := s.Catalog.Snapshot().For(tenant)
	all := &junctor.Principal{Tenant: tenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}} // as the tenant's own admin sees them
	known := false
	for _, tool := range shelf.Describe(all, catalog.Filter{Server: t.Action.Server}) {
		known = true
		if tool.Name == t.Action.Tool {
			return nil
		}
	}
	if known {
		return junctor.Errorf(junctor.CodeInvalid, "action: the server %q has no tool %q; junctor tool ls --server %s lists its tools; omit the prefix before __",
			t.Action.Server, t.Action.Tool, t.Action.Server)
	}
	return nil
}

// TryTrigger reports what a trigger would do with an event. Nothing is called.
func (a EventAPI) TryTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger, e junctor.Event) (admin.TriggerTrial, error) {
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
		out.Fault = "the event names no agent, so no delivery endpoint can be called"
	}
	if t.Action.Server == "" {
		return out, nil
	}
	item, err := a.service.Catalog.Snapshot().For(p.Tenant).Tool(p, catalog.Scope{Server: t.Action.Server}, t.Action.Tool, "")
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

// Sources implements admin.Events.
func (a EventAPI) Sources(ctx context.Context, p *junctor.Principal) ([]junctor.Source, error) {
	return a.service.Store.For(p.Tenant).Sources(ctx)
}

// Source implements admin.Events.
func (a EventAPI) Source(ctx context.Context, p *junctor.Principal, id string) (junctor.Source, error) {
	return a.service.Store.For(p.Tenant).Source(ctx, id)
}

// AddSource implements admin.Events.
func (a EventAPI) AddSource(ctx context.Context, p *junctor.Principal, s junctor.Source, secret seal.Secret) (junctor.Source, error) {
	if s.Pulled() && !p.Operator() {
		return s, junctor.Errorf(junctor.CodeDenied, "a Redis source can use any address: only an admin of the tenant %s can add or change it", junctor.DefaultTenant)
	}
	if err := checkPlainSecret(secret); err != nil {
		return s, err
	}
	return a.service.Intake.AddSource(ctx, p.Tenant, s, secret)
}

// checkPlainSecret refuses a reference as a secret: the text would be stored as the
// secret itself, and others can guess it.
func checkPlainSecret(secret seal.Secret) error {
	if junctor.IsReference("", secret.Reveal()) {
		return junctor.Errorf(junctor.CodeInvalid, "secret: references such as env:NAME are allowed only in a settings file; enter the secret itself")
	}
	return nil
}

// ChangeSource implements admin.Events.
func (a EventAPI) ChangeSource(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Source) error, secret seal.Secret, atOnce bool) (junctor.Source, error) {
	return store.Retry(ctx, func() (junctor.Source, error) {
		s, err := a.service.Store.For(p.Tenant).Source(ctx, id)
		if err != nil {
			return s, err
		}
		if err := a.service.CheckNotDeclared("source", id, s.Declared); err != nil {
			return s, err
		}
		if err := change(&s); err != nil {
			return s, err
		}
		s.Declared = ""
		if s.Pulled() && !p.Operator() {
			return s, junctor.Errorf(junctor.CodeDenied, "a Redis source can use any address: only an admin of the tenant %s can add or change it", junctor.DefaultTenant)
		}
		if err := checkPlainSecret(secret); err != nil {
			return s, err
		}
		return a.service.Intake.ChangeSource(ctx, p.Tenant, p.ID(), s, secret, atOnce)
	})
}

// RemoveSource implements admin.Events.
func (a EventAPI) RemoveSource(ctx context.Context, p *junctor.Principal, id string) error {
	s, err := a.service.Store.For(p.Tenant).Source(ctx, id)
	if err == nil {
		err = a.service.CheckNotDeclared("source", id, s.Declared)
	}
	if err != nil {
		return err
	}
	return a.service.Intake.RemoveSource(ctx, p.Tenant, id)
}

// Schedules implements admin.Events.
func (a EventAPI) Schedules(ctx context.Context, p *junctor.Principal) ([]junctor.Schedule, error) {
	return a.service.Store.For(p.Tenant).Schedules(ctx)
}

// PutSchedule implements admin.Events.
func (a EventAPI) PutSchedule(ctx context.Context, p *junctor.Principal, s junctor.Schedule) (junctor.Schedule, error) {
	if err := intake.CheckSchedule(&s, time.Now()); err != nil {
		return s, err
	}
	want := s.UpdatedAt
	rows := a.service.Store.For(p.Tenant).By(p.ID())
	return store.Retry(ctx, func() (junctor.Schedule, error) {
		had, err := rows.Schedule(ctx, s.Name)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return s, err
		}
		if err := a.service.CheckNotDeclared("schedule", s.Name, had.Declared); err != nil {
			return s, err
		}
		if err := junctor.CheckVersion(want, had.UpdatedAt); err != nil {
			return s, err
		}
		s.UpdatedAt = had.UpdatedAt
		return rows.PutSchedule(ctx, s)
	})
}

// RemoveSchedule implements admin.Events.
func (a EventAPI) RemoveSchedule(ctx context.Context, p *junctor.Principal, name string) error {
	s, err := a.service.Store.For(p.Tenant).Schedule(ctx, name)
	if err == nil {
		err = a.service.CheckNotDeclared("schedule", name, s.Declared)
	}
	if err != nil {
		return err
	}
	return a.service.Store.For(p.Tenant).DeleteSchedule(ctx, name)
}

// NextTimes implements admin.Events.
func (a EventAPI) NextTimes(cron, timezone string, count int) ([]time.Time, error) {
	return a.service.Intake.NextTimes(cron, timezone, count)
}

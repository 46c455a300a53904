package admin

import (
	"context"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// happenings keep what was asked of events.
type happenings struct {
	sent    junctor.Event
	tried   junctor.Trigger
	with    junctor.Event
	source  junctor.Source
	secret  seal.Secret
	trigger junctor.Trigger
}

func (h *happenings) SendEvent(_ context.Context, _ *junctor.Principal, e junctor.Event) (junctor.Taken, error) {
	h.sent = e
	return junctor.Taken{ID: "e1", Deliveries: []string{"d1"}}, nil
}

func (h *happenings) Events(context.Context, *junctor.Principal, EventFilter, *junctor.RowPage) ([]junctor.Event, junctor.RowTotal, error) {
	return []junctor.Event{{ID: "e1", Source: "s", Type: "t", DedupeKey: "k"}}, junctor.RowTotal{Rows: 1}, nil
}

func (h *happenings) Event(_ context.Context, _ *junctor.Principal, id string) (junctor.Event, error) {
	return junctor.Event{ID: id, Source: "s", Type: "t", DedupeKey: "k"}, nil
}

func (h *happenings) ReplayEvent(_ context.Context, _ *junctor.Principal, id string) (junctor.Taken, error) {
	return junctor.Taken{ID: id, Deliveries: []string{}}, nil
}

func (h *happenings) Triggers(context.Context, *junctor.Principal) ([]junctor.Trigger, error) {
	return []junctor.Trigger{h.trigger}, nil
}

func (h *happenings) Trigger(_ context.Context, _ *junctor.Principal, name string) (junctor.Trigger, error) {
	return junctor.Trigger{Name: name, Action: junctor.Action{Server: "notes", Tool: "add"}}, nil
}

func (h *happenings) AddTrigger(_ context.Context, _ *junctor.Principal, t junctor.Trigger) (junctor.Trigger, error) {
	h.trigger = t
	return t, nil
}

func (h *happenings) ChangeTrigger(_ context.Context, _ *junctor.Principal, name string, change func(*junctor.Trigger) error) (junctor.Trigger, error) {
	h.trigger.Name = name
	return h.trigger, change(&h.trigger)
}

func (h *happenings) RemoveTrigger(context.Context, *junctor.Principal, string) error { return nil }

func (h *happenings) TryTrigger(_ context.Context, _ *junctor.Principal, t junctor.Trigger, e junctor.Event) (TriggerTrial, error) {
	h.tried, h.with = t, e
	return TriggerTrial{Matches: true}, nil
}

func (h *happenings) ReadyTriggers() []junctor.Trigger { return nil }

func (h *happenings) Sources(context.Context, *junctor.Principal) ([]junctor.Source, error) {
	return nil, nil
}

func (h *happenings) Source(_ context.Context, _ *junctor.Principal, id string) (junctor.Source, error) {
	return junctor.Source{ID: id, Style: junctor.StyleGitHub}, nil
}

func (h *happenings) AddSource(_ context.Context, _ *junctor.Principal, s junctor.Source, secret seal.Secret) (junctor.Source, error) {
	h.source, h.secret = s, secret
	return s, nil
}

func (h *happenings) ChangeSource(_ context.Context, _ *junctor.Principal, id string, change func(*junctor.Source) error, secret seal.Secret, _ bool) (junctor.Source, error) {
	h.source.ID = id
	h.secret = secret
	return h.source, change(&h.source)
}

func (h *happenings) RemoveSource(context.Context, *junctor.Principal, string) error { return nil }

func (h *happenings) Schedules(context.Context, *junctor.Principal) ([]junctor.Schedule, error) {
	return nil, nil
}

func (h *happenings) PutSchedule(_ context.Context, _ *junctor.Principal, s junctor.Schedule) (junctor.Schedule, error) {
	return s, nil
}

func (h *happenings) RemoveSchedule(context.Context, *junctor.Principal, string) error { return nil }

func (h *happenings) NextTimes(string, string, int) ([]time.Time, error) { return nil, nil }

func TestEventRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	if rec := ask(h, "events:send", "POST", "/events", `{"source":"s","type":"t","agent":"42","data":{"b":1,"a":[2]},"dedupe_key":"k"}`); rec.Code != 202 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if got := w.events.sent; got.Source != "s" || got.Agent != "42" || string(got.Data) != `{"b":1,"a":[2]}` || got.DedupeKey != "k" {
		t.Errorf("sent %+v", got)
	}
	rec := ask(h, "admin", "POST", "/triggers", `{"name":"low","match":{"type":"NewFeedback","max_value":40.5,"where":[{"field":"data.a","op":"in","value":[1,"x"]}]},"action":{"server":"notes","tool":"add","template":{"z":"{{id}}"}}}`)
	if got := w.events.trigger; rec.Code != 201 || got.Name != "low" || *got.Match.MaxValue != 40.5 || string(got.Match.Where[0].Value) != `[1,"x"]` || string(got.Action.Template) != `{"z":"{{id}}"}` {
		t.Errorf("%d %s: %+v", rec.Code, rec.Body, got)
	}
	if rec := ask(h, "admin", "PATCH", "/triggers/low", `{"disabled":true}`); rec.Code != 200 || !w.events.trigger.Disabled || w.events.trigger.Action.Tool != "add" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "admin", "POST", "/triggers/test", `{"name":"low","event":{"id":"e7"}}`); rec.Code != 200 || w.events.tried.Action.Server != "notes" || w.events.with.ID != "e7" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "admin", "POST", "/sources", `{"id":"gh","style":"github","secret":"a fine long secret"}`); rec.Code != 201 || w.events.secret.Reveal() != "a fine long secret" || w.events.source.Style != junctor.StyleGitHub {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "admin", "PUT", "/schedules/nightly", `{"cron":"@daily","type":"tick"}`); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

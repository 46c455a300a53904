package storetest

import (
	"encoding/json"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// inTx runs fn as an owner of a transaction would: on one of the store's own
// database, which commits when fn is done.
func (t *trial) inTx(st *store.Store, fn func(store.Statements) error) error {
	return st.Together(t.Context(), func(on store.Statements) error { return fn(on) })
}

func newEvent(id, source, key string, seconds int) junctor.Event {
	return junctor.Event{
		Tenant: junctor.DefaultTenant, ID: id, Source: source, Type: "push", Agent: "42", DedupeKey: key,
		Data: json.RawMessage(`{"b":1,"a":"é"}`), ReceivedAt: moment(seconds), Raised: 2, Depth: 1, Faults: []string{"why"},
	}
}

func eventTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"events/one for each key": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			add := func(at *store.Tenant, e junctor.Event) (id string, added bool) {
				ok(t, t.inTx(st, func(on store.Statements) (err error) {
					id, added, err = at.AddEvent(t.Context(), on, &e)
					return err
				}))
				return id, added
			}
			first := newEvent("e1", "github", "k1", 1)
			if id, added := add(mine, first); id != "e1" || !added {
				t.Errorf("the first: %s, %v", id, added)
			}
			if id, added := add(mine, newEvent("e2", "github", "k1", 2)); id != "e1" || added {
				t.Errorf("the same key again: %s, %v", id, added)
			}
			second := newEvent("e3", "stripe", "k1", 3)
			second.Data, second.Agent, second.Faults = nil, "", nil
			if _, added := add(mine, second); !added {
				t.Error("the same key of another source is not taken")
			}
			if _, added := add(st.For("acme"), newEvent("e1", "github", "k1", 4)); !added {
				t.Error("the same key of another tenant is not taken")
			}
			page := func(on *store.Tenant, f store.EventFilter, p junctor.RowPage) []junctor.Event {
				list, total, err := on.Events(t.Context(), f, &p)
				if err != nil || total.AtLeast || total.Rows < min(len(list), p.Limit) {
					t.Errorf("%+v, %+v: %d events of %+v, %v", f, p, len(list), total, err)
				}
				return list
			}
			got := page(t.open().For(junctor.DefaultTenant), store.EventFilter{}, junctor.RowPage{Limit: 10})
			if diff := cmp.Diff([]junctor.Event{second, first}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, c := range []struct {
				f store.EventFilter
				p junctor.RowPage
				n int
			}{
				{f: store.EventFilter{Source: "github"}, n: 1},
				{f: store.EventFilter{Type: "pull"}, n: 0},
				{f: store.EventFilter{Agent: "42"}, n: 1},
				{f: store.EventFilter{Since: moment(2)}, n: 1},
				{p: junctor.RowPage{ID: "e3"}, n: 1},
				{p: junctor.RowPage{ID: "e1", Ascending: true}, n: 1},
				{p: junctor.RowPage{ID: "e1"}, n: 0},
				{p: junctor.RowPage{Words: []string{"git", "hub"}}, n: 1},
				{p: junctor.RowPage{Words: []string{"git", "stripe"}}, n: 0},
				{p: junctor.RowPage{Words: []string{"g%b"}}, n: 0},
				{p: junctor.RowPage{Words: []string{"g_thub"}}, n: 0},
			} {
				c.p.Limit = 10
				if got := page(mine, c.f, c.p); len(got) != c.n {
					t.Errorf("%+v, %+v: %d events", c.f, c.p, len(got))
				}
			}
			// One more row says that there is another page.
			if got := page(mine, store.EventFilter{}, junctor.RowPage{Limit: 1}); len(got) != 2 || got[0].ID != "e3" {
				t.Errorf("the newest: %+v", got)
			}
			if got := page(mine, store.EventFilter{}, junctor.RowPage{Limit: 1, Ascending: true}); len(got) != 2 || got[0].ID != "e1" {
				t.Errorf("the oldest: %+v", got)
			}
			if _, total, err := mine.Events(t.Context(), store.EventFilter{}, &junctor.RowPage{}); err != nil || total != (junctor.RowTotal{Rows: 2}) {
				t.Errorf("the total: %+v, %v", total, err)
			}
			_, err := st.For("acme").Event(t.Context(), "e3")
			fails(t, err, junctor.CodeNotFound)
			if diff := cmp.Diff(first, must(mine.Event(t.Context(), "e1"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if e := must(mine.EventOf(t.Context(), "stripe", "k1"))(t); e.ID != "e3" {
				t.Errorf("by its key: %+v", e)
			}
			fails(t, errorOf(mine.EventOf(t.Context(), "stripe", "k2")), junctor.CodeNotFound)
			ok(t, t.inTx(st, func(on store.Statements) error { return mine.SetEventOutcome(t.Context(), on, "e1", 7, nil) }))
			if e := must(mine.Event(t.Context(), "e1"))(t); e.Raised != 7 || e.Faults != nil {
				t.Errorf("asked again: %+v", e)
			}
			fails(t, t.inTx(st, func(on store.Statements) error { return st.For("acme").SetEventOutcome(t.Context(), on, "e3", 7, nil) }), junctor.CodeNotFound)
			if n := must(st.PruneEvents(t.Context(), moment(3)))(t); n != 1 {
				t.Errorf("%d pruned", n)
			}
			fails(t, t.inTx(st, func(on store.Statements) error {
				e := newEvent("e9", "s", "k", 1)
				_, _, err := st.For("nobody").AddEvent(t.Context(), on, &e)
				return err
			}), junctor.CodeNotFound)
		},
		"events/wait for each other": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			_ = must(mine.AddTrigger(t.Context(), junctor.Trigger{Name: "many"}))(t)
			waits := []store.EventWait{
				{Tenant: junctor.DefaultTenant, Trigger: "many", Line: "a", Event: "e1", Since: moment(1)},
				{Tenant: junctor.DefaultTenant, Trigger: "many", Line: "b", Event: "e2", Since: moment(2)},
			}
			ok(t, t.inTx(st, func(on store.Statements) error {
				for _, e := range []junctor.Event{newEvent("e1", "s", "1", 1), newEvent("e2", "s", "2", 2)} {
					if _, _, err := mine.AddEvent(t.Context(), on, &e); err != nil {
						return err
					}
				}
				for _, w := range append(waits, waits...) {
					if err := mine.AddEventWait(t.Context(), on, w); err != nil {
						return err
					}
				}
				return nil
			}))
			if diff := cmp.Diff(waits, must(st.EventWaits(t.Context(), 10))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n := must(st.PruneEvents(t.Context(), moment(9)))(t); n != 0 {
				t.Errorf("%d events that wait are gone", n)
			}
			for i, want := range []bool{true, false} {
				ok(t, t.inTx(st, func(on store.Statements) error {
					was, err := mine.EndEventWait(t.Context(), on, waits[0])
					if was != want {
						t.Errorf("end %d: %v", i, was)
					}
					return err
				}))
			}
			ok(t, mine.DeleteTrigger(t.Context(), "many"))
			if got := must(st.EventWaits(t.Context(), 10))(t); len(got) != 0 {
				t.Errorf("without their trigger: %+v", got)
			}
		},
		"triggers/kept as they are": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			want := junctor.Trigger{
				Tenant: junctor.DefaultTenant, Name: "low", Title: "Low", Owner: "user:u", Declared: "f.yaml", Disabled: true,
				Match:  junctor.Match{Source: "chain", Tags: []string{"x"}, MaxValue: new(40.0), Where: []junctor.Condition{{Field: "data.a", Op: "=", Value: junctor.JSON(`1`)}}},
				Action: junctor.Action{Server: "notes", Tool: "add", Template: json.RawMessage(`{"z":"{{id}}","a":[1]}`), Batch: 3, Attempts: 3},
			}
			added := must(mine.AddTrigger(t.Context(), want))(t)
			wantEqual(t, want, added)
			wantEqual(t, want, must(t.open().For(junctor.DefaultTenant).Trigger(t.Context(), "low"))(t))
			_, err := mine.AddTrigger(t.Context(), want)
			fails(t, err, junctor.CodeConflict)
			want.Title, want.Disabled, want.UpdatedAt = "Lower", false, added.UpdatedAt
			wantEqual(t, want, must(mine.UpdateTrigger(t.Context(), want))(t))
			if list := must(st.For("acme").Triggers(t.Context()))(t); len(list) != 0 {
				t.Errorf("another tenant's: %+v", list)
			}
			for _, err := range []error{
				errorOf(st.For("acme").Trigger(t.Context(), "low")), errorOf(st.For("acme").UpdateTrigger(t.Context(), want)),
				st.For("acme").DeleteTrigger(t.Context(), "low"), errorOf(st.For("nobody").AddTrigger(t.Context(), want)),
			} {
				fails(t, err, junctor.CodeNotFound)
			}
			ok(t, mine.DeleteTrigger(t.Context(), "low"))
			fails(t, mine.DeleteTrigger(t.Context(), "low"), junctor.CodeNotFound)
		},
		"sources/ids of a tenant": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			want := junctor.Source{
				Tenant: junctor.DefaultTenant, ID: "hooks", Path: "/hooks/hooks", Style: junctor.StyleHMAC, Title: "T", Header: "X-Sig", TypeField: "data.kind", AgentField: "data.agent", Key: "list", Declared: "f", Disabled: true,
			}
			added := must(mine.AddSource(t.Context(), want))(t)
			wantEqual(t, want, added)
			wantEqual(t, want, must(mine.Source(t.Context(), "hooks"))(t))
			wantEqual(t, want, must(t.open().SourceAt(t.Context(), "hooks"))(t))
			fails(t, errorOf(mine.AddSource(t.Context(), want)), junctor.CodeConflict)
			fails(t, errorOf(st.For("acme").Source(t.Context(), "hooks")), junctor.CodeNotFound)
			fails(t, errorOf(st.For("acme").UpdateSource(t.Context(), want)), junctor.CodeNotFound)
			fails(t, st.For("acme").DeleteSource(t.Context(), "hooks"), junctor.CodeNotFound)
			want.Title, want.Disabled, want.UpdatedAt = "U", false, added.UpdatedAt
			wantEqual(t, want, must(mine.UpdateSource(t.Context(), want))(t))
			// Another tenant does not learn that the id is taken here.
			theirs := junctor.Source{Tenant: "acme", ID: "hooks", Path: "/hooks/acme/hooks", Style: junctor.StyleGitHub}
			wantEqual(t, theirs, must(st.For("acme").AddSource(t.Context(), theirs))(t))
			theirs = must(st.For("acme").Source(t.Context(), "hooks"))(t)
			wantEqual(t, theirs, must(st.SourceAt(t.Context(), "acme/hooks"))(t))
			wantEqual(t, want, must(st.SourceAt(t.Context(), "hooks"))(t))
			theirs.Title = "V"
			wantEqual(t, theirs, must(st.For("acme").UpdateSource(t.Context(), theirs))(t))
			ok(t, st.For("acme").DeleteSource(t.Context(), "hooks"))
			fails(t, errorOf(st.SourceAt(t.Context(), "acme/hooks")), junctor.CodeNotFound)
			wantEqual(t, want, must(mine.Source(t.Context(), "hooks"))(t))
			_ = must(st.For("acme").AddSource(t.Context(), junctor.Source{ID: "other", Style: junctor.StyleGitHub}))(t)
			if list := must(mine.Sources(t.Context()))(t); len(list) != 1 {
				t.Errorf("mine: %+v", list)
			}
			if list := must(st.AllSources(t.Context()))(t); len(list) != 2 || list[0].Tenant != "acme" || list[0].ID != "other" {
				t.Errorf("all: %+v", list)
			}
			ok(t, mine.DeleteSource(t.Context(), "hooks"))
			fails(t, errorOf(st.SourceAt(t.Context(), "hooks")), junctor.CodeNotFound)
		},
		"schedules/come once": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			want := junctor.Schedule{
				Tenant: junctor.DefaultTenant, Name: "nightly", Cron: "0 3 * * *", Timezone: "Europe/Berlin", Type: "tick", Agent: "7", Data: json.RawMessage(`{"a":1}`), NextAt: moment(60), Declared: "f",
			}
			added := must(mine.PutSchedule(t.Context(), want))(t)
			wantEqual(t, want, added)
			if due := must(st.DueSchedules(t.Context(), moment(59)))(t); len(due) != 0 {
				t.Errorf("too early: %+v", due)
			}
			due := must(t.open().DueSchedules(t.Context(), moment(60)))(t)
			if len(due) != 1 {
				t.Fatalf("due: %+v", due)
			}
			wantEqual(t, want, due[0])
			for i, first := range []bool{true, false} {
				ok(t, t.inTx(st, func(on store.Statements) error {
					moved, err := mine.MoveSchedule(t.Context(), on, "nightly", moment(60), moment(120))
					if moved != first {
						t.Errorf("move %d: %v", i, moved)
					}
					return err
				}))
			}
			want.NextAt, want.LastAt = moment(120), moment(60)
			wantEqual(t, want, must(mine.Schedule(t.Context(), "nightly"))(t))
			want.Disabled, want.NextAt, want.UpdatedAt = true, moment(180), added.UpdatedAt
			wantEqual(t, want, must(mine.PutSchedule(t.Context(), want))(t))
			if due := must(st.DueSchedules(t.Context(), moment(999)))(t); len(due) != 0 {
				t.Errorf("switched off: %+v", due)
			}
			if list := must(st.For("acme").Schedules(t.Context()))(t); len(list) != 0 {
				t.Errorf("another tenant's: %+v", list)
			}
			fails(t, errorOf(st.For("acme").Schedule(t.Context(), "nightly")), junctor.CodeNotFound)
			fails(t, errorOf(st.For("acme").PutSchedule(t.Context(), want)), junctor.CodeNotFound)
			want.UpdatedAt = time.Time{}
			fails(t, errorOf(st.For("nobody").PutSchedule(t.Context(), want)), junctor.CodeNotFound)
			fails(t, st.For("acme").DeleteSchedule(t.Context(), "nightly"), junctor.CodeNotFound)
			ok(t, mine.DeleteSchedule(t.Context(), "nightly"))
			fails(t, mine.DeleteSchedule(t.Context(), "nightly"), junctor.CodeNotFound)
		},
	}
}

func errorOf[T any](_ T, err error) error { return err }

// wantEqual compares all but the times of a row itself, which are the store's.
func wantEqual[T any](t *trial, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".CreatedAt" || p.Last().String() == ".UpdatedAt"
	}, cmp.Comparer(func(_, got time.Time) bool { return true }))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
)

// versionedNoun is a noun that two admins change at the same time: add stores it, and
// read gives two changes of the version that is stored, and what became of it.
type versionedNoun struct {
	name string
	add  func(t *trial, rows *store.Tenant)
	// read gives a function that stores the version that was read with another label.
	read func(t *trial, rows *store.Tenant) (change func(label string) error)
	// label reads the label back.
	label func(t *trial, rows *store.Tenant) string
}

// versionedNouns are all nouns that are read, changed and stored again.
func versionedNouns() []versionedNoun {
	return []versionedNoun{
		{
			"room", func(t *trial, rows *store.Tenant) { _ = must(rows.AddRoom(t.Context(), room("kitchen")))(t) },
			func(t *trial, rows *store.Tenant) func(string) error {
				w := must(rows.Room(t.Context(), "kitchen"))(t)
				return func(label string) error { w.Name = label; return errorOf(rows.UpdateRoom(t.Context(), w)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Room(t.Context(), "kitchen"))(t).Name },
		},
		{
			"trigger", func(t *trial, rows *store.Tenant) {
				_ = must(rows.AddTrigger(t.Context(), junctor.Trigger{Name: "low", Action: junctor.Action{Server: "notes", Tool: "add"}}))(t)
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Trigger(t.Context(), "low"))(t)
				return func(label string) error { v.Title = label; return errorOf(rows.UpdateTrigger(t.Context(), v)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Trigger(t.Context(), "low"))(t).Title },
		},
		{
			"source", func(t *trial, rows *store.Tenant) {
				_ = must(rows.AddSource(t.Context(), junctor.Source{ID: "shop", Style: junctor.StyleHMAC}))(t)
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Source(t.Context(), "shop"))(t)
				return func(label string) error { v.Title = label; return errorOf(rows.UpdateSource(t.Context(), v)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Source(t.Context(), "shop"))(t).Title },
		},
		{
			"schedule", func(t *trial, rows *store.Tenant) {
				_ = must(rows.PutSchedule(t.Context(), junctor.Schedule{Name: "nightly", Cron: "@daily", Type: "tick", NextAt: moment(9)}))(t)
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Schedule(t.Context(), "nightly"))(t)
				return func(label string) error { v.Type = label; return errorOf(rows.PutSchedule(t.Context(), v)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Schedule(t.Context(), "nightly"))(t).Type },
		},
		{
			"model", func(t *trial, rows *store.Tenant) {
				ok(t, rows.AddModel(t.Context(), junctor.Model{Name: "small", Kind: junctor.ModelOpenAI, Model: "m"}))
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Model(t.Context(), "small"))(t)
				return func(label string) error { v.Model = label; return rows.UpdateModel(t.Context(), v, nil) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Model(t.Context(), "small"))(t).Model },
		},
		{
			"agent", func(t *trial, rows *store.Tenant) {
				_ = must(rows.AddAgent(t.Context(), junctor.Agent{Name: "bot", Role: "QA"}))(t)
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Agent(t.Context(), "bot"))(t)
				return func(label string) error { v.Title = label; return errorOf(rows.UpdateAgent(t.Context(), v)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Agent(t.Context(), "bot"))(t).Title },
		},
		{
			"server", func(t *trial, rows *store.Tenant) {
				_ = must(rows.AddServer(t.Context(), admission.Stored(upstreamServer("notes"))))(t)
			},
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.Server(t.Context(), "notes"))(t)
				return func(label string) error {
					v.Title = label
					return errorOf(rows.UpdateServer(t.Context(), admission.Stored(v)))
				}
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.Server(t.Context(), "notes"))(t).Title },
		},
		{
			"user", func(t *trial, rows *store.Tenant) { ok(t, rows.CreateUser(t.Context(), user("u1", "ada"))) },
			func(t *trial, rows *store.Tenant) func(string) error {
				v := must(rows.User(t.Context(), "u1"))(t)
				return func(label string) error { v.Name = label; return errorOf(rows.UpdateUser(t.Context(), v)) }
			},
			func(t *trial, rows *store.Tenant) string { return must(rows.User(t.Context(), "u1"))(t).Name },
		},
	}
}

func versionTests() map[string]func(*trial) {
	tests := map[string]func(*trial){
		"versions/a member who is deleted does not come back":         deletedMember,
		"versions/a schedule that moved is not moved back":            movedSchedule,
		"versions/a setting is changed from what is stored":           changedSetting,
		"versions/a suspended endpoint is not replaced by an old one": suspendedEndpoint,
	}
	for _, n := range versionedNouns() {
		tests["versions/of two changes of a "+n.name+" one is stored"] = func(t *trial) { oneOfTwoChanges(t, n) }
	}
	return tests
}

// oneOfTwoChanges stores two changes that were made for the same version.
func oneOfTwoChanges(t *trial, n versionedNoun) {
	rows := t.open().For(junctor.DefaultTenant)
	n.add(t, rows)
	first, second := n.read(t, rows), n.read(t, rows)
	ok(t, first("one"))
	fails(t, second("two"), junctor.CodePrecondition)
	if got := n.label(t, rows); got != "one" {
		t.Errorf("the %s has %q, want %q", n.name, got, "one")
	}

	// Who was first is told to who comes too late.
	late := n.read(t, rows)
	ok(t, n.read(t, rows.By("user:u2"))("three"))
	if err := late("four"); junctor.CodeOf(err) != junctor.CodePrecondition || !strings.Contains(err.Error(), "user:u2") {
		t.Errorf("a change that came after one of user:u2: %v", err)
	}

	// Changes that are made again from what is stored are all stored, whatever their
	// order, by this process and another one.
	const changes = 8
	processes := []*store.Tenant{rows, t.open().For(junctor.DefaultTenant)}
	var all sync.WaitGroup
	for i := range changes {
		all.Go(func() {
			rows := processes[i%2]
			if _, err := store.Retry(t.Context(), func() (struct{}, error) {
				change := n.read(t, rows)
				return struct{}{}, change(n.label(t, rows) + "+")
			}); err != nil {
				t.Errorf("a change among others: %v", err)
			}
		})
	}
	all.Wait()
	if got := n.label(t, rows); got != "three"+strings.Repeat("+", changes) {
		t.Errorf("after %d changes the %s has %q", changes, n.name, got)
	}
}

// deletedMember renames a room that was read before one of its members was deleted.
func deletedMember(t *trial) {
	rows := t.open().For(junctor.DefaultTenant)
	ok(t, rows.CreateUser(t.Context(), user("u1", "ada")))
	_ = must(rows.AddRoom(t.Context(), room("kitchen", junctor.Member{User: "u1"})))(t)
	w := must(rows.Room(t.Context(), "kitchen"))(t)
	ok(t, rows.DeleteUser(t.Context(), "u1", moment(9)))
	w.Name = "Galley"
	fails(t, errorOf(rows.UpdateRoom(t.Context(), w)), junctor.CodePrecondition)
	if got := must(rows.Room(t.Context(), "kitchen"))(t); len(got.Members) > 0 {
		t.Errorf("the room has the members %+v again", got.Members)
	}
}

// movedSchedule changes a schedule that was read before its time came.
func movedSchedule(t *trial) {
	st := t.open()
	rows := st.For(junctor.DefaultTenant)
	_ = must(rows.PutSchedule(t.Context(), junctor.Schedule{Name: "nightly", Cron: "@daily", Type: "tick", NextAt: moment(9)}))(t)
	read := must(rows.Schedule(t.Context(), "nightly"))(t)
	ok(t, t.inTx(st, func(on store.Statements) error {
		moved, err := rows.MoveSchedule(t.Context(), on, "nightly", moment(9), moment(99))
		if err == nil && !moved {
			err = errors.New("it was not moved")
		}
		return err
	}))
	read.Type, read.NextAt = "tock", time.Time{}
	if got := must(rows.PutSchedule(t.Context(), read))(t); !got.NextAt.Equal(moment(99)) {
		t.Errorf("it is due at %v again, want %v", got.NextAt, moment(99))
	}
}

// changedSetting changes a setting from many sides at once.
func changedSetting(t *trial) {
	const changes = 8
	processes := []*store.Store{t.open(), t.open()}
	var all sync.WaitGroup
	for i := range changes {
		all.Go(func() {
			_, err := processes[i%2].For(junctor.DefaultTenant).By("user:u1").ChangeSetting(t.Context(), "count", func(now store.Setting) (json.RawMessage, error) {
				var n int
				if now.Value != nil {
					if err := json.Unmarshal(now.Value, &n); err != nil {
						return nil, err
					}
				}
				return json.Marshal(n + 1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	rows := t.open().For(junctor.DefaultTenant)
	got := must(rows.Setting(t.Context(), "count"))(t)
	if string(got.Value) != "8" || got.UpdatedBy != "user:u1" {
		t.Errorf("after %d changes: %s by %q", changes, got.Value, got.UpdatedBy)
	}
	refused := junctor.Errorf(junctor.CodeInvalid, "no")
	_, err := rows.ChangeSetting(t.Context(), "count", func(store.Setting) (json.RawMessage, error) { return nil, refused })
	fails(t, err, junctor.CodeInvalid)
	_, err = t.open().For("nobody").ChangeSetting(t.Context(), "count", func(store.Setting) (json.RawMessage, error) { return json.RawMessage("1"), nil })
	fails(t, err, junctor.CodeNotFound)
}

// suspendedEndpoint stores an endpoint that was read before it was suspended.
func suspendedEndpoint(t *trial) {
	st := t.open()
	rows := st.For(junctor.DefaultTenant)
	e := must(rows.PutEndpoint(t.Context(), junctor.AgentEndpoint{Agent: "a", Origin: "https://a.example:443", URL: "https://a.example/mcp"}))(t)
	ok(t, t.inTx(st, func(on store.Statements) error {
		return store.SuspendEndpoints(t.Context(), on, junctor.DefaultTenant, "a", "its owner changed")
	}))
	_, err := rows.PutEndpoint(t.Context(), e)
	fails(t, err, junctor.CodePrecondition)
	e.UpdatedAt = time.Time{}
	_, err = rows.PutEndpoint(t.Context(), e)
	fails(t, err, junctor.CodePrecondition)
	if got := must(rows.Endpoint(t.Context(), "a", e.Origin))(t); got.Suspended == "" {
		t.Error("the token is sent again")
	}
}

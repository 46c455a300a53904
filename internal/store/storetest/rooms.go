package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

func room(id string, members ...junctor.Member) junctor.Room {
	return junctor.Room{
		Tenant: junctor.DefaultTenant, ID: id, Name: "Room " + id, Members: members, Policy: junctor.PolicyRouter, MaxRounds: 3, Approvals: junctor.ApproveAsk, Owner: "user:u1",
	}
}

func newMessage(room, id, run, text string, calls ...junctor.MessageCall) junctor.Message {
	return junctor.Message{
		Tenant: junctor.DefaultTenant, Room: room, ID: id, At: moment(1), Author: junctor.Author{Kind: junctor.AuthorUser, Name: "Ada", ID: "user:u1"}, Run: run, Text: text, Calls: calls,
	}
}

func roomRun(room, id, replica string) junctor.RoomRun {
	return junctor.RoomRun{Tenant: junctor.DefaultTenant, Room: room, ID: id, State: junctor.RunRunning, By: "user:u1", Replica: replica, BegunAt: moment(1)}
}

func newApproval(id string) junctor.CallApproval {
	return junctor.CallApproval{
		Tenant: junctor.DefaultTenant, Room: "kitchen", ID: id, Run: "r1", Agent: "cook", State: junctor.CallOpen, At: moment(2),
		Call: junctor.RequestedCall{ID: "call-" + id, Name: "notes__add", Server: "notes", Tool: "add", Arguments: json.RawMessage(`{"b":1,"a":"é"}`)},
	}
}

func roomTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"rooms/kept as they are":                roomsKept,
		"rooms/messages in order":               messagesInOrder,
		"rooms/one run at a time":               oneRunAtATime,
		"rooms/a word on a call counts once":    wordCountsOnce,
		"rooms/a message is a no":               messageIsANo,
		"rooms/runs of a dead replica are lost": lostRuns,
		"rooms/members go when they are gone":   membersGo,
	}
}

func roomsKept(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	ok(t, mine.CreateUser(t.Context(), user("u1", "Ada")))
	want := room("kitchen", junctor.Member{Agent: "b"}, junctor.Member{User: "u1", Name: "Ada"}, junctor.Member{Agent: "a"})
	added := must(mine.AddRoom(t.Context(), want))(t)
	wantEqual(t, want, added)
	wantEqual(t, want, must(t.open().For(junctor.DefaultTenant).Room(t.Context(), "kitchen"))(t))
	fails(t, errorOf(mine.AddRoom(t.Context(), want)), junctor.CodeConflict)
	want.Name, want.Policy, want.MaxRounds, want.Approvals, want.Members = "Cellar", junctor.PolicyAll, 7, junctor.ApproveNever, want.Members[1:]
	want.UpdatedAt = added.UpdatedAt
	wantEqual(t, want, must(mine.UpdateRoom(t.Context(), want))(t))
	other := must(mine.AddRoom(t.Context(), room("attic")))(t)
	list := must(mine.Rooms(t.Context()))(t)
	if len(list) != 2 {
		t.Fatalf("%d rooms", len(list))
	}
	wantEqual(t, want, list[0])
	wantEqual(t, other, list[1])
	acme := st.For("acme")
	if list := must(acme.Rooms(t.Context()))(t); len(list) != 0 {
		t.Errorf("another tenant's: %+v", list)
	}
	for _, err := range []error{
		errorOf(acme.Room(t.Context(), "kitchen")), errorOf(acme.UpdateRoom(t.Context(), want)), acme.DeleteRoom(t.Context(), "kitchen"),
		errorOf(st.For("nobody").AddRoom(t.Context(), want)), acme.PutMessage(t.Context(), new(newMessage("kitchen", "m", "", "x"))), acme.BeginRun(t.Context(), new(roomRun("kitchen", "r", "n")), new(newMessage("kitchen", "m", "r", "x"))),
		errorOf(mine.RoomRun(t.Context(), "kitchen", "r")),
	} {
		fails(t, err, junctor.CodeNotFound)
	}
	ok(t, mine.PutMessage(t.Context(), new(newMessage("kitchen", "m1", "", "x"))))
	ok(t, mine.DeleteRoom(t.Context(), "kitchen"))
	fails(t, mine.DeleteRoom(t.Context(), "kitchen"), junctor.CodeNotFound)
	_ = must(mine.AddRoom(t.Context(), room("kitchen")))(t)
	if list := must(mine.Messages(t.Context(), "kitchen", store.MessageFilter{Limit: 9}))(t); len(list) != 0 {
		t.Errorf("a room with the same id has messages of the former: %+v", list)
	}
}

func messagesInOrder(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	_ = must(mine.AddRoom(t.Context(), room("kitchen")))(t)
	_ = must(mine.AddRoom(t.Context(), room("attic")))(t)
	want := make([]junctor.Message, 0, 5)
	for i := range 5 {
		m := newMessage("kitchen", fmt.Sprintf("z%d", 9-i), "r", fmt.Sprintf("Grüße %d 100%%_! ΣΊΣΥΦΟΣ u\u0308", i))
		ok(t, mine.PutMessage(t.Context(), &m))
		want = append(want, m)
	}
	ok(t, mine.PutMessage(t.Context(), new(newMessage("attic", "z5", "r", "elsewhere"))))
	want[1].Text, want[1].Outcome, want[1].Aside, want[1].Thinking = "nul \x00 and more", "why", "call", json.RawMessage(`{"sig":"x"}`)
	want[1].Surfaces, want[1].Action = []json.RawMessage{json.RawMessage(`{"id":"s","components":[]}`)}, json.RawMessage(`{"surfaceId":"s","name":"go"}`)
	want[1].Calls = []junctor.MessageCall{{ID: "c", Name: "notes__add", Server: "notes", Tool: "add", Arguments: json.RawMessage(`{"a":1}`), State: junctor.MessageCallDone, ResultText: "Needle", Record: "rec", View: "ui://x", Result: json.RawMessage(`{"content":[]}`)}}
	ok(t, mine.PutMessage(t.Context(), &want[1]))
	for _, c := range []struct {
		name string
		f    store.MessageFilter
		want []junctor.Message
	}{
		{"all", store.MessageFilter{Limit: 9}, want},
		{"the newest", store.MessageFilter{Limit: 2}, want[3:]},
		{"before one", store.MessageFilter{Before: "z6", Limit: 2}, want[1:3]},
		{"before none", store.MessageFilter{Before: "nothing", Limit: 2}, nil},
		{"in any case", store.MessageFilter{Query: "GRÜSSE 3", Limit: 9}, nil},
		{"in any case of one letter", store.MessageFilter{Query: "GRÜßE 3", Limit: 9}, want[3:4]},
		{"a letter with two small forms", store.MessageFilter{Query: "3 100%_! σίσυφος", Limit: 9}, want[3:4]},
		{"a letter and its mark apart", store.MessageFilter{Query: "3 100%_! ΣΊΣΥΦΟΣ ü", Limit: 9}, want[3:4]},
		{"signs stand for themselves", store.MessageFilter{Query: "100%_!", Limit: 1}, want[4:]},
		{"what a tool said", store.MessageFilter{Query: "needle", Limit: 9}, want[1:2]},
		{"no sign for any", store.MessageFilter{Query: "g%e", Limit: 9}, nil},
	} {
		if diff := cmp.Diff(c.want, must(mine.Messages(t.Context(), "kitchen", c.f))(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		// The page has the same messages, the newest first, and one more if there is one.
		page, total, err := mine.MessagePage(t.Context(), "kitchen", &junctor.RowPage{Words: strings.Fields(c.f.Query), ID: c.f.Before, Limit: c.f.Limit})
		if more := len(page) > c.f.Limit; more {
			page = page[:c.f.Limit]
		} else if err == nil && c.f.Before == "" && total.Rows != len(page) {
			t.Errorf("%s: %+v of %d messages", c.name, total, len(page))
		}
		slices.Reverse(page)
		if diff := cmp.Diff(c.want, page, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s, as a page: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func oneRunAtATime(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	_ = must(mine.AddRoom(t.Context(), room("kitchen")))(t)
	var won sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id := fmt.Sprintf("r%d", i)
			err := mine.BeginRun(t.Context(), new(roomRun("kitchen", id, "n")), new(newMessage("kitchen", "m"+id, id, "hello")))
			if err == nil {
				won.Store(id, true)
			} else if junctor.CodeOf(err) != junctor.CodeConflict {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	all.Wait()
	ids := 0
	won.Range(func(id, _ any) bool {
		ids++
		r := roomRun("kitchen", id.(string), "n")
		wantEqual(t, r, must(mine.RoomRun(t.Context(), "kitchen", r.ID))(t))
		r.State, r.Reason, r.EndedAt, r.Input, r.Output = junctor.RunFailed, "why", moment(3), 5, 7
		ok(t, mine.EndRun(t.Context(), &r, nil))
		wantEqual(t, r, must(mine.RoomRun(t.Context(), "kitchen", r.ID))(t))
		late := r
		late.State = junctor.RunDone
		ok(t, mine.EndRun(t.Context(), &late, nil))
		wantEqual(t, []junctor.RoomRun{r}, must(mine.RoomRuns(t.Context(), "kitchen", 9))(t))
		fails(t, mine.BeginRun(t.Context(), new(roomRun("kitchen", r.ID, "n")), new(newMessage("kitchen", "again", r.ID, "hello"))), junctor.CodeConflict)
		fails(t, mine.BeginRun(t.Context(), new(roomRun("kitchen", "other", "n")), new(newMessage("kitchen", "m"+r.ID, "other", "hello"))), junctor.CodeConflict)
		return true
	})
	if list := must(mine.Messages(t.Context(), "kitchen", store.MessageFilter{Limit: 9}))(t); ids != 1 || len(list) != 1 {
		t.Errorf("%d runs began, with %d messages", ids, len(list))
	}
}

// waits makes a room in which a run waits for a word on two calls.
func waits(t *trial, mine *store.Tenant) {
	t.Helper()
	_ = must(mine.AddRoom(t.Context(), room("kitchen")))(t)
	r := roomRun("kitchen", "r1", "n")
	ok(t, mine.BeginRun(t.Context(), &r, new(newMessage("kitchen", "m1", "r1", "add it"))))
	ok(t, mine.PutMessage(t.Context(), new(newMessage("kitchen", "m2", "r1", "", junctor.MessageCall{ID: "call-a1", State: junctor.MessageCallWaiting}, junctor.MessageCall{ID: "call-a2", State: junctor.MessageCallWaiting}, junctor.MessageCall{ID: "call-b", State: junctor.MessageCallDone}))))
	r.State, r.Plan, r.EndedAt = junctor.RunWaiting, json.RawMessage(`{"next":["a"]}`), moment(3)
	ok(t, mine.EndRun(t.Context(), &r, []junctor.CallApproval{newApproval("a1"), newApproval("a2")}))
	wantEqual(t, r, must(mine.RoomRun(t.Context(), "kitchen", "r1"))(t))
}

func wordCountsOnce(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	waits(t, mine)
	wantEqual(t, []junctor.CallApproval{newApproval("a1"), newApproval("a2")}, must(mine.CallApprovals(t.Context(), "kitchen", ""))(t))
	decide := func(of *store.Tenant, run string, decisions ...junctor.CallApproval) (asked []junctor.CallApproval, begun bool, err error) {
		return of.ContinueRun(t.Context(), "r1", decisions, new(roomRun("kitchen", run, "n")))
	}
	yes := newApproval("a1")
	yes.State, yes.Remember, yes.DecidedBy, yes.DecidedAt = junctor.CallAllowed, true, "user:u1", moment(4)
	list, begun, err := decide(mine, "go", yes)
	ok(t, err)
	if begun {
		t.Error("the run continues although a call waits")
	}
	wantEqual(t, []junctor.CallApproval{yes, newApproval("a2")}, list)
	no := newApproval("a2")
	no.State, no.DecidedBy, no.DecidedAt = junctor.CallDenied, "user:u1", moment(5)
	_, _, err = decide(mine, "go", no, yes)
	fails(t, err, junctor.CodeConflict)
	_, _, err = decide(st.For("acme"), "go", no)
	fails(t, err, junctor.CodeNotFound)
	// The run cannot begin, since its id is in use: then the decision is not stored either.
	_, _, err = decide(mine, "r1", no)
	fails(t, err, junctor.CodeConflict)
	wantEqual(t, []junctor.CallApproval{yes, newApproval("a2")}, must(mine.CallApprovals(t.Context(), "kitchen", "r1"))(t))
	wantEqual(t, []junctor.CallApproval{yes}, must(mine.Remembered(t.Context(), "kitchen"))(t))
	count := 0
	for i := range 3 {
		list, begun, err := decide(mine, fmt.Sprint("go", i), no)
		if err == nil && begun {
			count++
			wantEqual(t, []junctor.CallApproval{yes, no}, list)
			continue
		}
		fails(t, err, junctor.CodeConflict)
	}
	if count != 1 {
		t.Errorf("the run continued %d times", count)
	}
	ok(t, mine.ForgetApprovals(t.Context(), "kitchen"))
	if list := must(mine.Remembered(t.Context(), "kitchen"))(t); len(list) != 0 {
		t.Errorf("still remembered: %+v", list)
	}
}

func messageIsANo(t *trial) {
	for name, leave := range map[string]func(*store.Tenant) error{
		"a message": func(mine *store.Tenant) error {
			return mine.BeginRun(t.Context(), new(roomRun("kitchen", "r2", "n")), new(newMessage("kitchen", "m3", "r2", "never mind")))
		},
		"a stop": func(mine *store.Tenant) error {
			runs, err := mine.StopRun(t.Context(), "kitchen", "r1", "user:u1", moment(5))
			if runs {
				t.Error("a run that waits is said to run")
			}
			return err
		},
	} {
		mine := t.open().For(junctor.DefaultTenant)
		waits(t, mine)
		ok(t, leave(mine))
		if list := must(mine.CallApprovals(t.Context(), "kitchen", ""))(t); len(list) != 0 {
			t.Errorf("%s: still open: %+v", name, list)
		}
		if r := must(mine.RoomRun(t.Context(), "kitchen", "r1"))(t); r.State != junctor.RunCancelled {
			t.Errorf("%s: the run is %s", name, r.State)
		}
		m := must(mine.Messages(t.Context(), "kitchen", store.MessageFilter{Limit: 9}))(t)[1]
		if m.Calls[0].State != junctor.MessageCallDenied || m.Calls[1].State != junctor.MessageCallDenied || m.Calls[2].State != junctor.MessageCallDone {
			t.Errorf("%s: the calls are %+v", name, m.Calls)
		}
		ok(t, mine.DeleteRoom(t.Context(), "kitchen"))
	}
}

func lostRuns(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	for i, replica := range []string{"here", "there", "gone", "there"} { // the last one is a row without a run
		id := "room" + fmt.Sprint(i)
		_ = must(mine.AddRoom(t.Context(), room(id)))(t)
		r := roomRun(id, "r", replica)
		r.BegunAt = moment(max(0, 10*(2-i)))
		ok(t, mine.BeginRun(t.Context(), &r, new(newMessage(id, "m1", "r", "go"))))
		ok(t, mine.PutMessage(t.Context(), new(newMessage(id, "m2", "r", "", junctor.MessageCall{ID: "c", State: junctor.MessageCallRunning}, junctor.MessageCall{ID: "d", State: junctor.MessageCallDone}))))
	}
	isAlive := func(r *junctor.RoomRun) bool { return r.Room == "room1" }
	if _, err := st.BeatRuns(t.Context(), "there", moment(100), isAlive); err != nil {
		t.Fatal(err)
	}
	lost := must(st.LoseRuns(t.Context(), "here", moment(5)))(t)
	if len(lost) != 3 || len(must(st.LoseRuns(t.Context(), "here", time.Time{}))(t)) != 0 {
		t.Errorf("lost: %+v", lost)
	}
	for i, want := range []struct {
		run  junctor.RunState
		call junctor.MessageCallState
	}{{junctor.RunLost, junctor.MessageCallLost}, {junctor.RunRunning, junctor.MessageCallRunning}, {junctor.RunLost, junctor.MessageCallLost}, {junctor.RunLost, junctor.MessageCallLost}} {
		id := "room" + fmt.Sprint(i)
		calls := must(mine.Messages(t.Context(), id, store.MessageFilter{Limit: 9}))(t)[1].Calls
		if r := must(mine.RoomRun(t.Context(), id, "r"))(t); r.State != want.run || calls[0].State != want.call || calls[1].State != junctor.MessageCallDone {
			t.Errorf("%s: %s, %+v", id, r.State, calls)
		}
	}
	runs := must(mine.StopRun(t.Context(), "room1", "r", "user:u1", moment(6)))(t)
	stop := must(st.BeatRuns(t.Context(), "there", moment(101), isAlive))(t)
	if !runs || len(stop) != 1 || stop[0].Room != "room1" || stop[0].ID != "r" {
		t.Errorf("to be stopped: %v, %+v", runs, stop)
	}
}

func membersGo(t *trial) {
	mine := t.open().For(junctor.DefaultTenant)
	ok(t, mine.CreateUser(t.Context(), user("u1", "Ada")))
	_ = must(mine.AddAgent(t.Context(), junctor.Agent{Name: "cook", Role: junctor.RoleGeneral}))(t)
	waits(t, mine)
	w := room("kitchen", junctor.Member{Agent: "cook"}, junctor.Member{User: "u1"}, junctor.Member{Agent: "u1"})
	w.UpdatedAt = must(mine.Room(t.Context(), "kitchen"))(t).UpdatedAt
	_ = must(mine.UpdateRoom(t.Context(), w))(t)
	yes := newApproval("a1")
	yes.State, yes.Remember = junctor.CallAllowed, true
	_, _, err := mine.ContinueRun(t.Context(), "r1", []junctor.CallApproval{yes}, new(roomRun("kitchen", "go", "n")))
	ok(t, err)
	ok(t, mine.DeleteAgent(t.Context(), "cook", moment(9)))
	ok(t, mine.DeleteUser(t.Context(), "u1", moment(9)))
	w.Members = []junctor.Member{{Agent: "u1"}}
	messages := must(mine.Messages(t.Context(), "kitchen", store.MessageFilter{Limit: 9}))(t)
	w.LastMessageAt = messages[len(messages)-1].At
	wantEqual(t, w, must(mine.Room(t.Context(), "kitchen"))(t))
	for _, listed := range must(mine.Rooms(t.Context()))(t) {
		if listed.ID == "kitchen" && !listed.LastMessageAt.Equal(w.LastMessageAt) {
			t.Errorf("the list has the last message at %v instead of %v", listed.LastMessageAt, w.LastMessageAt)
		}
	}
	if list := must(mine.Remembered(t.Context(), "kitchen"))(t); len(list) != 0 {
		t.Errorf("what the agent was allowed is remembered: %+v", list)
	}
}

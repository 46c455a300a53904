package storetest

import (
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

func publishedTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"published/each tenant has its names":         publishedNames,
		"published/tasks are their owner's":           tasksOfOwners,
		"published/a change counts once":              taskChangesOnce,
		"published/listed page by page":               tasksInPages,
		"published/tasks of a dead replica are lost":  lostTasks,
		"published/pushes go with their task":         pushesGo,
		"published/old tasks are swept, working stay": oldTasksSwept,
	}
}

func publishableAgent(name string) junctor.Agent {
	return junctor.Agent{Name: name, Role: junctor.RoleGeneral, Owner: "user:u1", Published: true}
}

func newAgentTask(id, owner string, at int) junctor.AgentTask {
	return junctor.AgentTask{
		Tenant: junctor.DefaultTenant, ID: id, Agent: "bank", Owner: owner, Context: "c1", State: "TASK_STATE_WORKING", Running: true, Version: 1,
		Body: []byte(`{"b":1,"a":"é"}`), Messages: []byte(`[]`), Replica: "n1", BegunAt: moment(at), At: moment(at),
	}
}

func publishedNames(t *trial) {
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	mine, acme := st.For(junctor.DefaultTenant), st.For("acme")
	fails(t, errorOf(st.FirstPublished(t.Context())), junctor.CodeNotFound)
	bank := must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	if !bank.Published {
		t.Error("it is not published")
	}
	hidden := publishableAgent("bank")
	hidden.Published = false
	theirs := must(acme.AddAgent(t.Context(), hidden))(t)
	fails(t, errorOf(st.PublishedAgent(t.Context(), "acme.bank")), junctor.CodeNotFound)
	fails(t, errorOf(acme.PublishedAgent(t.Context(), "bank")), junctor.CodeNotFound)
	theirs.Published = true
	theirs = must(acme.UpdateAgent(t.Context(), theirs))(t)
	for address, want := range map[string]junctor.TenantID{"bank": junctor.DefaultTenant, "default.bank": junctor.DefaultTenant, "acme.bank": "acme"} {
		if got := must(st.PublishedAgent(t.Context(), address))(t); got.Tenant != want {
			t.Errorf("%s is the agent of %s", address, got.Tenant)
		}
	}
	if got := must(acme.PublishedAgent(t.Context(), "bank"))(t); got.Tenant != "acme" {
		t.Errorf("the agent of %s", got.Tenant)
	}
	for _, none := range []string{"acme.atm", "other.bank", ".bank", "acme.", "acme.bank.", "."} {
		fails(t, errorOf(st.PublishedAgent(t.Context(), none)), junctor.CodeNotFound)
	}
	must(mine.AddAgent(t.Context(), publishableAgent("atm")))(t)
	if got := must(st.FirstPublished(t.Context()))(t); got.Name != "bank" {
		t.Errorf("first %s", got.Name)
	}
	bank.Disabled = true
	bank = must(mine.UpdateAgent(t.Context(), bank))(t)
	fails(t, errorOf(st.PublishedAgent(t.Context(), "bank")), junctor.CodeNotFound)
	if got := must(st.FirstPublished(t.Context()))(t); got.Name != "atm" {
		t.Errorf("first %s", got.Name)
	}
	bank.Disabled, bank.Published = false, false
	must(mine.UpdateAgent(t.Context(), bank))(t)
	fails(t, errorOf(st.PublishedAgent(t.Context(), "bank")), junctor.CodeNotFound)
	must(acme.UpdateAgent(t.Context(), theirs))(t) // which has the name now
	if got := must(st.PublishedAgent(t.Context(), "bank"))(t); got.Tenant != "acme" {
		t.Errorf("the agent of %s", got.Tenant)
	}
	ok(t, acme.DeleteAgent(t.Context(), "bank", moment(1)))
	fails(t, errorOf(st.PublishedAgent(t.Context(), "bank")), junctor.CodeNotFound)
}

func tasksOfOwners(t *trial) {
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	mine, acme := st.For(junctor.DefaultTenant), st.For("acme")
	fails(t, mine.AddAgentTask(t.Context(), new(newAgentTask("t1", "user:u1", 1))), junctor.CodeNotFound) // no agent
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	must(mine.AddAgent(t.Context(), publishableAgent("atm")))(t)
	want := newAgentTask("t1", "user:u1", 1)
	ok(t, mine.AddAgentTask(t.Context(), &want))
	fails(t, mine.AddAgentTask(t.Context(), new(newAgentTask("t1", "user:u2", 1))), junctor.CodeConflict)
	wantEqual(t, want, must(t.open().For(junctor.DefaultTenant).AgentTask(t.Context(), "bank", "user:u1", "t1"))(t))
	for _, err := range []error{
		errorOf(mine.AgentTask(t.Context(), "bank", "user:u2", "t1")), errorOf(mine.AgentTask(t.Context(), "atm", "user:u1", "t1")),
		errorOf(acme.AgentTask(t.Context(), "bank", "user:u1", "t1")), acme.PutTaskPush(t.Context(), junctor.TaskPush{Task: "t1", ID: "p", Config: []byte("{}")}),
	} {
		fails(t, err, junctor.CodeNotFound)
	}
	other := want
	other.Owner = "user:u2"
	fails(t, mine.UpdateAgentTask(t.Context(), &other), junctor.CodeConflict)
	fails(t, acme.UpdateAgentTask(t.Context(), new(want)), junctor.CodeConflict)
	for _, f := range []store.AgentTaskFilter{{Agent: "bank", Owner: "user:u2", Limit: 9}, {Agent: "atm", Owner: "user:u1", Limit: 9}} {
		if list, total, err := mine.AgentTasks(t.Context(), f); err != nil || len(list) != 0 || total != 0 {
			t.Errorf("%+v: %d of %d, %v", f, len(list), total, err)
		}
		if list := must(mine.AgentContext(t.Context(), f.Agent, f.Owner, "c1", 9))(t); len(list) != 0 {
			t.Errorf("%+v: the conversation has %d", f, len(list))
		}
	}
	ok(t, mine.StopAgentTask(t.Context(), "bank", "user:u2", "t1"))
	if list := must(st.BeatAgentTasks(t.Context(), "n1", moment(2)))(t); len(list) != 0 {
		t.Error("another party had it stopped")
	}
	ok(t, mine.StopAgentTask(t.Context(), "bank", "user:u1", "t1"))
	if list := must(st.BeatAgentTasks(t.Context(), "n1", moment(2)))(t); len(list) != 1 {
		t.Error("its owner could not have it stopped")
	}
	ok(t, mine.DeleteAgent(t.Context(), "bank", moment(3)))
	fails(t, errorOf(mine.AgentTask(t.Context(), "bank", "user:u1", "t1")), junctor.CodeNotFound)
}

func taskChangesOnce(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	a := newAgentTask("t1", "user:u1", 1)
	ok(t, mine.AddAgentTask(t.Context(), &a))
	b := a
	a.State, a.Running, a.At, a.Body, a.Messages = "TASK_STATE_COMPLETED", false, moment(5), []byte(`{"done":true}`), []byte(`[{"role":"user"}]`)
	ok(t, mine.UpdateAgentTask(t.Context(), &a))
	fails(t, mine.UpdateAgentTask(t.Context(), &b), junctor.CodeConflict)
	wantEqual(t, a, must(mine.AgentTask(t.Context(), "bank", "user:u1", "t1"))(t))
	if a.Version != 2 {
		t.Errorf("version %d", a.Version)
	}
}

func tasksInPages(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	for n := range 7 {
		one := newAgentTask(fmt.Sprint("t", n), "user:u1", n/2) // some at the same time
		if n%2 == 1 {
			one.State, one.Context = "TASK_STATE_COMPLETED", "c2"
		}
		ok(t, mine.AddAgentTask(t.Context(), &one))
	}
	seen := make([]string, 0, 9)
	f := store.AgentTaskFilter{Agent: "bank", Owner: "user:u1", Limit: 3}
	for range 3 {
		list, total, err := mine.AgentTasks(t.Context(), f)
		ok(t, err)
		if total != 7 {
			t.Errorf("%d in all", total)
		}
		for _, one := range list {
			seen = append(seen, one.ID)
			f.Before, f.BeforeID = one.At, one.ID
		}
	}
	if want := []string{"t6", "t5", "t4", "t3", "t2", "t1", "t0"}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	for want, f := range map[int]store.AgentTaskFilter{4: {Context: "c1"}, 3: {State: "TASK_STATE_COMPLETED"}, 5: {Since: moment(1)}, 0: {Context: "c1", State: "TASK_STATE_COMPLETED"}} {
		f.Agent, f.Owner, f.Limit = "bank", "user:u1", 100
		if list, total, err := mine.AgentTasks(t.Context(), f); err != nil || len(list) != want || int(total) != want {
			t.Errorf("%+v: %d of %d, %v; want %d", f, len(list), total, err, want)
		}
	}
	story := must(mine.AgentContext(t.Context(), "bank", "user:u1", "c1", 3))(t)
	if len(story) != 3 || story[0].ID != "t2" || story[2].ID != "t6" {
		t.Errorf("%+v", story)
	}
}

func lostTasks(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	for id, replica := range map[string]string{"t1": "n1", "t2": "n2", "t3": "n2"} {
		one := newAgentTask(id, "user:u1", 1)
		one.Replica = replica
		one.Running = id != "t3"
		ok(t, mine.AddAgentTask(t.Context(), &one))
	}
	ids := func(list []junctor.AgentTask) (out []string) {
		for _, one := range list {
			out = append(out, one.ID)
		}
		slices.Sort(out)
		return out
	}
	if got := ids(must(st.LostAgentTasks(t.Context(), "n1", moment(0)))(t)); !slices.Equal(got, []string{"t1"}) {
		t.Errorf("of a replica that started: %v", got)
	}
	must(st.BeatAgentTasks(t.Context(), "n1", moment(60)))(t)
	if got := ids(must(st.LostAgentTasks(t.Context(), "", moment(30)))(t)); !slices.Equal(got, []string{"t2"}) {
		t.Errorf("of a replica that is silent: %v", got)
	}
}

func pushesGo(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	ok(t, mine.AddAgentTask(t.Context(), new(newAgentTask("t1", "user:u1", 1))))
	for _, id := range []string{"b", "a"} {
		ok(t, mine.PutTaskPush(t.Context(), junctor.TaskPush{Task: "t1", ID: id, Config: []byte(`{"url":"https://example.com"}`)}))
		ok(t, mine.PutSecret(t.Context(), store.Secret{SecretName: store.SecretName{Owner: junctor.TaskPushOwner("t1"), Name: id}, KeyID: "k"}))
	}
	ok(t, mine.PutTaskPush(t.Context(), junctor.TaskPush{Task: "t1", ID: "a", Config: []byte(`{"url":"https://example.org"}`)}))
	list := must(mine.TaskPushes(t.Context(), "t1"))(t)
	if len(list) != 2 || list[0].ID != "a" || string(list[0].Config) != `{"url":"https://example.org"}` {
		t.Errorf("%+v", list)
	}
	ok(t, mine.DeleteTaskPush(t.Context(), "t1", "a"))
	ok(t, mine.DeleteTaskPush(t.Context(), "t1", "a"))
	if names := must(mine.SecretNames(t.Context()))(t); len(names) != 1 || names[0].Name != "b" {
		t.Errorf("%+v", names)
	}
	ok(t, mine.DeleteAgent(t.Context(), "bank", moment(2)))
	must(st.Sweep(t.Context(), moment(3)))(t)
	if names := must(mine.SecretNames(t.Context()))(t); len(names) != 0 {
		t.Errorf("secrets outlive their task: %+v", names)
	}
}

func oldTasksSwept(t *trial) {
	st := t.open()
	mine := st.For(junctor.DefaultTenant)
	must(mine.AddAgent(t.Context(), publishableAgent("bank")))(t)
	for id, running := range map[string]bool{"old": false, "working": true} {
		one := newAgentTask(id, "user:u1", 1)
		one.Running = running
		ok(t, mine.AddAgentTask(t.Context(), &one))
	}
	must(st.Sweep(t.Context(), moment(1).Add(store.AgentTaskLife-time.Second)))(t)
	errOld := errorOf(mine.AgentTask(t.Context(), "bank", "user:u1", "old"))
	ok(t, errOld)
	must(st.Sweep(t.Context(), moment(1).Add(store.AgentTaskLife)))(t)
	fails(t, errorOf(mine.AgentTask(t.Context(), "bank", "user:u1", "old")), junctor.CodeNotFound)
	must(mine.AgentTask(t.Context(), "bank", "user:u1", "working"))(t)
}

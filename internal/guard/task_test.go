package guard_test

import (
	"context"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// taskStore keeps tasks in memory.
type taskStore map[string]junctor.Task

func (s taskStore) AddTask(_ context.Context, _ junctor.TenantID, t junctor.Task) error {
	s[t.ID] = t
	return nil
}

func (s taskStore) Task(_ context.Context, _ junctor.TenantID, id string) (junctor.Task, error) {
	t, ok := s[id]
	if !ok {
		return t, junctor.Errorf(junctor.CodeNotFound, "no task %s", id)
	}
	return t, nil
}

func (s taskStore) SetTask(_ context.Context, _ junctor.TenantID, id string, state []byte, expires time.Time) error {
	t := s[id]
	t.State, t.Expires = state, expires
	s[id] = t
	return nil
}

func (taskStore) TasksOf(context.Context, *junctor.Principal, string, time.Time, int) ([]junctor.Task, error) {
	return nil, nil
}

// How a task is doing is for every caller who may ask, and nobody else can change what is
// known of it.
func TestRecipientsOfATaskChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const before, after = `{"status":"working"}`, `{"status":"completed"}`
	tasks := taskStore{}
	o := r.options()
	o.Tasks = tasks
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	for name, c := range map[string]struct {
		change func(p *junctor.Principal, v *catalog.Scope, task *junctor.Task)
		hears  bool
	}{
		"its caller":      {func(*junctor.Principal, *catalog.Scope, *junctor.Task) {}, true},
		"at its server":   {func(_ *junctor.Principal, v *catalog.Scope, _ *junctor.Task) { v.Server = "srv" }, true},
		"another subject": {func(p *junctor.Principal, _ *catalog.Scope, _ *junctor.Task) { p.Subject = "k2" }, false},
		"another issuer":  {func(p *junctor.Principal, _ *catalog.Scope, _ *junctor.Task) { p.Issuer = "local" }, false},
		"may not call": {func(p *junctor.Principal, _ *catalog.Scope, _ *junctor.Task) {
			p.Scopes = []junctor.Scope{junctor.ScopeToolsRead}
		}, false},
		"at another server": {func(_ *junctor.Principal, v *catalog.Scope, _ *junctor.Task) { v.Server = "other" }, false},
		"an old task":       {func(_ *junctor.Principal, _ *catalog.Scope, task *junctor.Task) { task.Expires = time.Now() }, false},
		"a tool that went":  {func(_ *junctor.Principal, _ *catalog.Scope, task *junctor.Task) { task.Tool = "gone" }, false},
		"another task":      {func(_ *junctor.Principal, _ *catalog.Scope, task *junctor.Task) { task.ID = "t2" }, false},
	} {
		p, v := caller(junctor.ScopeToolsCall), catalog.Scope{}
		task := junctor.Task{
			ID: "t1", Own: "o", Issuer: p.Issuer, Subject: p.Subject, Server: "srv", Tool: "echo", State: []byte(before), Expires: time.Now().Add(time.Hour),
		}
		c.change(p, &v, &task)
		clear(tasks)
		tasks[task.ID] = task
		if hears := g.CanReceiveTask(t.Context(), p, v, "t1", []byte(after)); hears != c.hears {
			t.Errorf("%s: hears %v", name, hears)
		}
		if changed := string(tasks[task.ID].State) == after; changed != c.hears {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
}

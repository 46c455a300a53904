package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// taskServer is a server that answers every call with a task. All its answers have one body.
type taskServer struct {
	*backend
	body string
}

func (s *taskServer) Do(_ context.Context, req *catalog.Request, _ catalog.Sink) (catalog.Result, error) {
	return catalog.Result{Body: []byte(s.body), Task: req.Kind != junctor.KindTask}, nil
}

// Watch does nothing: the built-in server behind it has its listener already.
func (*taskServer) Watch(func(catalog.Event)) {}

// taskGuard returns a guard over a rig that stores tasks, with the server "tasks".
func taskGuard(t *testing.T, tasks guard.TaskStore, body string) *guard.Guard {
	t.Helper()
	r := newRig(t)
	o := r.options()
	o.Tasks = tasks
	g, err := guard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := r.catalog.Attach(t.Context(), junctor.DefaultTenant, "tasks", junctor.ModeBYO, &taskServer{r.backend, body}); err != nil {
		t.Fatal(err)
	}
	return g
}

// A task is adopted only for a tool call of a client that knows tasks, where tasks are
// stored. In every other case the answer is an error of the server.
func TestTaskNobodyAskedFor(t *testing.T) {
	t.Parallel()
	const body = `{"taskId":"own","status":"working"}`
	for name, c := range map[string]struct {
		store guard.TaskStore
		op    string
		tasks bool
		ok    bool
	}{
		"a tool":                        {taskStore{}, "tool", true, true},
		"a client that knows no tasks":  {taskStore{}, "tool", false, false},
		"a resource":                    {taskStore{}, "resource", true, false},
		"a prompt":                      {taskStore{}, "prompt", true, false},
		"an instance that stores none":  {nil, "tool", true, false},
		"neither a tool nor any stored": {nil, "prompt", true, false},
	} {
		g := taskGuard(t, c.store, body)
		op := goodOps()[c.op]
		op.Name = strings.Replace(op.Name, "srv", "tasks", 1)
		op.Caller.Tasks = c.tasks
		res, err := g.Do(t.Context(), op, nil)
		if c.ok && (err != nil || !res.Task) || !c.ok && junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// The result of a task has the form of a direct call's result: it is changed for older
// clients, and only for them.
func TestTaskResultForOlderClients(t *testing.T) {
	t.Parallel()
	const body = `{"taskId":"own","status":"completed","result":{"content":[{"type":"text","text":"x"}],"structuredContent":[1,2]}}`
	for older, want := range map[bool]string{false: `"structuredContent":[1,2]`, true: `"structuredContent":{"result":[1,2]}`} {
		p := caller(junctor.ScopeToolsCall)
		tasks := taskStore{"t1": {
			ID: "t1", Own: "own", Issuer: p.Issuer, Subject: p.Subject, Server: "tasks", Tool: "echo", State: []byte(`{"status":"working"}`), Expires: time.Now().Add(time.Hour),
		}}
		g := taskGuard(t, tasks, body)
		res, err := g.Do(t.Context(), &guard.Op{Principal: p, EntryPoint: junctor.EntryMCP, Kind: junctor.KindTask, Name: "t1", Scope: catalog.Scope{Older: older}, Params: []byte(`{"taskId":"t1"}`)}, nil)
		if err != nil || !strings.Contains(string(res.Body), want) || !strings.Contains(string(res.Body), `"taskId":"t1"`) {
			t.Errorf("older %v: %s, %v; want %s", older, res.Body, err, want)
		}
	}
}

// pagedTasks has as many tasks as are asked for.
type pagedTasks struct {
	taskStore
	after string
}

func (s *pagedTasks) TasksOf(_ context.Context, p *junctor.Principal, after string, now time.Time, most int) ([]junctor.Task, error) {
	s.after = after
	rows := make([]junctor.Task, most)
	for i := range rows {
		rows[i] = junctor.Task{
			ID: fmt.Sprintf("t%03d", i), Own: "own", Issuer: p.Issuer, Subject: p.Subject, Server: "srv", Tool: "echo", State: []byte(`{"status":"working"}`), Expires: now.Add(time.Hour),
		}
	}
	return rows, nil
}

// The cursor of a full page is the id of its last task.
func TestListTasksByPage(t *testing.T) {
	t.Parallel()
	store := &pagedTasks{}
	g := taskGuard(t, store, `{}`)
	tasks, next, err := g.ListTasks(t.Context(), caller(junctor.ScopeToolsCall), catalog.Scope{}, "t-before")
	if err != nil || len(tasks) == 0 || next != fmt.Sprintf("t%03d", len(tasks)-1) || store.after != "t-before" {
		t.Errorf("%d tasks, next %q, after %q, %v", len(tasks), next, store.after, err)
	}
}

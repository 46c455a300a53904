package guard

import (
	"context"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TaskStore stores which task belongs to which principal, under ids of our own. No client
// learns the task ids of a server, and no client can use the task of another.
type TaskStore interface {
	AddTask(ctx context.Context, tenant junctor.TenantID, t junctor.Task) error
	// Task returns not_found if there is no such task.
	Task(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Task, error)
	// SetTask stores the state of a task and until when it is kept.
	SetTask(ctx context.Context, tenant junctor.TenantID, id string, state []byte, expires time.Time) error
	// TasksOf lists up to most tasks of a principal that have not expired, behind the id
	// after.
	TasksOf(ctx context.Context, p *junctor.Principal, after string, now time.Time, most int) ([]junctor.Task, error)
}

const (
	// purposeTask is the sealing purpose of results that are stored with an ended task.
	purposeTask = "task"
	// A task is kept as long as its server keeps it, plus taskGrace. If the server
	// gives no time, or a longer one, it is kept for maxTaskLife after the last change.
	maxTaskLife  = 7 * 24 * time.Hour
	taskGrace    = 10 * time.Minute
	taskPageSize = 100
)

// isTaskKind reports whether operations of a kind act on a task.
func isTaskKind(k junctor.Kind) bool {
	return k == junctor.KindTask || k == junctor.KindTaskUpdate || k == junctor.KindTaskCancel
}

// errUnknownTask is the error for every task that the caller may not use. It is the same
// for all causes, so that it does not reveal which ids exist.
func errUnknownTask() error {
	return junctor.Errorf(junctor.CodeNotFound, "unknown task: it was never yours, has expired, or its server or tool is no longer there")
}

// findTask returns the task that an operation names, and its tool as the principal sees
// it now. The task must belong to the principal and must not have expired. If the tool is
// no longer visible, the task is unknown, too.
func (g *Guard) findTask(ctx context.Context, op *Op, sh *catalog.Shelf) (catalog.Item, *junctor.Task, error) {
	if g.options.Tasks == nil {
		return catalog.Item{}, nil, errUnknownTask()
	}
	t, err := g.options.Tasks.Task(ctx, op.Principal.Tenant, op.Name)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return catalog.Item{}, nil, errUnknownTask()
	case err != nil:
		return catalog.Item{}, nil, err
	case t.Issuer != op.Principal.Issuer || t.Subject != op.Principal.Subject, !g.options.Now().Before(t.Expires), op.Scope.Server != "" && op.Scope.Server != t.Server:
		return catalog.Item{}, nil, errUnknownTask()
	}
	item, err := sh.Tool(op.Principal, catalog.Scope{Server: t.Server, Audience: op.Scope.Audience}, t.Tool, t.Version)
	if err != nil {
		return catalog.Item{}, nil, errUnknownTask()
	}
	return item, &t, nil
}

// checkTaskSupport returns an error if a call must become a task and its tool does not
// support that.
func checkTaskSupport(op *Op, item catalog.Item) error {
	if !op.Caller.TaskOnly || item.Tool == nil {
		return nil
	}
	switch support, _ := wire.String(wire.Get(wire.Get(item.Tool.JSON, "execution"), "taskSupport")); support {
	case "optional", "required":
		return nil
	}
	e := &wire.Error{Code: wire.CodeMethodNotFound, Message: "the tool does not run as a task; call it without params.task"}
	return &junctor.Error{Code: junctor.CodeInvalid, Message: e.Message, Cause: e}
}

// adoptTask stores the task that a call has become. The call's id replaces the task id of
// the server in res, so only this caller can find the task. If the caller requires a task
// but the server returned its result at once, that result is stored as a task that has
// ended.
func (g *Guard) adoptTask(ctx context.Context, op *Op, id string, item catalog.Item, res *catalog.Result) error {
	ended := op.Caller.TaskOnly && !res.Task && !res.Input
	if !res.Task && !ended {
		return nil
	}
	if g.options.Tasks == nil || op.Kind != junctor.KindTool || !op.Caller.Tasks {
		return junctor.Errorf(junctor.CodeUpstream, "%s answered with a task, which nobody asked for", item.Server.ID)
	}
	now := g.options.Now()
	t := junctor.Task{
		ID: id, Issuer: op.Principal.Issuer, Subject: op.Principal.Subject, Server: item.Server.ID, Tool: item.Name, Created: now,
	}
	if item.Tool != nil {
		t.Version = item.Tool.Version
	}
	if ended {
		body := endedTaskBody(t.ID, now, res.Body)
		t.State, t.Expires = []byte(g.options.Sealer.Seal(purposeTask, body)), now.Add(taskGrace+endedTaskLife)
		res.Body = taskSummary(body)
		res.Task, res.IsError = true, false
	} else {
		own, ok := wire.String(wire.Get(res.Body, "taskId"))
		if !ok || own == "" {
			return junctor.Errorf(junctor.CodeUpstream, "%s answered with a task that has no id", item.Server.ID)
		}
		t.Own = own
		res.Body = replaceTaskID(res.Body, t.ID)
		t.State, t.Expires = taskSummary(res.Body), g.taskExpiry(res.Body)
	}
	return g.options.Tasks.AddTask(context.WithoutCancel(ctx), op.Principal.Tenant, t)
}

// endedTaskLife is how long a task is kept that ended at once.
const endedTaskLife = time.Hour

// endedTaskBody returns the task object of a call that ended at once.
func endedTaskBody(id string, now time.Time, result []byte) []byte {
	at := wire.AppendString(nil, now.UTC().Format(time.RFC3339Nano))
	return wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "taskId", Value: wire.AppendString(nil, id)}, wire.Member{Key: "status", Value: []byte(`"` + wire.TaskCompleted + `"`)},
		wire.Member{Key: "createdAt", Value: at}, wire.Member{Key: "lastUpdatedAt", Value: at},
		wire.Member{Key: "ttlMs", Value: strconv.AppendInt(nil, endedTaskLife.Milliseconds(), 10)}, wire.Member{Key: "result", Value: result})
}

// replaceTaskID returns a task object with another id.
func replaceTaskID(body []byte, id string) []byte {
	return wire.AppendObject(nil, body, nil, wire.Member{Key: "taskId", Value: wire.AppendString(nil, id)})
}

// taskSummary returns a task object without its result and its input requests. Lists show
// it, and the store keeps it.
func taskSummary(body []byte) []byte {
	return wire.AppendObject(nil, body, []string{"result", "error", "inputRequests", "requestState", "_meta"})
}

// taskExpiry returns until when a task is kept.
func (g *Guard) taskExpiry(body []byte) time.Time {
	life := maxTaskLife
	if ms, ok := wire.Int(wire.Get(body, "ttlMs")); ok && ms >= 0 {
		life = min(life, time.Duration(min(ms, maxTaskLife.Milliseconds()))*time.Millisecond)
	}
	return g.options.Now().Add(life + taskGrace)
}

// answerEndedTask answers an operation on a task that ended at once. No server is asked.
func (g *Guard) answerEndedTask(op *Op, t *junctor.Task) (catalog.Result, error) {
	if op.Kind != junctor.KindTask {
		return catalog.Result{Body: []byte(`{}`)}, nil // the task has ended, so an update or a cancellation changes nothing
	}
	body, err := g.options.Sealer.Open(purposeTask, string(t.State))
	if err != nil {
		return catalog.Result{}, errUnknownTask()
	}
	return catalog.Result{Body: body}, nil
}

// updateTask replaces the server's task id in a result by ours, shapes the nested result
// like that of a direct call, and stores the task's state if it has changed.
func (g *Guard) updateTask(ctx context.Context, op *Op, t *junctor.Task, tool *catalog.ToolVersion, res *catalog.Result) {
	if t.Own == "" || wire.Get(res.Body, "taskId") == nil {
		return
	}
	res.Body = replaceTaskID(res.Body, t.ID)
	if result := wire.Get(res.Body, "result"); result != nil && (op.Scope.Server == "" || op.Scope.Older) {
		shown := result
		if op.Scope.Older && tool != nil {
			shown = tool.ForOlder(shown)
		}
		if op.Scope.Server == "" {
			shown = catalog.ExposeURIs(t.Server, junctor.KindTool, shown)
		}
		res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "result", Value: shown})
	}
	g.storeTaskState(ctx, op.Principal.Tenant, t, taskSummary(res.Body))
}

// storeTaskState stores the state of a task if its status or lifetime has changed. A
// failure is logged only: the caller has the current state.
func (g *Guard) storeTaskState(ctx context.Context, tenant junctor.TenantID, t *junctor.Task, state []byte) {
	if string(wire.Get(state, "status")) == string(wire.Get(t.State, "status")) && string(wire.Get(state, "ttlMs")) == string(wire.Get(t.State, "ttlMs")) {
		return
	}
	if err := g.options.Tasks.SetTask(context.WithoutCancel(ctx), tenant, t.ID, state, g.taskExpiry(state)); err != nil {
		g.options.Logger.Warn("cannot store the state of a task; lists show the former state", "server", t.Server, "error", err)
	}
}

// CanReceiveTask reports whether a principal may receive notifications about a task: it may
// if it could ask for the task. It also stores the new state. A notification is not a
// call: it is not recorded.
func (g *Guard) CanReceiveTask(ctx context.Context, p *junctor.Principal, v catalog.Scope, id string, state []byte) bool {
	if !p.Has(junctor.ScopeToolsCall) {
		return false
	}
	_, t, err := g.findTask(ctx, &Op{Principal: p, Scope: v, Name: id}, g.options.Catalog.Snapshot().For(p.Tenant))
	if err != nil {
		return false
	}
	g.storeTaskState(ctx, p.Tenant, t, state)
	return true
}

// ListTasks lists the tasks of a principal in a catalog scope, as they were last seen, one
// page at a time. next is the cursor of the following page, or "". A list is not a call:
// it is not recorded.
func (g *Guard) ListTasks(ctx context.Context, p *junctor.Principal, v catalog.Scope, cursor string) (tasks [][]byte, next string, err error) {
	if !p.Has(junctor.ScopeToolsCall) {
		return nil, "", errMissingScope(junctor.ScopeToolsCall)
	}
	if g.options.Tasks == nil {
		return nil, "", nil
	}
	rows, err := g.options.Tasks.TasksOf(ctx, p, cursor, g.options.Now(), taskPageSize)
	if err != nil {
		return nil, "", err
	}
	if len(rows) == taskPageSize {
		next = rows[len(rows)-1].ID
	}
	sh := g.options.Catalog.Snapshot().For(p.Tenant)
	for i := range rows {
		t := &rows[i]
		if v.Server != "" && v.Server != t.Server {
			continue
		}
		if _, err := sh.Tool(p, catalog.Scope{Server: t.Server, Audience: v.Audience}, t.Tool, t.Version); err != nil {
			continue
		}
		state := t.State
		if t.Own == "" {
			body, err := g.options.Sealer.Open(purposeTask, string(t.State))
			if err != nil {
				continue
			}
			state = taskSummary(body)
		}
		tasks = append(tasks, state)
	}
	return tasks, next, nil
}

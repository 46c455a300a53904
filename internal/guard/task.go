package guard

import (
	"context"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Tasks keeps which task is whose, under ids of our own: no client learns a
// server's, and none can use another's.
type Tasks interface {
	AddTask(ctx context.Context, tenant junctor.TenantID, t junctor.Task) error
	// Task gives not_found where there is none.
	Task(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Task, error)
	SetTask(ctx context.Context, tenant junctor.TenantID, id string, state []byte, expires time.Time) error
	TasksOf(ctx context.Context, p *junctor.Principal, after string, now time.Time, most int) ([]junctor.Task, error)
}

const (
	purposeTask = "task"
	// A task is known for as long as its server says it keeps it and a little
	// more; where that is not said, or for ever, for this long from the last look.
	maxTaskLife  = 7 * 24 * time.Hour
	taskGrace    = 10 * time.Minute
	taskPageSize = 100
)

// isTaskKind says whether a kind of operation is on a task.
func isTaskKind(k junctor.Kind) bool {
	return k == junctor.KindTask || k == junctor.KindTaskUpdate || k == junctor.KindTaskCancel
}

// errUnknownTask is the one answer to every task that is not the caller's to use.
func errUnknownTask() error {
	return junctor.Errorf(junctor.CodeNotFound, "unknown task: it was never yours, has expired, or its server or tool is no longer there")
}

// findTask finds the task that an operation names, and its tool as the principal
// sees it now.
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
	case t.Issuer != op.Principal.Issuer || t.Subject != op.Principal.Subject, !g.options.Now().Before(t.Expires), op.View.Server != "" && op.View.Server != t.Server:
		return catalog.Item{}, nil, errUnknownTask()
	}
	item, err := sh.Tool(op.Principal, catalog.View{Server: t.Server, Audience: op.View.Audience}, t.Tool, t.Version)
	if err != nil {
		return catalog.Item{}, nil, errUnknownTask()
	}
	return item, &t, nil
}

// checkTaskSupport refuses a call that is to become a task where the tool makes none.
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

// adoptTask makes the call's id that of the task that it became, under which only its
// caller finds it. Where a caller wants a task and the server was done at once, that is
// kept as one that has ended.
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

// endedTaskLife is how long a task that ended at once is kept.
const endedTaskLife = time.Hour

func endedTaskBody(id string, now time.Time, result []byte) []byte {
	at := wire.AppendString(nil, now.UTC().Format(time.RFC3339Nano))
	return wire.AppendObject(nil, nil, nil,
		wire.Member{Key: "taskId", Value: wire.AppendString(nil, id)}, wire.Member{Key: "status", Value: []byte(`"` + wire.TaskCompleted + `"`)},
		wire.Member{Key: "createdAt", Value: at}, wire.Member{Key: "lastUpdatedAt", Value: at},
		wire.Member{Key: "ttlMs", Value: strconv.AppendInt(nil, endedTaskLife.Milliseconds(), 10)}, wire.Member{Key: "result", Value: result})
}

func replaceTaskID(body []byte, id string) []byte {
	return wire.AppendObject(nil, body, nil, wire.Member{Key: "taskId", Value: wire.AppendString(nil, id)})
}

// taskSummary is a task without what it led to: what lists show, and rows keep.
func taskSummary(body []byte) []byte {
	return wire.AppendObject(nil, body, []string{"result", "error", "inputRequests", "requestState", "_meta"})
}

// taskExpiry is until when a task is known.
func (g *Guard) taskExpiry(body []byte) time.Time {
	life := maxTaskLife
	if ms, ok := wire.Int(wire.Get(body, "ttlMs")); ok && ms >= 0 {
		life = min(life, time.Duration(min(ms, maxTaskLife.Milliseconds()))*time.Millisecond)
	}
	return g.options.Now().Add(life + taskGrace)
}

// answerEndedTask answers for a task that ended before it was one.
func (g *Guard) answerEndedTask(op *Op, t *junctor.Task) (catalog.Result, error) {
	if op.Kind != junctor.KindTask {
		return catalog.Result{Body: []byte(`{}`)}, nil // it has ended: there is nothing to do
	}
	body, err := g.options.Sealer.Open(purposeTask, string(t.State))
	if err != nil {
		return catalog.Result{}, errUnknownTask()
	}
	return catalog.Result{Body: body}, nil
}

// updateTask puts our id into what a server says of a task, and keeps its state where
// that has changed.
func (g *Guard) updateTask(ctx context.Context, op *Op, t *junctor.Task, tool *catalog.ToolVersion, res *catalog.Result) {
	if t.Own == "" || wire.Get(res.Body, "taskId") == nil {
		return
	}
	res.Body = replaceTaskID(res.Body, t.ID)
	if result := wire.Get(res.Body, "result"); result != nil && (op.View.Server == "" || op.View.Older) {
		shown := result
		if op.View.Older && tool != nil {
			shown = tool.ForOlder(shown)
		}
		if op.View.Server == "" {
			shown = catalog.ExposeURIs(t.Server, junctor.KindTool, shown)
		}
		res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "result", Value: shown})
	}
	g.storeTaskState(ctx, op.Principal.Tenant, t, taskSummary(res.Body))
}

// storeTaskState stores how a task is doing where that has changed.
func (g *Guard) storeTaskState(ctx context.Context, tenant junctor.TenantID, t *junctor.Task, state []byte) {
	if string(wire.Get(state, "status")) == string(wire.Get(t.State, "status")) && string(wire.Get(state, "ttlMs")) == string(wire.Get(t.State, "ttlMs")) {
		return
	}
	if err := g.options.Tasks.SetTask(context.WithoutCancel(ctx), tenant, t.ID, state, g.taskExpiry(state)); err != nil {
		g.options.Logger.Warn("the state of a task could not be stored; lists show the former", "server", t.Server, "error", err)
	}
}

// HearsOfTask says whether a principal is to hear how a task is doing: whether it
// could ask. The state is that of the task from now on. Hearing is no call: it is
// not recorded.
func (g *Guard) HearsOfTask(ctx context.Context, p *junctor.Principal, v catalog.View, id string, state []byte) bool {
	if !p.Has(junctor.ScopeToolsCall) {
		return false
	}
	_, t, err := g.findTask(ctx, &Op{Principal: p, View: v, Name: id}, g.options.Catalog.Snapshot().For(p.Tenant))
	if err != nil {
		return false
	}
	g.storeTaskState(ctx, p.Tenant, t, state)
	return true
}

// Tasks lists the tasks of a principal in a view, as they were last seen, a page
// at a time; next is the cursor of the following page, "" where there is none.
// Looking is no call: it is not recorded.
func (g *Guard) Tasks(ctx context.Context, p *junctor.Principal, v catalog.View, cursor string) (tasks [][]byte, next string, err error) {
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
		if _, err := sh.Tool(p, catalog.View{Server: t.Server, Audience: v.Audience}, t.Tool, t.Version); err != nil {
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

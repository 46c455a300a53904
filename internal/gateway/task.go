package gateway

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Tasks of both eras. The pipeline knows only the modern form: tasks/get returns the
// whole state, and tasks/update provides input. A legacy client waits for the result
// with tasks/result, and receives requests for input on that stream meanwhile.

// maxTaskWait bounds one wait for the end of a task.
const maxTaskWait = time.Hour

// acceptsTasks reports whether a modern client declares the tasks extension.
func acceptsTasks(capabilities []byte) bool {
	return len(capabilities) > 2 && wire.Get(wire.Get(capabilities, "extensions"), wire.ExtensionTasks) != nil
}

// errTasksNotDeclared is the error for a client that uses tasks without declaring the
// extension. to completes the message.
func errTasksNotDeclared(to string) error {
	return &wire.Error{
		Code: wire.CodeMissingCapability, Message: "declare the extension " + wire.ExtensionTasks + " to " + to,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + wire.ExtensionTasks + `":{}}}}`),
	}
}

// serversMakeTasks reports whether any server of the catalog scope makes tasks.
func (x *exchange) serversMakeTasks() bool {
	return x.gateway.options.Catalog.Snapshot().For(x.principal.Tenant).MakesTasks(x.principal, x.view)
}

// runModernTask answers the methods of the modern tasks extension.
func (x *exchange) runModernTask(ctx context.Context, kind junctor.Kind) (outcome, error) {
	if !x.caller.Tasks {
		return outcome{}, errTasksNotDeclared("use tasks")
	}
	if x.message.InvalidMember != "" || !x.message.HasTaskID {
		return outcome{}, errMissingParam("taskId")
	}
	if kind == junctor.KindTaskUpdate && x.message.InputResponses == nil {
		return outcome{}, errMissingParam("inputResponses")
	}
	o, err := x.runOperation(ctx, &guard.Op{Kind: kind, Name: x.message.TaskID})
	if err == nil && kind != junctor.KindTask {
		o.body = []byte(`{}`) // the extension defines an empty acknowledgement
	}
	return o, err
}

// runLegacyTask answers the methods of tasks of 2025-11-25.
func (x *exchange) runLegacyTask(ctx context.Context) (outcome, error) {
	if x.session.version < wire.V20251125 {
		return outcome{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "tasks require the protocol version " + wire.V20251125}
	}
	if x.message.Method == wire.MethodTasksList {
		return x.listTasks(ctx)
	}
	if x.message.InvalidMember != "" || !x.message.HasTaskID {
		return outcome{}, errMissingParam("taskId")
	}
	switch x.message.Method {
	case wire.MethodTasksResult:
		return x.awaitTaskResult(ctx)
	case wire.MethodTasksCancel:
		return x.cancelTask(ctx)
	}
	task, err := x.runTaskOperation(ctx, junctor.KindTask, nil, false)
	if err != nil {
		return outcome{}, err
	}
	return outcome{body: toLegacyTask(task)}, nil
}

// runTaskOperation runs one operation on the task that the request names. responses are
// those of an update. With wait it returns when the task has ended or asks for input.
func (x *exchange) runTaskOperation(ctx context.Context, kind junctor.Kind, responses []byte, wait bool) ([]byte, error) {
	op := &guard.Op{
		Principal: x.principal, EntryPoint: x.entryPoint, Address: x.address, Scope: x.view, Kind: kind, Name: x.message.TaskID, Params: x.message.Params, Meta: x.message.Meta,
		InputResponses: responses, Caller: x.caller, Wait: wait,
	}
	op.Caller.Tasks = true
	if wait {
		op.Timeout = maxTaskWait
	}
	res, err := x.gateway.options.Pipeline.Do(ctx, op, x)
	return res.Body, err
}

// toLegacyTask returns a task in the form of 2025-11-25.
func toLegacyTask(task []byte) []byte {
	ttl := wire.Get(task, "ttlMs")
	if ttl == nil {
		ttl = []byte("null")
	}
	add := []wire.Member{{Key: "ttl", Value: ttl}}
	if poll := wire.Get(task, "pollIntervalMs"); poll != nil {
		add = append(add, wire.Member{Key: "pollInterval", Value: poll})
	}
	return wire.AppendObject(nil, task, []string{"ttlMs", "pollIntervalMs", "result", "error", "inputRequests", "_meta"}, add...)
}

// toCreateTaskResult returns the result of a legacy call that became a task.
func toCreateTaskResult(task []byte) []byte {
	add := []wire.Member{{Key: "task", Value: toLegacyTask(task)}}
	if meta := wire.Get(task, "_meta"); meta != nil {
		add = append(add, wire.Member{Key: "_meta", Value: meta})
	}
	return wire.AppendObject(nil, nil, nil, add...)
}

// taskStatus returns the status of a task.
func taskStatus(task []byte) string {
	status, _ := wire.String(wire.Get(task, "status"))
	return status
}

// awaitTaskResult answers tasks/result: it waits until a task has ended, and returns the
// result that its call would have had. If the task asks for input meanwhile, the client
// is asked.
func (x *exchange) awaitTaskResult(ctx context.Context) (outcome, error) {
	for range maxTaskRounds {
		task, err := x.runTaskOperation(ctx, junctor.KindTask, nil, true)
		if err != nil {
			return outcome{}, err
		}
		switch taskStatus(task) {
		// The result of the call, with the id of its task as this era requires.
		case wire.TaskCompleted:
			related := append(wire.AppendString([]byte(`{"taskId":`), x.message.TaskID), '}')
			result := wire.Get(task, "result")
			meta := wire.AppendObject(nil, wire.Get(result, "_meta"), nil, wire.Member{Key: wire.MetaRelatedTask, Value: related})
			return outcome{body: wire.AppendObject(nil, result, []string{"resultType"}, wire.Member{Key: "_meta", Value: meta})}, nil
		case wire.TaskFailed:
			if e, ok := wire.ParseError(wire.Get(task, "error")); ok {
				return outcome{}, e
			}
			return outcome{}, junctor.Errorf(junctor.CodeUpstream, "the task failed, and its server gave no reason")
		case wire.TaskCancelled:
			return outcome{}, junctor.Errorf(junctor.CodeCanceled, "the task was cancelled")
		case wire.TaskInputRequired:
			requests := wire.Get(task, "inputRequests")
			if len(requests) <= 2 { // {}: there is nothing to ask, so wait again
				continue
			}
			responses, err := x.requestInputInTime(ctx, addRelatedTask(requests, x.message.TaskID))
			if err != nil {
				return outcome{}, err
			}
			if _, err := x.runTaskOperation(ctx, junctor.KindTaskUpdate, responses, false); err != nil {
				return outcome{}, err
			}
		}
	}
	return outcome{}, junctor.Errorf(junctor.CodeUpstream, "the task requested input too often")
}

// maxTaskRounds bounds the waits of one tasks/result.
const maxTaskRounds = 100

// addRelatedTask adds the id of the task to the _meta of its requests to the client.
func addRelatedTask(requests []byte, id string) []byte {
	related := append(wire.AppendString([]byte(`{"taskId":`), id), '}')
	out := []byte{'{'}
	for key, request := range wire.Members(requests) {
		params := wire.Get(request, "params")
		meta := wire.AppendObject(nil, wire.Get(params, "_meta"), nil, wire.Member{Key: wire.MetaRelatedTask, Value: related})
		params = wire.AppendObject(nil, params, nil, wire.Member{Key: "_meta", Value: meta})
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), key...), `":`...)
		out = wire.AppendObject(out, request, nil, wire.Member{Key: "params", Value: params})
	}
	return append(out, '}')
}

// cancelTask cancels a task and returns its new state. In this era, cancelling a task
// that has ended is an error.
func (x *exchange) cancelTask(ctx context.Context) (outcome, error) {
	task, err := x.runTaskOperation(ctx, junctor.KindTask, nil, false)
	if err != nil {
		return outcome{}, err
	}
	switch status := taskStatus(task); status {
	case wire.TaskCompleted, wire.TaskFailed, wire.TaskCancelled:
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "the task has ended already: it is " + status}
	}
	cancelled, err := x.runTaskOperation(ctx, junctor.KindTaskCancel, nil, false)
	if err != nil {
		return outcome{}, err
	}
	// A server may only acknowledge the cancellation. This era requires the task.
	if wire.Get(cancelled, "taskId") == nil {
		cancelled = wire.AppendObject(nil, task, nil, wire.Member{Key: "status", Value: []byte(`"` + wire.TaskCancelled + `"`)})
	}
	return outcome{body: toLegacyTask(cancelled)}, nil
}

// listTasks answers tasks/list.
func (x *exchange) listTasks(ctx context.Context) (outcome, error) {
	tasks, next, err := x.gateway.options.Pipeline.ListTasks(ctx, x.principal, x.view, x.message.Cursor)
	if err != nil {
		return outcome{}, err
	}
	body := []byte(`{"tasks":[`)
	for i, task := range tasks {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, toLegacyTask(task)...)
	}
	body = append(body, ']')
	if next != "" {
		body = wire.AppendString(append(body, `,"nextCursor":`...), next)
	}
	return outcome{body: append(body, '}')}, nil
}

// taskCaller returns the caller of a legacy tool call that must become a task.
func (x *exchange) taskCaller() catalog.Caller {
	c := x.caller
	if x.session != nil && !x.modern && x.message.Task != nil && x.session.version >= wire.V20251125 {
		c.Tasks, c.TaskOnly = true, true
	}
	return c
}

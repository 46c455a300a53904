package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Tasks are tool calls that continue after their answer. A legacy server makes one when
// it is asked to. It answers tasks/get with the state alone, and tasks/result once the
// task has ended; meanwhile it may send requests to its client. A modern server makes
// tasks as it likes for callers that declare that they take them, and tasks/get gives
// everything. Inside Junctor only the modern form exists.

// Bounds of the interval in which a modern task is polled.
const (
	minPollInterval     = 100 * time.Millisecond
	maxPollInterval     = 5 * time.Second
	defaultPollInterval = time.Second
	// defaultTaskLife is how long a task without a lifetime keeps its session open.
	defaultTaskLife = time.Hour
	maxOpenedTasks  = 4096 // whose sessions are remembered
	// questionsWait is how long a call waits for the questions of a task that needs
	// input.
	questionsWait = time.Second
)

// openedTask is a task that was made through this Server. It keeps its session open, and
// knows to whom changes are published. Server.mu guards the fields from expiresAt on.
type openedTask struct {
	id            string // as its principal knows it
	serverTaskID  string // as the server knows it, within the session
	principalID   string // of its owner
	clientSession string // in which it was made
	session       *session
	access        linkAccess
	expiresAt     time.Time
	lastState     string // that was published
	hasEnded      bool   // lastState is its end
	endSeen       bool   // somebody has seen its end: its session may be closed
	hasStream     bool   // a stream of its own is open
}

// supportsTasks reports whether the server behind a link may answer with a task.
func supportsTasks(l link) bool {
	caps := l.serverCapabilities()
	if l.isModern() {
		return wire.Get(wire.Get(caps, "extensions"), wire.ExtensionTasks) != nil
	}
	return wire.Get(wire.Get(wire.Get(wire.Get(caps, "tasks"), "requests"), "tools"), "call") != nil
}

// taskMember gives params.task if the call of a modern caller to a legacy server should
// become a task; nil otherwise. A caller that takes tasks gets one from every tool that
// can make one, since such a tool may take long. The error is for a tool that only runs
// as a task.
func (s *Server) taskMember(req *catalog.Request, l link) ([]wire.Member, error) {
	if req.Kind != junctor.KindTool || req.Caller.TaskOnly || l.isModern() {
		return nil, nil
	}
	support := s.knownTools()[req.Name].taskSupport
	switch {
	case support == "" || !supportsTasks(l):
		return nil, nil
	case req.Caller.Tasks:
		return []wire.Member{{Key: "task", Value: []byte(`{}`)}}, nil
	case support == "required" && wire.IsModern(req.Caller.Protocol):
		return nil, &wire.Error{
			Code: wire.CodeMissingCapability, Message: "this tool runs only as a task: declare the extension " + wire.ExtensionTasks,
			Data: []byte(`{"requiredCapabilities":{"extensions":{"` + wire.ExtensionTasks + `":{}}}}`),
		}
	}
	return nil, nil
}

// taskFromResult gives the task that a tool call was answered with, in the modern form;
// nil if it is none.
func taskFromResult(req *catalog.Request, body []byte, modern bool) []byte {
	if req.Kind != junctor.KindTool || !req.Caller.Tasks {
		return nil
	}
	if modern {
		if kind, _ := wire.String(wire.Get(body, "resultType")); kind != wire.ResultTask {
			return nil
		}
		return wire.AppendObject(nil, body, []string{"resultType"})
	}
	task := wire.Get(body, "task")
	if wire.Get(task, "taskId") == nil {
		return nil
	}
	out := toModernTask(task)
	if meta := wire.Get(body, "_meta"); meta != nil {
		out = wire.AppendObject(nil, out, nil, wire.Member{Key: "_meta", Value: meta})
	}
	return out
}

// toModernTask gives a legacy task in the modern form.
func toModernTask(task []byte) []byte {
	ttl := wire.Get(task, "ttl")
	if ttl == nil {
		ttl = []byte("null")
	}
	add := []wire.Member{{Key: "ttlMs", Value: ttl}}
	if poll := wire.Get(task, "pollInterval"); poll != nil {
		add = append(add, wire.Member{Key: "pollIntervalMs", Value: poll})
	}
	return wire.AppendObject(nil, task, []string{"ttl", "pollInterval", "_meta"}, add...)
}

// taskStatus gives the status of a task.
func taskStatus(task []byte) string {
	status, _ := wire.String(wire.Get(task, "status"))
	return status
}

// isEndStatus reports whether a task with this status has ended.
func isEndStatus(status string) bool {
	return status == wire.TaskCompleted || status == wire.TaskFailed || status == wire.TaskCancelled
}

// rememberTask records the session of a task, which must not be closed for being idle
// while the server works on the task. It returns nil if the task has ended or too many
// are remembered.
func (s *Server) rememberTask(sess *session, a linkAccess, id string, task []byte) *openedTask {
	own, _ := wire.String(wire.Get(task, "taskId"))
	if own == "" || isEndStatus(taskStatus(task)) {
		return nil
	}
	a = a.copyForKeeping()
	t := &openedTask{id: id, serverTaskID: own, principalID: a.principalID, clientSession: a.clientSession, session: sess, access: a, expiresAt: s.opts.Now().Add(defaultTaskLife)}
	if ms, ok := wire.Int(wire.Get(task, "ttlMs")); ok && ms >= 0 {
		t.expiresAt = s.opts.Now().Add(time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.openedTasks[id]; known != nil {
		if known.session == sess {
			known.expiresAt = t.expiresAt
			return known
		}
		s.forgetTask(known) // its former session has ended
	}
	if len(s.openedTasks) >= maxOpenedTasks {
		for _, old := range s.openedTasks {
			if old.endSeen || !s.opts.Now().Before(old.expiresAt) {
				s.forgetTask(old)
			}
		}
	}
	if len(s.openedTasks) >= maxOpenedTasks {
		return nil
	}
	s.openedTasks[id] = t
	if sess.tasks == nil {
		sess.tasks = map[string]*openedTask{}
	}
	sess.tasks[own] = t
	return t
}

// recordTaskEnd records that a task has ended and that a caller knows it. Others who
// watch it are notified.
func (s *Server) recordTaskEnd(id string, task []byte) {
	s.mu.Lock()
	t := s.openedTasks[id]
	s.mu.Unlock()
	if t == nil {
		return
	}
	s.publishTaskState(t, task)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.hasEnded, t.endSeen = true, true
}

// forgetTask removes a task; mu is held.
func (s *Server) forgetTask(t *openedTask) {
	t.hasEnded = true
	if s.openedTasks[t.id] == t {
		delete(s.openedTasks, t.id)
	}
	if t.session.tasks[t.serverTaskID] == t {
		delete(t.session.tasks, t.serverTaskID)
	}
}

// hasOpenTasks reports whether a session has open tasks, and removes those whose lifetime
// is over; mu is held.
func (s *Server) hasOpenTasks(sess *session) bool {
	some := false
	for _, t := range sess.tasks {
		if !s.opts.Now().Before(t.expiresAt) {
			s.forgetTask(t)
		} else if !t.endSeen {
			some = true
		}
	}
	return some
}

// doTask runs an operation on a task: get, update or cancel. It uses the session on which
// the task was made, if that is known. It repeats the operation once if it cannot have
// run.
func (s *Server) doTask(ctx context.Context, req *catalog.Request) (catalog.Result, error) {
	a, err := s.resolveAccess(ctx, req.Principal, &req.Caller)
	if err != nil {
		return catalog.Result{}, err
	}
	s.mu.Lock()
	// With other credentials, the server decides whether the task may be seen.
	if t := s.openedTasks[req.Task]; t != nil && t.access.credentialsDigest == a.credentialsDigest {
		// The task lives on its own session, whatever the caller declares now.
		// Only what names the session is taken over: the headers stay those of this call.
		its := t.access
		if !t.session.removed {
			its = t.session.access // the session may have been handed over since
		}
		a.capabilities, a.holder, a.clientSession, a.singleClient = its.capabilities, its.holder, its.clientSession, its.singleClient
	}
	s.mu.Unlock()
	var body []byte
	for try := 1; ; try++ {
		var sess *session
		if sess, err = s.acquireSession(ctx, a); err != nil {
			return catalog.Result{}, err
		}
		t := taskOperation{server: s, session: sess, access: a, request: req}
		if sess.link.isModern() {
			body, err = t.doModern(ctx)
		} else {
			body, err = t.doLegacy(ctx)
		}
		if err == nil && req.Watch {
			s.watchTask(ctx, s.rememberTask(sess, a, req.Task, body))
		}
		s.releaseSession(sess)
		if err == nil || try > 1 || !cannotHaveRun(err) {
			break
		}
	}
	if err == nil {
		err = s.opts.checkTaskInputs(body)
	}
	if err != nil {
		return catalog.Result{}, s.opts.checkElicitationError(err)
	}
	if isEndStatus(taskStatus(body)) {
		s.recordTaskEnd(req.Task, body)
	}
	return catalog.Result{Body: body}, nil
}

// taskOperation is an operation on a task over one session.
type taskOperation struct {
	server  *Server
	session *session
	access  linkAccess
	request *catalog.Request
}

// sendTaskRequest sends one request about the task.
func (t *taskOperation) sendTaskRequest(ctx context.Context, method string) ([]byte, error) {
	l := t.session.link
	begun := time.Now()
	var out paramsBuilder
	out.writeParams(t.server, t.request, l.isModern(), 0)
	body, err := l.roundTrip(ctx, method, out.params, nil)
	t.server.recordOutcome(t.session, time.Since(begun), err)
	return body, err
}

// restartIdle says that the server has answered that it is at work on the task.
func (t *taskOperation) restartIdle() {
	if t.request.Idle != nil {
		t.request.Idle.Restart()
	}
}

// doModern runs the operation on a modern server. If the request says so, it polls until
// the task no longer works.
func (t *taskOperation) doModern(ctx context.Context) ([]byte, error) {
	switch t.request.Kind {
	case junctor.KindTaskUpdate:
		_, err := t.sendTaskRequest(ctx, wire.MethodTasksUpdate)
		return []byte(`{}`), err
	case junctor.KindTaskCancel:
		_, err := t.sendTaskRequest(ctx, wire.MethodTasksCancel)
		return []byte(`{}`), err
	default:
	}
	for {
		body, err := t.sendTaskRequest(ctx, wire.MethodTasksGet)
		if err != nil {
			return nil, err
		}
		t.restartIdle()
		if !t.request.Wait || taskStatus(body) != wire.TaskWorking {
			return wire.AppendObject(nil, body, []string{"resultType", "_meta"}), nil
		}
		every := defaultPollInterval
		if ms, ok := wire.Int(wire.Get(body, "pollIntervalMs")); ok {
			every = junctor.BoundDuration(float64(ms), time.Millisecond, maxPollInterval)
		}
		if err := waitContext(ctx, min(max(every, minPollInterval), maxPollInterval)); err != nil {
			return nil, err
		}
	}
}

// doLegacy runs the operation on a legacy server and gives the modern form of its result.
// Updates go to the open request for the task's result, whose questions they answer.
func (t *taskOperation) doLegacy(ctx context.Context) ([]byte, error) {
	switch t.request.Kind {
	case junctor.KindTaskUpdate:
		t.server.mu.Lock()
		c := t.server.taskCalls[t.request.Task]
		t.server.mu.Unlock()
		if c != nil {
			c.answerQuestions(t.request.Input.Responses)
		}
		return []byte(`{}`), nil // answers to nothing are ignored
	case junctor.KindTaskCancel:
		return t.cancelLegacy(ctx)
	default:
	}
	task, err := t.readState(ctx)
	if err != nil {
		return nil, err
	}
	switch status := taskStatus(task); {
	case isEndStatus(status):
		result, err := t.sendTaskRequest(ctx, wire.MethodTasksResult)
		return t.addOutcome(ctx, task, result, err)
	case t.request.Wait || status == wire.TaskInputRequired:
		return t.awaitTask(ctx, task)
	}
	return task, nil
}

// readState reads the state of a legacy task, in the modern form.
func (t *taskOperation) readState(ctx context.Context) ([]byte, error) {
	body, err := t.sendTaskRequest(ctx, wire.MethodTasksGet)
	if err != nil {
		return nil, err
	}
	return toModernTask(body), nil
}

// addOutcome adds the result or error with which a legacy task ended.
func (t *taskOperation) addOutcome(ctx context.Context, task, result []byte, err error) ([]byte, error) {
	own, refused := errors.AsType[*wire.Error](err)
	switch status := taskStatus(task); {
	case status == wire.TaskCancelled:
		return task, nil
	case refused && status == wire.TaskFailed:
		raw := wire.AppendError(nil, nil, t.server.scrubError(own))
		return wire.AppendObject(nil, task, nil, wire.Member{Key: "error", Value: wire.Get(raw, "error")}), nil
	case err != nil:
		return nil, contextError(ctx, err)
	}
	result = stripMeta(result)
	// A tool that ran and failed has a result. Only a protocol error makes a task fail.
	return wire.AppendObject(nil, task, nil,
		wire.Member{Key: "status", Value: []byte(`"` + wire.TaskCompleted + `"`)}, wire.Member{Key: "result", Value: result}), nil
}

// cancelLegacy cancels a legacy task. A task that has already ended is no error.
func (t *taskOperation) cancelLegacy(ctx context.Context) ([]byte, error) {
	body, err := t.sendTaskRequest(ctx, wire.MethodTasksCancel)
	if err == nil {
		return toModernTask(body), nil
	}
	if own, refused := errors.AsType[*wire.Error](err); refused && own.Code == wire.CodeInvalidParams {
		if task, getErr := t.readState(ctx); getErr == nil && isEndStatus(taskStatus(task)) {
			return []byte(`{}`), nil // nothing is left to cancel
		}
	}
	return nil, err
}

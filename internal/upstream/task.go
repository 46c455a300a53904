package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Tasks are calls of tools that go on behind their answers. A legacy server
// makes one when it is asked to, answers tasks/get with its state alone and
// tasks/result once it has ended; it asks its client by requests meanwhile. A
// modern one makes them as it likes for callers who declare that they take them,
// and tasks/get says everything. Inside only the modern form exists.

const (
	firstPoll = 100 * time.Millisecond
	mostPoll  = 5 * time.Second
	usualPoll = time.Second
	// openTask is how long a task that says nothing of its life counts as one
	// that its session is needed for.
	openTask = time.Hour
	maxTasks = 4096 // whose sessions are remembered
	// questionsIn is how long the questions of a task are waited for that says
	// that it has some.
	questionsIn = time.Second
)

// openedTask is a task that was made here.
type openedTask struct {
	id      string // as its principal knows it
	own     string // as the server knows it, within the session
	party   string // whose it is, a Principal's ID
	client  string // in which session of its client it was made
	sess    *session
	access  linkAccess
	until   time.Time
	said    string // its state as it was told last
	over    bool   // that was its end
	seen    bool   // somebody has seen its end: its session may go
	watched bool   // it has a stream of its own
}

// makesTasks says whether the server behind a link may answer with a task.
func makesTasks(l link) bool {
	caps := l.serverCapabilities()
	if l.isModern() {
		return wire.Get(wire.Get(caps, "extensions"), wire.ExtensionTasks) != nil
	}
	return wire.Get(wire.Get(wire.Get(wire.Get(caps, "tasks"), "requests"), "tools"), "call") != nil
}

// taskMember is params.task where a modern caller's call to a legacy server is
// to become a task: whoever takes tasks is given one by every tool that can make
// one, since such a tool may take long. nil is none.
func (s *Server) taskMember(req *catalog.Request, l link) ([]wire.Member, error) {
	if req.Kind != junctor.KindTool || req.Caller.TaskOnly || l.isModern() {
		return nil, nil
	}
	support := s.knownTools()[req.Name].taskSupport
	switch {
	case support == "" || !makesTasks(l):
		return nil, nil
	case req.Caller.Tasks:
		return []wire.Member{{Key: "task", Value: []byte(`{}`)}}, nil
	case support == "required" && wire.IsModern(req.Caller.Protocol):
		return nil, &wire.Error{
			Code: wire.CodeMissingCapability, Message: "this tool runs as a task alone: declare the extension " + wire.ExtensionTasks,
			Data: []byte(`{"requiredCapabilities":{"extensions":{"` + wire.ExtensionTasks + `":{}}}}`),
		}
	}
	return nil, nil
}

// madeTask gives the task that an answer to a tool call is, in the modern form;
// nil where it is none.
func madeTask(req *catalog.Request, body []byte, modern bool) []byte {
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
	out := modernTask(task)
	if meta := wire.Get(body, "_meta"); meta != nil {
		out = wire.AppendObject(nil, out, nil, wire.Member{Key: "_meta", Value: meta})
	}
	return out
}

// modernTask is a legacy task in the modern form.
func modernTask(task []byte) []byte {
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

func statusOfTask(task []byte) string {
	status, _ := wire.String(wire.Get(task, "status"))
	return status
}

func ended(status string) bool {
	return status == wire.TaskCompleted || status == wire.TaskFailed || status == wire.TaskCancelled
}

// opened remembers on which session a task is, which must not be closed for
// being idle while the server works on it, and listens for its changes. nil is a
// task that is not remembered.
func (s *Server) opened(sess *session, a linkAccess, id string, task []byte) *openedTask {
	own, _ := wire.String(wire.Get(task, "taskId"))
	if own == "" || ended(statusOfTask(task)) {
		return nil
	}
	a = a.copyForKeeping()
	t := &openedTask{id: id, own: own, party: a.principalID, client: a.clientSession, sess: sess, access: a, until: s.opts.Now().Add(openTask)}
	if ms, ok := wire.Int(wire.Get(task, "ttlMs")); ok && ms >= 0 {
		t.until = s.opts.Now().Add(time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.openedTasks[id]; known != nil {
		if known.sess == sess {
			known.until = t.until
			return known
		}
		s.forgetTask(known) // its session is over
	}
	if len(s.openedTasks) >= maxTasks {
		for _, old := range s.openedTasks {
			if old.seen || !s.opts.Now().Before(old.until) {
				s.forgetTask(old)
			}
		}
	}
	if len(s.openedTasks) >= maxTasks {
		return nil
	}
	s.openedTasks[id] = t
	if sess.tasks == nil {
		sess.tasks = map[string]*openedTask{}
	}
	sess.tasks[own] = t
	return t
}

// closedTask notes that a task has ended, and that somebody knows: others who
// listen are told.
func (s *Server) closedTask(id string, task []byte) {
	s.mu.Lock()
	t := s.openedTasks[id]
	s.mu.Unlock()
	if t == nil {
		return
	}
	s.taskIs(t, task)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.over, t.seen = true, true
}

// forgetTask lets go of a task; mu is held.
func (s *Server) forgetTask(t *openedTask) {
	t.over = true
	if s.openedTasks[t.id] == t {
		delete(s.openedTasks, t.id)
	}
	if t.sess.tasks[t.own] == t {
		delete(t.sess.tasks, t.own)
	}
}

// works says whether a session has tasks under way; mu is held.
func (s *Server) works(sess *session) bool {
	some := false
	for _, t := range sess.tasks {
		if !s.opts.Now().Before(t.until) {
			s.forgetTask(t)
		} else if !t.seen {
			some = true
		}
	}
	return some
}

// task does an operation on a task.
func (s *Server) task(ctx context.Context, req *catalog.Request) (catalog.Result, error) {
	a, err := s.resolveAccess(ctx, req.Principal, &req.Caller)
	if err != nil {
		return catalog.Result{}, err
	}
	s.mu.Lock()
	if t := s.openedTasks[req.Task]; t != nil && t.access.credentialsDigest == a.credentialsDigest {
		// On its own session, whatever the caller declares now.
		its := t.access
		if !t.sess.removed {
			its = t.sess.access // it may have become somebody's own since
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
		t := taskOn{s: s, sess: sess, a: a, req: req}
		if sess.link.isModern() {
			body, err = t.modern(ctx)
		} else {
			body, err = t.legacy(ctx)
		}
		if err == nil && req.Watch {
			s.hearOfTask(ctx, s.opened(sess, a, req.Task, body))
		}
		s.releaseSession(sess)
		if err == nil || try > 1 || !cannotHaveRun(err) {
			break
		}
	}
	if err == nil {
		err = s.opts.checkTask(body)
	}
	if err != nil {
		return catalog.Result{}, s.opts.checkError(err)
	}
	if ended(statusOfTask(body)) {
		s.closedTask(req.Task, body)
	}
	return catalog.Result{Body: body}, nil
}

// taskOn is an operation on a task over one session.
type taskOn struct {
	s    *Server
	sess *session
	a    linkAccess
	req  *catalog.Request
}

// ask sends one request about the task.
func (t *taskOn) ask(ctx context.Context, method string) ([]byte, error) {
	l := t.sess.link
	begun := time.Now()
	var out paramsBuilder
	out.writeParams(t.s, t.req, l.isModern(), "")
	body, err := l.roundTrip(ctx, method, out.params, nil)
	t.s.recordOutcome(t.sess, time.Since(begun), err)
	return body, err
}

func (t *taskOn) modern(ctx context.Context) ([]byte, error) {
	switch t.req.Kind {
	case junctor.KindTaskUpdate:
		_, err := t.ask(ctx, wire.MethodTasksUpdate)
		return []byte(`{}`), err
	case junctor.KindTaskCancel:
		_, err := t.ask(ctx, wire.MethodTasksCancel)
		return []byte(`{}`), err
	default:
	}
	for {
		body, err := t.ask(ctx, wire.MethodTasksGet)
		if err != nil {
			return nil, err
		}
		if !t.req.Wait || statusOfTask(body) != wire.TaskWorking {
			return wire.AppendObject(nil, body, []string{"resultType", "_meta"}), nil
		}
		every := usualPoll
		if ms, ok := wire.Int(wire.Get(body, "pollIntervalMs")); ok {
			every = junctor.BoundDuration(float64(ms), time.Millisecond, mostPoll)
		}
		if err := waitContext(ctx, min(max(every, firstPoll), mostPoll)); err != nil {
			return nil, err
		}
	}
}

func (t *taskOn) legacy(ctx context.Context) ([]byte, error) {
	switch t.req.Kind {
	case junctor.KindTaskUpdate:
		t.s.mu.Lock()
		c := t.s.taskCalls[t.req.Task]
		t.s.mu.Unlock()
		if c != nil {
			c.answerQuestions(t.req.Input.Responses)
		}
		return []byte(`{}`), nil // what nobody asked for is ignored
	case junctor.KindTaskCancel:
		return t.cancelLegacy(ctx)
	default:
	}
	task, err := t.state(ctx)
	if err != nil {
		return nil, err
	}
	switch status := statusOfTask(task); {
	case ended(status):
		result, err := t.ask(ctx, wire.MethodTasksResult)
		return t.inline(ctx, task, result, err)
	case t.req.Wait || status == wire.TaskInputRequired:
		return t.await(ctx, task)
	}
	return task, nil
}

func (t *taskOn) state(ctx context.Context) ([]byte, error) {
	body, err := t.ask(ctx, wire.MethodTasksGet)
	if err != nil {
		return nil, err
	}
	return modernTask(body), nil
}

// inline puts how a task ended into it.
func (t *taskOn) inline(ctx context.Context, task, result []byte, err error) ([]byte, error) {
	own, refused := errors.AsType[*wire.Error](err)
	switch status := statusOfTask(task); {
	case status == wire.TaskCancelled:
		return task, nil
	case refused && status == wire.TaskFailed:
		raw := wire.AppendError(nil, nil, t.s.scrubError(own))
		return wire.AppendObject(nil, task, nil, wire.Member{Key: "error", Value: wire.Get(raw, "error")}), nil
	case err != nil:
		return nil, contextError(ctx, err)
	}
	if meta := wire.Get(result, "_meta"); meta != nil {
		if kept := append(appendStripped(nil, meta), '}'); len(kept) > 2 {
			result = wire.AppendObject(nil, result, nil, wire.Member{Key: "_meta", Value: kept})
		} else {
			result = wire.AppendObject(nil, result, []string{"_meta"})
		}
	}
	// A tool that ran and failed has a result: only what ended in an error of the
	// protocol has failed.
	return wire.AppendObject(nil, task, nil,
		wire.Member{Key: "status", Value: []byte(`"` + wire.TaskCompleted + `"`)}, wire.Member{Key: "result", Value: result}), nil
}

func (t *taskOn) cancelLegacy(ctx context.Context) ([]byte, error) {
	body, err := t.ask(ctx, wire.MethodTasksCancel)
	if err == nil {
		return modernTask(body), nil
	}
	if own, refused := errors.AsType[*wire.Error](err); refused && own.Code == wire.CodeInvalidParams {
		if task, getErr := t.state(ctx); getErr == nil && ended(statusOfTask(task)) {
			return []byte(`{}`), nil // there is nothing left to cancel
		}
	}
	return nil, err
}

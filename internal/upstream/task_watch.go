package upstream

import (
	"context"
	"errors"
	"slices"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Servers publish the states of their tasks. A legacy one does so on the stream of the
// session where the task was made. A modern one does so on request: each task gets a
// stream of its own, since the stream of the listing link must not restart whenever a
// task begins. In both eras clients must not rely on these notifications, so those above
// the bounds are dropped.

const (
	maxTaskStreams = 64       // of one server
	maxTaskState   = 64 << 10 // bytes of a state that is published
)

// watchTask listens for changes of a task. ctx is that of its caller. t may be nil.
func (s *Server) watchTask(ctx context.Context, t *openedTask) {
	switch {
	case t == nil:
	case t.session.link.isModern():
		s.startTaskStream(t) //nolint:contextcheck // the stream outlives its caller
	default:
		if shared, err := s.isListingLink(ctx, &t.access); err == nil && !shared {
			s.listenOnSession(t.session)
		}
	}
}

// startTaskStream opens a stream for a modern task, until the task ends. It does nothing
// if there is one, or if there are too many.
func (s *Server) startTaskStream(t *openedTask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.hasStream || t.hasEnded || s.taskStreams >= maxTaskStreams {
		return
	}
	if t.hasStream = s.background.start(func() { s.keepTaskStream(t) }); t.hasStream {
		s.taskStreams++
	}
}

// keepTaskStream keeps the stream of a task open. It gives up after maxResumes failures,
// or if the server has no streams.
func (s *Server) keepTaskStream(t *openedTask) {
	s.mu.Lock()
	expiresAt := t.expiresAt // rememberTask extends it
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, expiresAt.Sub(s.opts.Now()))
	defer cancel()
	ids := append(wire.AppendString([]byte{'['}, t.serverTaskID), ']')
	params := s.opts.paramsWith(gatewayTaskCapabilities,
		wire.Member{Key: "notifications", Value: wire.AppendObject(nil, nil, nil, wire.Member{Key: "taskIds", Value: ids})})
	for failures := range maxResumes {
		err := t.session.link.listen(ctx, params, &taskListener{ctx: ctx, server: s, task: t, stopStream: cancel})
		if errors.Is(err, errNoStream) || ctx.Err() != nil || s.isRemoved(t.session) || waitContext(ctx, addJitter(backoffDelay(firstFollowDelay, maxFollowDelay, failures))) != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.hasStream = false
	s.taskStreams--
}

// taskListener is the message handler of a task's stream.
type taskListener struct {
	nopHandler
	ctx        context.Context //nolint:containedctx // it is the context of the stream
	server     *Server
	task       *openedTask
	stopStream func()
}

// handleNotification implements messageHandler. It ends the stream when the task has
// ended or the server does not grant the subscription.
func (l *taskListener) handleNotification(method string, params []byte) {
	switch method {
	case wire.NotificationTasks:
		if l.server.handleTaskNote(l.task.session, params); l.server.hasTaskEnded(l.task) {
			l.stopStream()
		}
	case wire.NotificationSubscriptionsAcknowledged:
		granted := slices.Collect(wire.Elements(wire.Get(wire.Get(params, "notifications"), "taskIds")))
		if !slices.ContainsFunc(granted, func(raw []byte) bool { own, _ := wire.String(raw); return own == l.task.serverTaskID }) {
			l.stopStream()
			return
		}
		l.server.background.start(l.readTask)
	}
}

// readTask reads the state of the task: it may have changed before the stream was open.
func (l *taskListener) readTask() {
	params := l.server.opts.paramsWith(gatewayTaskCapabilities, wire.Member{Key: "taskId", Value: wire.AppendString(nil, l.task.serverTaskID)})
	task, err := l.task.session.link.roundTrip(l.ctx, wire.MethodTasksGet, params, nil)
	if err != nil {
		return // later changes come on the stream
	}
	if l.server.publishTaskState(l.task, task); l.server.hasTaskEnded(l.task) {
		l.stopStream()
	}
}

// hasTaskEnded reports whether the end of a task was published.
func (s *Server) hasTaskEnded(t *openedTask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.hasEnded
}

// handleTaskNote handles a notification about a task on a session, in the form of its
// era.
func (s *Server) handleTaskNote(sess *session, params []byte) {
	if !sess.link.isModern() {
		params = toModernTask(params)
	}
	own, _ := wire.String(wire.Get(params, "taskId"))
	s.mu.Lock()
	t := sess.tasks[own]
	s.mu.Unlock()
	s.publishTaskState(t, params)
}

// publishTaskState publishes the state of a task, in modern form, unless it was published
// before. t may be nil. Results, errors and questions are left out: only an operation of
// the owner gives those.
func (s *Server) publishTaskState(t *openedTask, task []byte) {
	status := taskStatus(task)
	if t == nil || !isEndStatus(status) && status != wire.TaskWorking && status != wire.TaskInputRequired {
		return
	}
	state := string(wire.AppendObject(nil, task, []string{"result", "error", "inputRequests", "requestState", "_meta"},
		wire.Member{Key: "taskId", Value: wire.AppendString(nil, t.id)}))
	if len(state) > maxTaskState {
		return
	}
	s.mu.Lock()
	news := !t.hasEnded && state != t.lastState
	if news {
		t.lastState, t.hasEnded = state, isEndStatus(status)
	}
	s.mu.Unlock()
	if news {
		s.publishEvent(catalog.Event{Kind: catalog.EventTask, Party: t.principalID, Task: catalog.TaskState{ID: t.id, Session: t.clientSession, JSON: state}})
	}
}

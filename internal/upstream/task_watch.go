package upstream

import (
	"context"
	"errors"
	"slices"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// What servers tell of their tasks. A legacy one does so on the stream of the
// session where the task was made. A modern one is asked for it, by a stream for
// each task: what is heard on the link that lists are read from must not break off
// whenever somebody begins a task. Nobody relies on hearing of a task, in either
// era: whatever is too much is left out.

const (
	maxTaskStreams = 64       // of a server
	maxTaskState   = 64 << 10 // that is told
)

// watchTask listens for the changes of a task. ctx is its caller's.
func (s *Server) watchTask(ctx context.Context, t *openedTask) {
	switch {
	case t == nil:
	case t.sess.link.isModern():
		s.startTaskStream(t) //nolint:contextcheck // it outlives its caller
	default:
		if shared, err := s.isListingLink(ctx, &t.access); err == nil && !shared {
			s.listenOnSession(t.sess)
		}
	}
}

// startTaskStream has a modern server tell of a task until that ends.
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

// keepTaskStream keeps the stream of a task open.
func (s *Server) keepTaskStream(t *openedTask) {
	ctx, cancel := context.WithTimeout(s.ctx, t.expiresAt.Sub(s.opts.Now()))
	defer cancel()
	ids := append(wire.AppendString([]byte{'['}, t.serverTaskID), ']')
	params := s.opts.paramsWith(gatewayTaskCapabilities,
		wire.Member{Key: "notifications", Value: wire.AppendObject(nil, nil, nil, wire.Member{Key: "taskIds", Value: ids})})
	for failures := range maxResumes {
		err := t.sess.link.listen(ctx, params, &taskListener{ctx: ctx, s: s, task: t, stopStream: cancel})
		if errors.Is(err, errNoStream) || ctx.Err() != nil || s.isRemoved(t.sess) || waitContext(ctx, addJitter(backoffDelay(firstFollowDelay, maxFollowDelay, failures))) != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.hasStream = false
	s.taskStreams--
}

// taskListener is the peer of a task's stream.
type taskListener struct {
	nopHandler
	ctx        context.Context //nolint:containedctx // it is the stream's
	s          *Server
	task       *openedTask
	stopStream func()
}

func (e *taskListener) handleNotification(method string, params []byte) {
	switch method {
	case wire.NoteTasks:
		if e.s.handleTaskNote(e.task.sess, params); e.s.hasTaskEnded(e.task) {
			e.stopStream()
		}
	case wire.NoteSubscriptionsAcknowledged:
		granted := slices.Collect(wire.Elements(wire.Get(wire.Get(params, "notifications"), "taskIds")))
		if !slices.ContainsFunc(granted, func(raw []byte) bool { own, _ := wire.String(raw); return own == e.task.serverTaskID }) {
			e.stopStream()
			return
		}
		e.s.background.start(e.readTask)
	}
}

// readTask asks how the task is: it may have changed while nobody listened.
func (e *taskListener) readTask() {
	params := e.s.opts.paramsWith(gatewayTaskCapabilities, wire.Member{Key: "taskId", Value: wire.AppendString(nil, e.task.serverTaskID)})
	task, err := e.task.sess.link.roundTrip(e.ctx, wire.MethodTasksGet, params, nil)
	if err != nil {
		return // whatever is told from now on is heard
	}
	if e.s.publishTaskState(e.task, task); e.s.hasTaskEnded(e.task) {
		e.stopStream()
	}
}

func (s *Server) hasTaskEnded(t *openedTask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.hasEnded
}

// handleTaskNote takes what a server says of a task of a session, in the form of its era.
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

// publishTaskState tells the state of a task, in modern form, unless that was told. t may be nil.
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

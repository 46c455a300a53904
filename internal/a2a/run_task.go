package a2a

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// maxHistoryTasks and maxHistoryBytes bound the part of a conversation that an
// agent reads in a turn.
const (
	maxHistoryTasks = 50
	maxHistoryBytes = 256 << 10
)

// Members of a request's metadata. With approvals: ask, the client is asked before
// a tool changes something. With answer: message, it gets a message instead of a
// task.
const (
	approvalsKey  = "approvals"
	approvalsAsk  = "ask"
	answerKey     = "answer"
	answerMessage = "message"
)

// hasMetadata reports whether the metadata of a request, or of its message, has a
// value.
func hasMetadata(in *a2a.SendMessageRequest, key, word string) bool {
	return in.Metadata[key] == word || in.Message != nil && in.Message.Metadata[key] == word
}

// startTask starts work on a message, which creates a task or continues one that
// waits. It returns the live task, and its state before the first event. The work
// goes on when the request ends.
func (d *requestHandler) startTask(ctx context.Context, in *a2a.SendMessageRequest) (*liveTask, *a2a.Task, error) {
	c, err := callerFrom(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := checkMessage(in.Message); err != nil {
		return nil, nil, err
	}
	parsed, err := parseMessage(in.Message)
	if err != nil {
		return nil, nil, err
	}
	var push *a2a.PushConfig
	if in.Config != nil {
		push = in.Config.PushConfig
	}
	if push != nil {
		if err := checkPushConfig(push); err != nil {
			return nil, nil, err
		}
	}
	// The agent is loaded before the row is written: a message to a broken agent
	// must not leave a task behind.
	turn, err := d.NewTurn(ctx, c.principal.Tenant, c.agent.Name)
	if err != nil {
		return nil, nil, err
	}
	if hasMetadata(in, approvalsKey, approvalsAsk) {
		turn.NeedsApproval = func(t agent.Tool, _ agent.Call) bool { return !t.ReadOnly }
	}
	l, err := d.openTask(ctx, c, in.Message, &parsed, &turn)
	if err != nil {
		return nil, nil, err
	}
	if push != nil {
		// The address is stored before the work starts, so that it gets every
		// event. If it cannot be stored, the task fails: its owner would wait in
		// vain.
		if _, err := d.storePushConfig(ctx, c, &l.row, push); err != nil {
			l.stop()
			d.finishTask(l, nil, agent.TurnResult{Outcome: agent.OutcomeFailed, Reason: junctor.AsError(err).Message}) //nolint:contextcheck // the end is stored although the client may have disconnected
			d.removeLiveTask(l, c.principal.Party())
			return nil, nil, err
		}
	}
	before, surfaces := l.snapshot(), d.newSurfaceEncoder(ctx, c, in, turn.Messages)
	turn.ShowsApps = surfaces.showsApps()
	go d.runTask(l, c, turn, parsed.message, surfaces) //nolint:contextcheck // the work outlives the request
	return l, before, nil
}

// openTask creates the row of a task, or loads that of the task which the message
// continues, and adds the conversation to the turn. The returned task is registered
// with addLiveTask; on an error it is not.
func (d *requestHandler) openTask(ctx context.Context, c *caller, m *a2a.Message, parsed *parsedMessage, turn *agent.Turn) (*liveTask, error) {
	rows := d.Store.For(c.principal.Tenant)
	var row junctor.AgentTask
	var task a2a.Task
	at := d.Now()
	// A message without a task starts a new one, in the context that it names or in
	// a new context.
	if m.TaskID == "" {
		task = a2a.Task{ID: a2a.NewTaskID(), ContextID: m.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: toTimestamp(at)}}
		if task.ContextID == "" {
			task.ContextID = a2a.NewContextID()
		}
		row = junctor.AgentTask{Tenant: c.principal.Tenant, ID: string(task.ID), Agent: c.agent.Name, Owner: c.principal.ID(), Context: task.ContextID, Messages: []byte("[]"), BegunAt: at}
	} else {
		var had *a2a.Task
		var err error
		if _, row, err = d.loadTaskRow(ctx, m.TaskID); err != nil {
			return nil, err
		}
		if had, err = decodeTask(&row); err != nil {
			return nil, err
		}
		switch {
		case m.ContextID != "" && m.ContextID != had.ContextID:
			return nil, newProblem(a2a.ErrInvalidParams, "the task belongs to another contextId than the message")
		case had.Status.State.Terminal():
			return nil, newProblem(a2a.ErrUnsupportedOperation, "the task has ended; to continue, send a message with its contextId and without taskId")
		// A second turn on the same conversation would overwrite the first.
		case row.Running:
			return nil, newProblem(a2a.ErrUnsupportedOperation, "the agent is still working on this task: wait until it has ended, or cancel it")
		}
		task = applyEvent(*had, d.newStatusEvent(had, a2a.TaskStateWorking, nil))
	}
	// The history has the message with the ids of its task, although the client
	// could not know them.
	own := *m
	own.TaskID, own.ContextID = task.ID, task.ContextID
	task.History = append(append([]*a2a.Message{}, task.History...), &own)
	if err := d.loadConversation(ctx, &row, parsed, turn); err != nil {
		return nil, err
	}
	l := newLiveTask(row, &task)
	var runCtx context.Context
	runCtx, l.stop = context.WithCancel(junctor.WithClientAddress(d.lifetime, junctor.ClientAddress(ctx)))
	l.ctx = runCtx
	l.pushes = newPusher(d.Server, c.principal.Tenant, string(task.ID))
	if err := d.addLiveTask(l, c.principal.Party()); err != nil {
		l.stop()
		return nil, err
	}
	// The row says working from the start, because nobody else may start work on
	// it. Subscribers still see the change from submitted as an event.
	working := task
	working.Status.State = a2a.TaskStateWorking
	var err error
	if m.TaskID == "" {
		if err = fillRow(&l.row, &working, true, d.Replica, at); err == nil {
			err = rows.AddAgentTask(ctx, &l.row)
		}
	} else {
		err = d.storeTask(ctx, &l.row, &working, true)
	}
	if err != nil {
		l.stop()
		d.removeLiveTask(l, c.principal.Party())
		return nil, err
	}
	return l, nil
}

// loadConversation adds the former messages to a turn: first those of the other
// tasks of the same context, then those of this task. If these end with calls that
// wait for an approval, the new message is the decision on them; otherwise it is
// appended.
func (d *requestHandler) loadConversation(ctx context.Context, row *junctor.AgentTask, parsed *parsedMessage, turn *agent.Turn) error {
	list, err := d.Store.For(row.Tenant).AgentContext(ctx, row.Agent, row.Owner, row.Context, maxHistoryTasks)
	if err != nil {
		return err
	}
	size := 0
	// The newest tasks stay if not all fit.
	for i, one := range slices.Backward(list) {
		if size += len(one.Messages); size > maxHistoryBytes {
			list = list[i+1:]
			break
		}
	}
	for i := range list {
		if list[i].ID == row.ID {
			continue
		}
		former, err := decodeConversation(&list[i])
		if err != nil {
			return err
		}
		turn.Messages = append(turn.Messages, former...)
	}
	own, err := decodeConversation(row)
	if err != nil {
		return err
	}
	turn.Messages = append(turn.Messages, own...)
	if calls := agent.UnansweredCalls(own); len(calls) > 0 {
		turn.Decisions = parsed.decideCalls(calls)
		return nil
	}
	turn.Messages = append(turn.Messages, parsed.message)
	return nil
}

// runTask lets the agent work on a task until it settles.
func (d *requestHandler) runTask(l *liveTask, c *caller, turn agent.Turn, message agent.Message, surfaces *surfaceEncoder) {
	defer d.removeLiveTask(l, c.principal.Party())
	defer l.stop()
	d.publishEvent(l, d.newStatusEvent(l.snapshot(), a2a.TaskStateWorking, nil))
	// The recorder is not used concurrently: agent.Run emits one event at a time.
	rec := &turnRecorder{handler: d, live: l, surfaces: surfaces}
	end := agent.Run(l.ctx, turn, rec.handleEvent)
	// Decisions are no message of the conversation; the agent reads them as
	// results.
	if len(turn.Decisions) == 0 {
		end.Messages = append([]agent.Message{message}, end.Messages...)
	}
	d.finishTask(l, rec, end)
}

// finishTask stores how a task ended and then publishes it, so that a client that
// reads the task after the last event finds it settled. rec may be nil.
func (d *requestHandler) finishTask(l *liveTask, rec *turnRecorder, end agent.TurnResult) {
	// Waiting requests continue only after the end is stored and published.
	defer close(l.done)
	rec.flushText(true)
	now := l.snapshot()
	state, text := a2a.TaskStateFailed, end.Reason
	var message *a2a.Message
	switch end.Outcome {
	case agent.OutcomeDone:
		state, text = a2a.TaskStateCompleted, ""
	case agent.OutcomeWaiting:
		state, text, message = a2a.TaskStateInputRequired, "", newApprovalRequest(now, end.Waiting)
	// Only the owner's cancellation is the state canceled. A stop of the instance
	// is a failure: the owner did not ask for it.
	case agent.OutcomeCancelled:
		text = "the instance stopped during this task"
		if l.wasCanceled() {
			state, text = a2a.TaskStateCanceled, ""
		}
	case agent.OutcomeFailed, agent.OutcomeLimit:
	}
	if text != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, now, a2a.NewTextPart(text))
	}
	last := d.newStatusEvent(now, state, message)
	ended := applyEvent(*now, last)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the end is stored although the task's context has ended
	defer cancel()
	if conversation, err := decodeConversation(&l.row); err == nil {
		if text, err := json.Marshal(append(conversation, end.Messages...)); err == nil {
			l.row.Messages = text
		}
	}
	if err := d.storeTask(ctx, &l.row, &ended, false); err != nil {
		d.Log.Error("cannot store the end of a task", "task", l.row.ID, "agent", l.row.Agent, "error", err, "cause", junctor.AsError(err).Cause)
	}
	l.publish(last, true)
	l.pushes.enqueue(last, &ended)
}

// publishEvent sends an event to subscribers and push addresses.
func (d *requestHandler) publishEvent(l *liveTask, e a2a.Event) {
	l.publish(e, false)
	l.pushes.enqueue(e, l.snapshot())
}

// storeTask updates the row of a task. It is a conflict if the row was changed
// since it was read.
func (s *Server) storeTask(ctx context.Context, row *junctor.AgentTask, t *a2a.Task, running bool) error {
	at := s.Now()
	if t.Status.Timestamp != nil {
		at = *t.Status.Timestamp
	}
	if err := fillRow(row, t, running, s.Replica, at); err != nil {
		return err
	}
	return s.Store.For(row.Tenant).UpdateAgentTask(ctx, row)
}

// fillRow copies the state of a task into its row.
func fillRow(row *junctor.AgentTask, t *a2a.Task, running bool, replica string, at time.Time) error {
	body, err := json.Marshal(t)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "the task %q cannot be written: %w", row.ID, err)
	}
	row.State, row.Running, row.Body, row.Replica, row.At = string(t.Status.State), running, body, replica, at
	return nil
}

// newStatusEvent returns the event of a change of state.
func (s *Server) newStatusEvent(of a2a.TaskInfoProvider, state a2a.TaskState, m *a2a.Message) *a2a.TaskStatusUpdateEvent {
	e := a2a.NewStatusUpdateEvent(of, state, m)
	e.Status.Timestamp = toTimestamp(s.Now())
	return e
}

// toTimestamp returns a time as the protocol writes it: in UTC, with the precision
// of the store, so that a stored task equals the published one.
func toTimestamp(at time.Time) *time.Time { return new(at.UTC().Truncate(time.Microsecond)) }

// turnRecorder converts the events of a turn to those of the protocol. Each text of
// the agent is an artifact. The last chunk of an artifact is marked, so one chunk
// is always held back until it is known whether another follows.
type turnRecorder struct {
	handler     *requestHandler
	live        *liveTask
	surfaces    *surfaceEncoder
	artifactID  a2a.ArtifactID // of the text that is streaming
	hasSentText bool           // a chunk of that text was published
	pendingText string         // the chunk that is held back
}

// handleEvent handles one event of the turn. It is the emit function of agent.Run.
func (r *turnRecorder) handleEvent(e agent.Event) {
	switch e.Kind { //nolint:exhaustive // other events are internal to the agent
	case agent.EventTextStart:
		r.flushText(true)
		r.artifactID, r.hasSentText = a2a.ArtifactID(e.ID), false
	case agent.EventText:
		r.flushText(false)
		r.pendingText = e.Text
	case agent.EventTextEnd:
		r.flushText(true)
	case agent.EventSurface:
		r.flushText(true)
		if a := r.surfaces.toArtifact(e.Surface); a != nil {
			r.publishArtifact(a)
		}
	case agent.EventResult:
		for _, a := range extractArtifacts(e.Result) {
			r.flushText(true)
			r.publishArtifact(a)
		}
	}
}

// publishArtifact publishes a complete artifact.
func (r *turnRecorder) publishArtifact(a *a2a.Artifact) {
	r.handler.publishEvent(r.live, &a2a.TaskArtifactUpdateEvent{TaskID: r.live.task.ID, ContextID: r.live.task.ContextID, Artifact: a, LastChunk: true})
}

// flushText publishes the chunk that is held back. It accepts a nil recorder.
func (r *turnRecorder) flushText(last bool) {
	if r == nil || r.pendingText == "" {
		return
	}
	e := &a2a.TaskArtifactUpdateEvent{
		TaskID: r.live.task.ID, ContextID: r.live.task.ContextID, Append: r.hasSentText, LastChunk: last,
		Artifact: &a2a.Artifact{ID: r.artifactID, Parts: a2a.ContentParts{a2a.NewTextPart(r.pendingText)}},
	}
	r.pendingText, r.hasSentText = "", true
	r.handler.publishEvent(r.live, e)
}

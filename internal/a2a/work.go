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

// storyTasks is how many tasks of a conversation an agent is told of, at most,
// and storyBytes how long they may be together.
const (
	storyTasks = 50
	storyBytes = 256 << 10
)

// Members of a request's metadata: with one a client says that it wants to be
// asked before tools change something, with the other that a message is answer
// enough, and not a task.
const (
	approvalsKey  = "approvals"
	approvalsAsk  = "ask"
	answerKey     = "answer"
	answerMessage = "message"
)

// says tells whether a request's metadata, or its message's, has a word.
func says(in *a2a.SendMessageRequest, key, word string) bool {
	return in.Metadata[key] == word || in.Message != nil && in.Message.Metadata[key] == word
}

// begin takes a message: it is a task of its own, or goes on with one that waits.
// It gives the task as it is at that moment, before its first event.
func (d *desk) begin(ctx context.Context, in *a2a.SendMessageRequest) (*live, *a2a.Task, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := checkMessage(in.Message); err != nil {
		return nil, nil, err
	}
	said, err := read(in.Message)
	if err != nil {
		return nil, nil, err
	}
	var push *a2a.PushConfig
	if in.Config != nil {
		push = in.Config.PushConfig
	}
	if push != nil {
		if err := checkPush(push); err != nil {
			return nil, nil, err
		}
	}
	turn, err := d.Mind(ctx, c.p.Tenant, c.agent.Name)
	if err != nil {
		return nil, nil, err
	}
	if says(in, approvalsKey, approvalsAsk) {
		turn.NeedsApproval = func(t agent.Tool, _ agent.Call) bool { return !t.ReadOnly }
	}
	l, err := d.open(ctx, c, in.Message, &said, &turn)
	if err != nil {
		return nil, nil, err
	}
	if push != nil {
		if _, err := d.savePush(ctx, c, &l.row, push); err != nil {
			l.stop()
			d.finish(l, nil, agent.End{Outcome: agent.Failed, Reason: junctor.AsError(err).Message}) //nolint:contextcheck // it is kept whoever has gone
			d.leave(l, c.p.Party())
			return nil, nil, err
		}
	}
	before, to := l.snapshot(), d.screenOf(ctx, c, in, turn.Messages)
	turn.Apps = to.apps()
	go d.run(l, c, turn, said.said, to) //nolint:contextcheck // it outlives the request
	return l, before, nil
}

// open makes the row of a task, or takes that of the one that the message goes on
// with, and puts the story into the turn. What it gives has entered.
func (d *desk) open(ctx context.Context, c *caller, m *a2a.Message, said *heard, turn *agent.Turn) (*live, error) {
	rows := d.Store.For(c.p.Tenant)
	var row junctor.AgentTask
	var task a2a.Task
	at := d.Now()
	if m.TaskID == "" {
		task = a2a.Task{ID: a2a.NewTaskID(), ContextID: m.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: stamp(at)}}
		if task.ContextID == "" {
			task.ContextID = a2a.NewContextID()
		}
		row = junctor.AgentTask{Tenant: c.p.Tenant, ID: string(task.ID), Agent: c.agent.Name, Owner: c.p.ID(), Context: task.ContextID, Story: []byte("[]"), BegunAt: at}
	} else {
		var had *a2a.Task
		var err error
		if _, row, err = d.row(ctx, m.TaskID); err != nil {
			return nil, err
		}
		if had, err = stored(&row); err != nil {
			return nil, err
		}
		switch {
		case m.ContextID != "" && m.ContextID != had.ContextID:
			return nil, problem(a2a.ErrInvalidParams, "the task is of another context than the message says")
		case had.Status.State.Terminal():
			return nil, problem(a2a.ErrUnsupportedOperation, "the task has ended; go on with a message that names its contextId and no taskId")
		case row.Running:
			return nil, problem(a2a.ErrUnsupportedOperation, "the agent is still at work on this task: wait until it has ended, or cancel it")
		}
		task = applied(*had, d.status(had, a2a.TaskStateWorking, nil))
	}
	own := *m
	own.TaskID, own.ContextID = task.ID, task.ContextID
	task.History = append(append([]*a2a.Message{}, task.History...), &own)
	if err := d.recall(ctx, &row, said, turn); err != nil {
		return nil, err
	}
	l := newLive(row, &task)
	var whole context.Context
	whole, l.stop = context.WithCancel(d.whole)
	l.ctx = whole
	l.pushes = newPusher(d.Server, c.p.Tenant, string(task.ID))
	if err := d.enter(l, c.p.Party()); err != nil {
		l.stop()
		return nil, err
	}
	working := task
	working.Status.State = a2a.TaskStateWorking
	var err error
	if m.TaskID == "" {
		if err = dress(&l.row, &working, true, d.Node, at); err == nil {
			err = rows.AddAgentTask(ctx, &l.row)
		}
	} else {
		err = d.keep(ctx, &l.row, &working, true)
	}
	if err != nil {
		l.stop()
		d.leave(l, c.p.Party())
		return nil, err
	}
	return l, nil
}

// recall puts what was said before into a turn: the conversation's other tasks,
// then this one's own part. Where that ends with calls that wait, the message is
// a word on them.
func (d *desk) recall(ctx context.Context, row *junctor.AgentTask, said *heard, turn *agent.Turn) error {
	list, err := d.Store.For(row.Tenant).AgentContext(ctx, row.Agent, row.Owner, row.Context, storyTasks)
	if err != nil {
		return err
	}
	size := 0
	for i, one := range slices.Backward(list) {
		if size += len(one.Story); size > storyBytes {
			list = list[i+1:]
			break
		}
	}
	for i := range list {
		if list[i].ID == row.ID {
			continue
		}
		former, err := readStory(&list[i])
		if err != nil {
			return err
		}
		turn.Messages = append(turn.Messages, former...)
	}
	own, err := readStory(row)
	if err != nil {
		return err
	}
	turn.Messages = append(turn.Messages, own...)
	if calls := waiting(own); len(calls) > 0 {
		turn.Decisions = said.decisions(calls)
		return nil
	}
	turn.Messages = append(turn.Messages, said.said)
	return nil
}

// run has the agent work on a task until there is an end.
func (d *desk) run(l *live, c *caller, turn agent.Turn, said agent.Message, to *screen) {
	defer d.leave(l, c.p.Party())
	defer l.stop()
	d.tell(l, d.status(l.snapshot(), a2a.TaskStateWorking, nil))
	rec := &recorder{desk: d, live: l, screen: to}
	end := agent.Run(l.ctx, turn, rec.take)
	if len(turn.Decisions) == 0 {
		end.Messages = append([]agent.Message{said}, end.Messages...)
	}
	d.finish(l, rec, end)
}

// finish keeps how a task ended, and tells it then.
func (d *desk) finish(l *live, rec *recorder, end agent.End) {
	defer close(l.done)
	rec.flush(true)
	now := l.snapshot()
	state, text := a2a.TaskStateFailed, end.Reason
	var message *a2a.Message
	switch end.Outcome {
	case agent.Done:
		state, text = a2a.TaskStateCompleted, ""
	case agent.Waiting:
		state, text, message = a2a.TaskStateInputRequired, "", asking(now, end.Waiting)
	case agent.Cancelled:
		text = "the instance was stopped in the middle of it"
		if l.wasCanceled() {
			state, text = a2a.TaskStateCanceled, ""
		}
	case agent.Failed, agent.Limit:
	}
	if text != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, now, a2a.NewTextPart(text))
	}
	last := d.status(now, state, message)
	ended := applied(*now, last)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // it is kept although what ran was stopped
	defer cancel()
	if story, err := readStory(&l.row); err == nil {
		if text, err := json.Marshal(append(story, end.Messages...)); err == nil {
			l.row.Story = text
		}
	}
	if err := d.keep(ctx, &l.row, &ended, false); err != nil {
		d.Log.Error("a2a: how a task ended could not be kept", "task", l.row.ID, "agent", l.row.Agent, "error", err, "cause", junctor.AsError(err).Cause)
	}
	l.tell(last, true)
	l.pushes.tell(last, &ended)
}

// tell tells an event to all who watch or are told.
func (d *desk) tell(l *live, e a2a.Event) {
	l.tell(e, false)
	l.pushes.tell(e, l.snapshot())
}

// keep stores a task as it is.
func (s *Server) keep(ctx context.Context, row *junctor.AgentTask, t *a2a.Task, running bool) error {
	at := s.Now()
	if t.Status.Timestamp != nil {
		at = *t.Status.Timestamp
	}
	if err := dress(row, t, running, s.Node, at); err != nil {
		return err
	}
	return s.Store.For(row.Tenant).UpdateAgentTask(ctx, row)
}

// dress makes a row say what a task says.
func dress(row *junctor.AgentTask, t *a2a.Task, running bool, node string, at time.Time) error {
	body, err := json.Marshal(t)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "the task %q cannot be written: %w", row.ID, err)
	}
	row.State, row.Running, row.Body, row.Node, row.At = string(t.Status.State), running, body, node, at
	return nil
}

// status is the event that a task's state is another.
func (s *Server) status(of a2a.TaskInfoProvider, state a2a.TaskState, m *a2a.Message) *a2a.TaskStatusUpdateEvent {
	e := a2a.NewStatusUpdateEvent(of, state, m)
	e.Status.Timestamp = stamp(s.Now())
	return e
}

// stamp is a time as the protocol writes it: of UTC, and not finer than is kept.
func stamp(at time.Time) *time.Time { return new(at.UTC().Truncate(time.Microsecond)) }

// recorder makes events of the protocol of what happens in a turn: each text of
// the agent is an artifact. The last piece of a text says so, so one is held back.
type recorder struct {
	desk   *desk
	live   *live
	screen *screen
	id     a2a.ArtifactID
	sent   bool
	held   string
}

func (r *recorder) take(e agent.Event) {
	switch e.Kind { //nolint:exhaustive // the rest is the agent's own business
	case agent.EventTextStart:
		r.flush(true)
		r.id, r.sent = a2a.ArtifactID(e.ID), false
	case agent.EventText:
		r.flush(false)
		r.held = e.Text
	case agent.EventTextEnd:
		r.flush(true)
	case agent.EventSurface:
		r.flush(true)
		if a := r.screen.artifact(e.Surface); a != nil {
			r.give(a)
		}
	case agent.EventResult:
		for _, a := range handed(e.Result) {
			r.flush(true)
			r.give(a)
		}
	}
}

// give tells an artifact that is whole.
func (r *recorder) give(a *a2a.Artifact) {
	r.desk.tell(r.live, &a2a.TaskArtifactUpdateEvent{TaskID: r.live.task.ID, ContextID: r.live.task.ContextID, Artifact: a, LastChunk: true})
}

// flush tells what is held back.
func (r *recorder) flush(last bool) {
	if r == nil || r.held == "" {
		return
	}
	e := &a2a.TaskArtifactUpdateEvent{
		TaskID: r.live.task.ID, ContextID: r.live.task.ContextID, Append: r.sent, LastChunk: last,
		Artifact: &a2a.Artifact{ID: r.id, Parts: a2a.ContentParts{a2a.NewTextPart(r.held)}},
	}
	r.held, r.sent = "", true
	r.desk.tell(r.live, e)
}

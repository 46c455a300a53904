package a2a

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// pollInterval is how often a task is read from the store while another replica
// works on it.
const pollInterval = 500 * time.Millisecond

// cancelTimeout bounds how long CancelTask waits until the task has stopped.
const cancelTimeout = 30 * time.Second

// requestHandler implements the library's interface for both versions. Every method
// works on tasks of the caller only: loadTaskRow finds no others.
type requestHandler struct{ *Server }

// loadTaskRow returns a task that the caller owns. Tasks of others are not found.
func (d *requestHandler) loadTaskRow(ctx context.Context, id a2a.TaskID) (*caller, junctor.AgentTask, error) {
	c, err := callerFrom(ctx)
	if err != nil {
		return nil, junctor.AgentTask{}, err
	}
	if id == "" {
		return nil, junctor.AgentTask{}, newProblem(a2a.ErrInvalidParams, "the ID of the task is missing")
	}
	row, err := d.Store.For(c.principal.Tenant).AgentTask(ctx, c.agent.Name, c.principal.ID(), string(id))
	return c, row, toProtocolError(err)
}

// currentTask returns the current state of a task. If this process works on it,
// that is newer than the row.
func (d *requestHandler) currentTask(row *junctor.AgentTask) (*a2a.Task, error) {
	if l := d.findLiveTask(row.Tenant, row.ID); l != nil {
		return l.snapshot(), nil
	}
	return decodeTask(row)
}

// GetTask implements a2asrv.RequestHandler.
func (d *requestHandler) GetTask(ctx context.Context, in *a2a.GetTaskRequest) (*a2a.Task, error) {
	_, row, err := d.loadTaskRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkHistoryLength(in.HistoryLength); err != nil {
		return nil, err
	}
	t, err := d.currentTask(&row)
	if err != nil {
		return nil, toProtocolError(err)
	}
	return trimHistory(t, in.HistoryLength), nil
}

// checkHistoryLength rejects a negative length.
func checkHistoryLength(n *int) error {
	if n != nil && *n < 0 {
		return newProblem(a2a.ErrInvalidParams, "historyLength must not be negative")
	}
	return nil
}

// trimHistory returns a copy of a task with at most the given number of latest
// messages.
func trimHistory(t *a2a.Task, most *int) *a2a.Task {
	// A copy: the snapshot is shared with other requests.
	out := *t
	if most != nil && *most < len(out.History) {
		out.History = out.History[len(out.History)-*most:]
	}
	if len(out.History) == 0 {
		out.History = nil
	}
	return &out
}

// ListTasks implements a2asrv.RequestHandler.
func (d *requestHandler) ListTasks(ctx context.Context, in *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	c, err := callerFrom(ctx)
	if err != nil {
		return nil, err
	}
	f, err := newTaskFilter(c, in)
	if err != nil {
		return nil, err
	}
	rows, total, err := d.Store.For(c.principal.Tenant).AgentTasks(ctx, f)
	if err != nil {
		return nil, toProtocolError(err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: int(total), PageSize: f.Limit - 1}
	if len(rows) == f.Limit {
		rows = rows[:f.Limit-1]
		// Time and id together are unique and sorted, so the page token survives
		// new tasks.
		last := &rows[len(rows)-1]
		out.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.At.UnixMicro(), 10) + " " + last.ID))
	}
	for i := range rows {
		// One task that cannot be decoded fails the page: a shorter page would look
		// complete.
		t, err := d.currentTask(&rows[i])
		if err != nil {
			return nil, toProtocolError(err)
		}
		t = trimHistory(t, in.HistoryLength)
		if !in.IncludeArtifacts {
			t.Artifacts = nil
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// newTaskFilter returns the store's filter for a request. Its limit is one more
// than the page size, so that an additional row shows that there is a next page.
func newTaskFilter(c *caller, in *a2a.ListTasksRequest) (f store.AgentTaskFilter, err error) {
	f = store.AgentTaskFilter{Agent: c.agent.Name, Owner: c.principal.ID(), Context: in.ContextID, State: string(in.Status), Limit: 51}
	states := []a2a.TaskState{
		a2a.TaskStateUnspecified, a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
	}
	if in.PageSize != 0 {
		f.Limit = in.PageSize + 1
	}
	switch {
	case in.PageSize < 0 || in.PageSize > 100:
		return f, newProblem(a2a.ErrInvalidParams, "pageSize must be between 1 and 100")
	case !slices.Contains(states, in.Status):
		return f, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("status: %q is not a task state", string(in.Status)))
	}
	if in.StatusTimestampAfter != nil {
		f.Since = *in.StatusTimestampAfter
	}
	if in.PageToken != "" {
		text, err := base64.RawURLEncoding.DecodeString(in.PageToken)
		at, id, ok := strings.Cut(string(text), " ")
		us, nerr := strconv.ParseInt(at, 10, 64)
		if err != nil || nerr != nil || !ok {
			return f, newProblem(a2a.ErrInvalidParams, "pageToken is invalid: use the nextPageToken of the previous response")
		}
		f.Before, f.BeforeID = time.UnixMicro(us), id
	}
	return f, checkHistoryLength(in.HistoryLength)
}

// CancelTask implements a2asrv.RequestHandler. It returns when the task has
// stopped. A task of another replica is stopped through the store: that replica
// notices with its next heartbeat.
func (d *requestHandler) CancelTask(ctx context.Context, in *a2a.CancelTaskRequest) (*a2a.Task, error) {
	c, row, err := d.loadTaskRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	// There are three cases: this process works on the task, another replica does,
	// or nobody does because the task waits for input.
	asked := false
	for row.Running {
		switch l := d.findLiveTask(row.Tenant, row.ID); {
		// The cancelled work stores its own end; this request only waits for it.
		case l != nil:
			l.cancel()
			select {
			case <-l.done:
			case <-ctx.Done():
				return nil, toProtocolError(ctx.Err())
			}
		case !asked:
			asked = true
			err = d.Store.For(row.Tenant).StopAgentTask(ctx, row.Agent, row.Owner, row.ID)
		// Another replica stops it: wait until the row says so.
		default:
			err = d.waitToPoll(ctx)
		}
		if err == nil {
			row, err = d.Store.For(c.principal.Tenant).AgentTask(ctx, row.Agent, row.Owner, row.ID)
		}
		if err != nil {
			return nil, toProtocolError(err)
		}
		if row.State == string(a2a.TaskStateCanceled) {
			t, err := decodeTask(&row)
			return t, toProtocolError(err)
		}
	}
	t, err := decodeTask(&row)
	if err != nil {
		return nil, toProtocolError(err)
	}
	if t.Status.State.Terminal() {
		return nil, newProblem(a2a.ErrTaskNotCancelable, fmt.Sprintf("the task has ended already: it is %s", t.Status.State))
	}
	last := d.newStatusEvent(t, a2a.TaskStateCanceled, nil)
	ended := applyEvent(*t, last)
	if err := d.storeTask(ctx, &row, &ended, false); err != nil {
		return nil, toProtocolError(err)
	}
	newPusher(d.Server, row.Tenant, row.ID).enqueue(last, &ended)
	return &ended, nil
}

// waitToPoll waits for pollInterval.
func (d *requestHandler) waitToPoll(ctx context.Context) error {
	select {
	case <-time.After(pollInterval):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkSubscribable returns an error if a task cannot be subscribed to. It runs
// before the stream starts, because many clients ignore an error inside a stream.
func (d *requestHandler) checkSubscribable(ctx context.Context, id string) error {
	_, row, err := d.loadTaskRow(ctx, a2a.TaskID(id))
	if err == nil && a2a.TaskState(row.State).Terminal() {
		err = newProblem(a2a.ErrUnsupportedOperation, "the task has ended; read it with GetTask")
	}
	return err
}

// SubscribeToTask implements a2asrv.RequestHandler. The first event is the task
// itself, even if it ended after checkSubscribable. A task of another replica is
// polled.
func (d *requestHandler) SubscribeToTask(ctx context.Context, in *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_, row, err := d.loadTaskRow(ctx, in.ID)
		// The task can move here: a replica that died loses it, and a new message
		// starts work on it in this process.
		for seen := int64(-1); err == nil; {
			if l := d.findLiveTask(row.Tenant, row.ID); l != nil {
				t, at := l.subscribe()
				if yield(t, nil) {
					d.yieldEvents(ctx, l, at, yield)
				}
				return
			}
			if row.Version != seen {
				seen = row.Version
				t, terr := decodeTask(&row)
				if terr != nil {
					yield(nil, toProtocolError(terr))
					return
				}
				if !yield(t, nil) || t.Status.State.Terminal() {
					return
				}
			}
			if err = d.waitToPoll(ctx); err == nil {
				_, row, err = d.loadTaskRow(ctx, in.ID)
			}
		}
		if ctx.Err() == nil {
			yield(nil, err)
		}
	}
}

// yieldEvents yields the events of a task from an index on, until there are no
// more.
func (d *requestHandler) yieldEvents(ctx context.Context, l *liveTask, at int, yield func(a2a.Event, error) bool) {
	for ; ; at++ {
		e := l.waitForEvent(ctx, at)
		if e == nil || !yield(e, nil) {
			return
		}
	}
}

// SendMessage implements a2asrv.RequestHandler. By default it returns when the task
// has settled.
func (d *requestHandler) SendMessage(ctx context.Context, in *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	var most *int
	if in.Config != nil {
		most = in.Config.HistoryLength
	}
	if err := checkHistoryLength(most); err != nil {
		return nil, err
	}
	l, _, err := d.startTask(ctx, in)
	if err != nil {
		return nil, toProtocolError(err)
	}
	if in.Config != nil && in.Config.ReturnImmediately {
		return trimHistory(l.snapshot(), most), nil
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, toProtocolError(ctx.Err())
	}
	t := l.snapshot()
	if m := toAnswerMessage(t); m != nil && hasMetadata(in, answerKey, answerMessage) {
		return m, nil
	}
	return trimHistory(t, most), nil
}

// toAnswerMessage returns the result of a task as one message, for clients that do
// not want a task. It is nil if a message would lose something: the task did not
// complete, or has no artifacts.
func toAnswerMessage(t *a2a.Task) *a2a.Message {
	var parts a2a.ContentParts
	for _, a := range t.Artifacts {
		parts = append(parts, a.Parts...)
	}
	if t.Status.State != a2a.TaskStateCompleted || len(parts) == 0 {
		return nil
	}
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, t, parts...)
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (d *requestHandler) SendStreamingMessage(ctx context.Context, in *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		l, t, err := d.startTask(ctx, in)
		if err != nil {
			yield(nil, toProtocolError(err))
			return
		}
		if hasMetadata(in, answerKey, answerMessage) { // then the answer is the only event
			select {
			case <-l.done:
			case <-ctx.Done():
				return
			}
			t = l.snapshot()
			if m := toAnswerMessage(t); m != nil {
				yield(m, nil)
				return
			}
			yield(t, nil)
			return
		}
		if yield(t, nil) {
			d.yieldEvents(ctx, l, 0, yield)
		}
	}
}

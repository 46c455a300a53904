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

// pollEvery is how often a task is looked at that another process works on.
const pollEvery = 500 * time.Millisecond

// cancelWithin is how long a task is waited for that is to be stopped.
const cancelWithin = 30 * time.Second

// desk is what both wires ask, by the library's interface. All it gives away is
// the caller's own.
type desk struct{ *Server }

// row gives the caller's task.
func (d *desk) row(ctx context.Context, id a2a.TaskID) (*caller, junctor.AgentTask, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return nil, junctor.AgentTask{}, err
	}
	if id == "" {
		return nil, junctor.AgentTask{}, problem(a2a.ErrInvalidParams, "the id of the task is missing")
	}
	row, err := d.Store.For(c.p.Tenant).AgentTask(ctx, c.agent.Name, c.p.ID(), string(id))
	return c, row, protocolError(err)
}

// now is a task as it is at this moment: what runs here is ahead of its row.
func (d *desk) now(row *junctor.AgentTask) (*a2a.Task, error) {
	if l := d.running(row.Tenant, row.ID); l != nil {
		return l.snapshot(), nil
	}
	return stored(row)
}

// GetTask implements a2asrv.RequestHandler.
func (d *desk) GetTask(ctx context.Context, in *a2a.GetTaskRequest) (*a2a.Task, error) {
	_, row, err := d.row(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkLength(in.HistoryLength); err != nil {
		return nil, err
	}
	t, err := d.now(&row)
	if err != nil {
		return nil, protocolError(err)
	}
	return shortened(t, in.HistoryLength), nil
}

func checkLength(n *int) error {
	if n != nil && *n < 0 {
		return problem(a2a.ErrInvalidParams, "historyLength is 0 or more")
	}
	return nil
}

// shortened leaves of a task's history its last messages.
func shortened(t *a2a.Task, most *int) *a2a.Task {
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
func (d *desk) ListTasks(ctx context.Context, in *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	c, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	f, err := filterOf(c, in)
	if err != nil {
		return nil, err
	}
	rows, total, err := d.Store.For(c.p.Tenant).AgentTasks(ctx, f)
	if err != nil {
		return nil, protocolError(err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: int(total), PageSize: f.Limit - 1}
	if len(rows) == f.Limit {
		rows = rows[:f.Limit-1]
		last := &rows[len(rows)-1]
		out.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.At.UnixMicro(), 10) + " " + last.ID))
	}
	for i := range rows {
		t, err := d.now(&rows[i])
		if err != nil {
			return nil, protocolError(err)
		}
		t = shortened(t, in.HistoryLength)
		if !in.IncludeArtifacts {
			t.Artifacts = nil
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// filterOf says which tasks are asked for, and one more, which says whether there
// is a next page.
func filterOf(c *caller, in *a2a.ListTasksRequest) (f store.AgentTaskFilter, err error) {
	f = store.AgentTaskFilter{Agent: c.agent.Name, Owner: c.p.ID(), Context: in.ContextID, State: string(in.Status), Limit: 51}
	states := []a2a.TaskState{
		a2a.TaskStateUnspecified, a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
	}
	if in.PageSize != 0 {
		f.Limit = in.PageSize + 1
	}
	switch {
	case in.PageSize < 0 || in.PageSize > 100:
		return f, problem(a2a.ErrInvalidParams, "pageSize is between 1 and 100")
	case !slices.Contains(states, in.Status):
		return f, problem(a2a.ErrInvalidParams, fmt.Sprintf("status: %q is no state of a task", string(in.Status)))
	}
	if in.StatusTimestampAfter != nil {
		f.Since = *in.StatusTimestampAfter
	}
	if in.PageToken != "" {
		text, err := base64.RawURLEncoding.DecodeString(in.PageToken)
		at, id, ok := strings.Cut(string(text), " ")
		us, nerr := strconv.ParseInt(at, 10, 64)
		if err != nil || nerr != nil || !ok {
			return f, problem(a2a.ErrInvalidParams, "pageToken is none that was given here")
		}
		f.Before, f.BeforeID = time.UnixMicro(us), id
	}
	return f, checkLength(in.HistoryLength)
}

// CancelTask implements a2asrv.RequestHandler.
func (d *desk) CancelTask(ctx context.Context, in *a2a.CancelTaskRequest) (*a2a.Task, error) {
	c, row, err := d.row(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cancelWithin)
	defer cancel()
	asked := false
	for row.Running {
		switch l := d.running(row.Tenant, row.ID); {
		case l != nil:
			l.cancel()
			select {
			case <-l.done:
			case <-ctx.Done():
				return nil, protocolError(ctx.Err())
			}
		case !asked:
			asked = true
			err = d.Store.For(row.Tenant).StopAgentTask(ctx, row.Agent, row.Owner, row.ID)
		default:
			err = d.pause(ctx)
		}
		if err == nil {
			row, err = d.Store.For(c.p.Tenant).AgentTask(ctx, row.Agent, row.Owner, row.ID)
		}
		if err != nil {
			return nil, protocolError(err)
		}
		if row.State == string(a2a.TaskStateCanceled) {
			t, err := stored(&row)
			return t, protocolError(err)
		}
	}
	t, err := stored(&row)
	if err != nil {
		return nil, protocolError(err)
	}
	if t.Status.State.Terminal() {
		return nil, problem(a2a.ErrTaskNotCancelable, fmt.Sprintf("the task has ended already: it is %s", t.Status.State))
	}
	last := d.status(t, a2a.TaskStateCanceled, nil)
	ended := applied(*t, last)
	if err := d.keep(ctx, &row, &ended, false); err != nil {
		return nil, protocolError(err)
	}
	newPusher(d.Server, row.Tenant, row.ID).tell(last, &ended)
	return &ended, nil
}

// pause waits a moment.
func (d *desk) pause(ctx context.Context) error {
	select {
	case <-time.After(pollEvery):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayWatch says whether there is something to watch. The front asks before a
// stream is begun: an error inside of one is read by few.
func (d *desk) mayWatch(ctx context.Context, id string) error {
	_, row, err := d.row(ctx, a2a.TaskID(id))
	if err == nil && a2a.TaskState(row.State).Terminal() {
		err = problem(a2a.ErrUnsupportedOperation, "the task has ended: there is nothing more to come; GetTask gives it")
	}
	return err
}

// SubscribeToTask implements a2asrv.RequestHandler. The task comes first, also
// where it ended since the front looked.
func (d *desk) SubscribeToTask(ctx context.Context, in *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_, row, err := d.row(ctx, in.ID)
		for seen := int64(-1); err == nil; {
			if l := d.running(row.Tenant, row.ID); l != nil {
				t, at := l.watch()
				if yield(t, nil) {
					d.follow(ctx, l, at, yield)
				}
				return
			}
			if row.Version != seen {
				seen = row.Version
				t, terr := stored(&row)
				if terr != nil {
					yield(nil, protocolError(terr))
					return
				}
				if !yield(t, nil) || t.Status.State.Terminal() {
					return
				}
			}
			if err = d.pause(ctx); err == nil {
				_, row, err = d.row(ctx, in.ID)
			}
		}
		if ctx.Err() == nil {
			yield(nil, err)
		}
	}
}

// follow gives the events of a task from a place on.
func (d *desk) follow(ctx context.Context, l *live, at int, yield func(a2a.Event, error) bool) {
	for ; ; at++ {
		e := l.next(ctx, at)
		if e == nil || !yield(e, nil) {
			return
		}
	}
}

// SendMessage implements a2asrv.RequestHandler.
func (d *desk) SendMessage(ctx context.Context, in *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	var most *int
	if in.Config != nil {
		most = in.Config.HistoryLength
	}
	if err := checkLength(most); err != nil {
		return nil, err
	}
	l, _, err := d.begin(ctx, in)
	if err != nil {
		return nil, protocolError(err)
	}
	if in.Config != nil && in.Config.ReturnImmediately {
		return shortened(l.snapshot(), most), nil
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, protocolError(ctx.Err())
	}
	t := l.snapshot()
	if m := inWords(t); m != nil && says(in, answerKey, answerMessage) {
		return m, nil
	}
	return shortened(t, most), nil
}

// inWords is what came of a task as one message, for who wants no task; nil where
// there is more to know than was said.
func inWords(t *a2a.Task) *a2a.Message {
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
func (d *desk) SendStreamingMessage(ctx context.Context, in *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		l, t, err := d.begin(ctx, in)
		if err != nil {
			yield(nil, protocolError(err))
			return
		}
		if says(in, answerKey, answerMessage) { // which is all that the stream has then
			select {
			case <-l.done:
			case <-ctx.Done():
				return
			}
			t = l.snapshot()
			if m := inWords(t); m != nil {
				yield(m, nil)
				return
			}
			yield(t, nil)
			return
		}
		if yield(t, nil) {
			d.follow(ctx, l, 0, yield)
		}
	}
}

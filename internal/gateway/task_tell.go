package gateway

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// taskTeller tells one listener how tasks are doing: of each task in order and one
// state at a time, the last that is known. It holds up no other note, since it asks
// the store, and the task's server for what the task has led to.
type taskTeller struct {
	x      *exchange
	meta   []byte // of every note; nil is none
	ctx    context.Context
	cancel context.CancelFunc
	work   *work

	mu   sync.Mutex
	next map[string]string // what is to be told of a task that is being told of; "" is nothing
}

func (x *exchange) tellTasks(ctx context.Context, meta []byte) *taskTeller {
	t := &taskTeller{x: x, meta: meta, work: newWork(x.g.o.Logger), next: map[string]string{}}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// stop waits for what is being told: there is no listener afterwards.
func (t *taskTeller) stop() {
	t.cancel()
	t.work.wait()
}

// tell says how a task is doing, in the modern form.
func (t *taskTeller) tell(id, state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, telling := t.next[id]
	t.next[id] = state
	if !telling && !t.work.start(func() { t.telling(id) }) {
		delete(t.next, id)
	}
}

func (t *taskTeller) telling(id string) {
	for state := t.take(id); state != ""; state = t.take(id) {
		if note := t.note(id, []byte(state)); note != nil {
			t.x.out.send(note)
		}
	}
}

// take gives what is to be told of a task; "" where it is told of no longer.
func (t *taskTeller) take(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.next[id]
	if t.next[id] = ""; state == "" || t.ctx.Err() != nil {
		delete(t.next, id)
		return ""
	}
	return state
}

// note is what the listener hears of a state; nil is nothing.
func (t *taskTeller) note(id string, state []byte) []byte {
	if !t.x.g.o.Pipeline.HearsOfTask(t.ctx, t.x.p, t.x.view, id, state) {
		return nil
	}
	if !t.x.modern {
		return wire.AppendNotification(nil, wire.NoteTasksStatus, legacyTask(state))
	}
	switch taskStatus(state) {
	case wire.TaskWorking, wire.TaskCancelled:
	default: // what it led to, or asks for, belongs to it, and passes the pipeline
		var err error
		if state, err = t.x.lookAtTask(t.ctx, id, false); err != nil {
			return nil
		}
	}
	return wire.AppendNotification(nil, wire.NoteTasks, wire.AppendObject(nil, state, nil, wire.Member{Key: "_meta", Value: t.meta}))
}

// lookAtTask gives a task as tasks/get does, for who listens; watch: from now on.
func (x *exchange) lookAtTask(ctx context.Context, id string, watch bool) ([]byte, error) {
	res, err := x.g.o.Pipeline.Do(ctx, &guard.Op{
		Principal: x.p, Door: x.door, View: x.view, Kind: junctor.KindTask, Name: id, Caller: x.caller, Watch: watch,
	}, x)
	return res.Body, err
}

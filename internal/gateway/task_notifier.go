package gateway

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// taskNotifier tells one listener how tasks are doing: of each task in order and one
// state at a time, the last that is known. It holds up no other note, since it asks
// the store, and the task's server for what the task has led to.
type taskNotifier struct {
	exchange   *exchange
	meta       []byte // of every note; nil is none
	ctx        context.Context
	cancel     context.CancelFunc
	background *backgroundWork

	mu      sync.Mutex
	pending map[string]string // what is to be told of a task that is being told of; "" is nothing
}

func (x *exchange) newTaskNotifier(ctx context.Context, meta []byte) *taskNotifier {
	t := &taskNotifier{exchange: x, meta: meta, background: newBackgroundWork(x.gateway.options.Logger), pending: map[string]string{}}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// stop waits for what is being told: there is no listener afterwards.
func (t *taskNotifier) stop() {
	t.cancel()
	t.background.stopAndWait()
}

// queueState says how a task is doing, in the modern form.
func (t *taskNotifier) queueState(id, state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, telling := t.pending[id]
	t.pending[id] = state
	if !telling && !t.background.startWork(func() { t.sendStates(id) }) {
		delete(t.pending, id)
	}
}

func (t *taskNotifier) sendStates(id string) {
	for state := t.nextState(id); state != ""; state = t.nextState(id) {
		if note := t.buildNotification(id, []byte(state)); note != nil {
			t.exchange.sender.sendMessage(note)
		}
	}
}

// nextState gives what is to be told of a task; "" where it is told of no longer.
func (t *taskNotifier) nextState(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.pending[id]
	if t.pending[id] = ""; state == "" || t.ctx.Err() != nil {
		delete(t.pending, id)
		return ""
	}
	return state
}

// buildNotification is what the listener hears of a state; nil is nothing.
func (t *taskNotifier) buildNotification(id string, state []byte) []byte {
	if !t.exchange.gateway.options.Pipeline.HearsOfTask(t.ctx, t.exchange.principal, t.exchange.view, id, state) {
		return nil
	}
	if !t.exchange.modern {
		return wire.AppendNotification(nil, wire.NoteTasksStatus, toLegacyTask(state))
	}
	switch taskStatus(state) {
	case wire.TaskWorking, wire.TaskCancelled:
	default: // what it led to, or asks for, belongs to it, and passes the pipeline
		var err error
		if state, err = t.exchange.getTask(t.ctx, id, false); err != nil {
			return nil
		}
	}
	return wire.AppendNotification(nil, wire.NoteTasks, wire.AppendObject(nil, state, nil, wire.Member{Key: "_meta", Value: t.meta}))
}

// getTask gives a task as tasks/get does, for who listens; watch: from now on.
func (x *exchange) getTask(ctx context.Context, id string, watch bool) ([]byte, error) {
	res, err := x.gateway.options.Pipeline.Do(ctx, &guard.Op{
		Principal: x.principal, Door: x.entryPoint, View: x.view, Kind: junctor.KindTask, Name: id, Caller: x.caller, Watch: watch,
	}, x)
	return res.Body, err
}

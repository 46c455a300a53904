package gateway

import (
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// taskNotifier sends the state changes of tasks to one listener. For each task it sends
// them in order, and only the latest of those that are waiting. It runs beside other
// notifications and does not delay them, because it asks the store and the task's server.
type taskNotifier struct {
	exchange   *exchange
	meta       []byte // _meta of every notification; nil for none
	ctx        context.Context
	cancel     context.CancelFunc
	background *backgroundWork

	mu      sync.Mutex
	pending map[string]string // latest unsent state of each task that is being sent; "" if there is none
}

// newTaskNotifier makes a taskNotifier that works until ctx ends. The caller must call
// stop.
func (x *exchange) newTaskNotifier(ctx context.Context, meta []byte) *taskNotifier {
	t := &taskNotifier{exchange: x, meta: meta, background: newBackgroundWork(x.gateway.options.Logger), pending: map[string]string{}}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// stop waits until nothing more is sent: the listener is invalid afterwards.
func (t *taskNotifier) stop() {
	t.cancel()
	t.background.stopAndWait()
}

// queueState sends the state of a task, in the modern form, in the background.
func (t *taskNotifier) queueState(id, state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// An entry means that a goroutine sends this task's states. It will take the
	// new one when it is done with the current.
	_, sending := t.pending[id]
	t.pending[id] = state
	if !sending && !t.background.startWork(func() { t.sendStates(id) }) {
		delete(t.pending, id)
	}
}

// sendStates sends the states of one task until none is pending.
func (t *taskNotifier) sendStates(id string) {
	for state := t.nextState(id); state != ""; state = t.nextState(id) {
		if note := t.buildNotification(id, []byte(state)); note != nil {
			t.exchange.sender.sendMessage(note)
		}
	}
}

// nextState takes the pending state of a task. It returns "", and forgets the task, if
// there is none or the listener has stopped.
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

// buildNotification returns the notification of a state, or nil if the listener may not
// receive it.
func (t *taskNotifier) buildNotification(id string, state []byte) []byte {
	if !t.exchange.gateway.options.Pipeline.CanReceiveTask(t.ctx, t.exchange.principal, t.exchange.view, id, state) {
		return nil
	}
	if !t.exchange.modern {
		return wire.AppendNotification(nil, wire.NotificationTasksStatus, toLegacyTask(state))
	}
	switch taskStatus(state) {
	case wire.TaskWorking, wire.TaskCancelled:
	default: // its result or its input requests are part of it; get them through the pipeline
		var err error
		if state, err = t.exchange.getTask(t.ctx, id, false); err != nil {
			return nil
		}
	}
	return wire.AppendNotification(nil, wire.NotificationTasks, wire.AppendObject(nil, state, nil, wire.Member{Key: "_meta", Value: t.meta}))
}

// getTask returns a task as tasks/get does, for a listener. With watch, its changes are
// reported from now on.
func (x *exchange) getTask(ctx context.Context, id string, watch bool) ([]byte, error) {
	res, err := x.gateway.options.Pipeline.Do(ctx, &guard.Op{
		Principal: x.principal, EntryPoint: x.entryPoint, Address: x.address, Scope: x.view, Kind: junctor.KindTask, Name: id, Caller: x.caller, Watch: watch,
	}, x)
	return res.Body, err
}

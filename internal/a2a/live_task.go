package a2a

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
)

// maxTasksPerParty bounds the tasks of one party on which this process works at the
// same time.
const maxTasksPerParty = 32

// liveTask is a task on which this process works. All subscribers receive the same
// events in the same order, however slowly they read.
type liveTask struct {
	row    junctor.AgentTask // body and conversation are updated only at the end
	stop   context.CancelFunc
	ctx    context.Context //nolint:containedctx // of the work, which outlives the request
	done   chan struct{}   // closed when the end is stored
	pushes *pusher

	mu         sync.Mutex
	task       a2a.Task // current state; values behind its pointers are never changed
	events     []a2a.Event
	changed    chan struct{} // closed and replaced with every event
	isCanceled bool          // the owner cancelled it
	hasEnded   bool
}

// newLiveTask returns a live task. The caller sets its context and pusher.
func newLiveTask(row junctor.AgentTask, task *a2a.Task) *liveTask {
	return &liveTask{row: row, task: *task, done: make(chan struct{}), changed: make(chan struct{})}
}

// publish appends an event and wakes the subscribers. After the last event their
// streams end.
func (l *liveTask) publish(e a2a.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task = applyEvent(l.task, e)
	l.events = append(l.events, e)
	l.hasEnded = last
	close(l.changed)
	l.changed = make(chan struct{})
}

// snapshot returns the current state of the task.
func (l *liveTask) snapshot() *a2a.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return new(l.task)
}

// subscribe returns the current state, and the index of the first event after it.
func (l *liveTask) subscribe() (*a2a.Task, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return new(l.task), len(l.events)
}

// waitForEvent returns the event at an index as soon as it exists. It returns nil
// if no more events follow or ctx ends.
func (l *liveTask) waitForEvent(ctx context.Context, at int) a2a.Event {
	for {
		l.mu.Lock()
		// Events are never removed while the task is live, so a slow subscriber
		// misses none.
		if at < len(l.events) {
			defer l.mu.Unlock()
			return l.events[at]
		}
		ended, changed := l.hasEnded, l.changed
		l.mu.Unlock()
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// cancel stops the task because its owner asked for that.
func (l *liveTask) cancel() {
	l.mu.Lock()
	l.isCanceled = true
	l.mu.Unlock()
	l.stop()
}

// wasCanceled reports whether the owner cancelled the task. A task can also stop
// because the instance does.
func (l *liveTask) wasCanceled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isCanceled
}

// applyEvent returns the task after an event. It copies what it changes, because
// snapshots share the values.
func applyEvent(t a2a.Task, e a2a.Event) a2a.Task {
	switch e := e.(type) {
	case *a2a.TaskStatusUpdateEvent:
		// The message of the former status would be lost; the protocol keeps it in
		// the history.
		if t.Status.Message != nil {
			t.History = append(slices.Clone(t.History), t.Status.Message)
		}
		t.Status = e.Status
	case *a2a.TaskArtifactUpdateEvent:
		t.Artifacts = slices.Clone(t.Artifacts)
		i := slices.IndexFunc(t.Artifacts, func(a *a2a.Artifact) bool { return a.ID == e.Artifact.ID })
		switch {
		case i < 0:
			t.Artifacts = append(t.Artifacts, e.Artifact)
		// An artifact without Append replaces the former one of the same id.
		case !e.Append:
			t.Artifacts[i] = e.Artifact
		// With Append the chunk continues the artifact.
		default:
			whole := *t.Artifacts[i]
			whole.Parts = appendParts(whole.Parts, e.Artifact.Parts)
			t.Artifacts[i] = &whole
		}
	}
	return t
}

// appendParts returns the parts with more behind them. Adjacent texts become one.
func appendParts(parts, more a2a.ContentParts) a2a.ContentParts {
	parts = slices.Clone(parts)
	for _, p := range more {
		if n := len(parts); n > 0 && isText(parts[n-1]) && isText(p) {
			parts[n-1] = a2a.NewTextPart(parts[n-1].Text() + p.Text())
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// isText reports whether a part is plain text that can be merged with its
// neighbour.
func isText(p *a2a.Part) bool {
	_, ok := p.Content.(a2a.Text)
	return ok && len(p.Metadata) == 0 && p.MediaType == ""
}

// decodeTask returns the task in a row.
func decodeTask(row *junctor.AgentTask) (*a2a.Task, error) {
	var t a2a.Task
	if err := json.Unmarshal(row.Body, &t); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the task %q cannot be read: %w", row.ID, err)
	}
	return &t, nil
}

package a2a

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
)

// maxBusy is how many tasks of one party may be on their way at a time.
const maxBusy = 32

// live is a task that this process works on. Whoever watches it sees the same
// events in the same order, however slow they are.
type live struct {
	row    junctor.AgentTask // its story and state are those of the end
	stop   context.CancelFunc
	ctx    context.Context //nolint:containedctx // of the work, which outlives requests
	done   chan struct{}   // closed when its end is kept
	pushes *pusher

	mu       sync.Mutex
	task     a2a.Task // as it is now; what it points to is never changed
	events   []a2a.Event
	changed  chan struct{} // closed with the next event
	canceled bool          // its owner wants it so
	ended    bool
}

func newLive(row junctor.AgentTask, task *a2a.Task) *live {
	return &live{row: row, task: *task, done: make(chan struct{}), changed: make(chan struct{})}
}

// tell adds an event. The last one ends what there is to watch.
func (l *live) tell(e a2a.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.task = applied(l.task, e)
	l.events = append(l.events, e)
	l.ended = last
	close(l.changed)
	l.changed = make(chan struct{})
}

// snapshot is the task as it is now.
func (l *live) snapshot() *a2a.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return new(l.task)
}

// watch gives the task as it is now, and from where its events are to be read.
func (l *live) watch() (*a2a.Task, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return new(l.task), len(l.events)
}

// next gives the event at a place, waiting for it; nil when there are no more, or
// the context ends.
func (l *live) next(ctx context.Context, at int) a2a.Event {
	for {
		l.mu.Lock()
		if at < len(l.events) {
			defer l.mu.Unlock()
			return l.events[at]
		}
		ended, changed := l.ended, l.changed
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

// cancel has it stopped by its owner's wish.
func (l *live) cancel() {
	l.mu.Lock()
	l.canceled = true
	l.mu.Unlock()
	l.stop()
}

func (l *live) wasCanceled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.canceled
}

// applied is a task after an event. What the former one points to stays as it is.
func applied(t a2a.Task, e a2a.Event) a2a.Task {
	switch e := e.(type) {
	case *a2a.TaskStatusUpdateEvent:
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
		case !e.Append:
			t.Artifacts[i] = e.Artifact
		default:
			whole := *t.Artifacts[i]
			whole.Parts = joined(whole.Parts, e.Artifact.Parts)
			t.Artifacts[i] = &whole
		}
	}
	return t
}

// joined puts parts behind others; text goes on with text.
func joined(parts, more a2a.ContentParts) a2a.ContentParts {
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

func isText(p *a2a.Part) bool {
	_, ok := p.Content.(a2a.Text)
	return ok && len(p.Metadata) == 0 && p.MediaType == ""
}

// stored reads the task of a row.
func stored(row *junctor.AgentTask) (*a2a.Task, error) {
	var t a2a.Task
	if err := json.Unmarshal(row.Body, &t); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the task %q cannot be read: %w", row.ID, err)
	}
	return &t, nil
}

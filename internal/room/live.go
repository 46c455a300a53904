package room

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/agui"
)

// live is a run of this process, with all that was told of it: who begins to
// listen late hears it from its beginning.
type live struct {
	id   string
	stop context.CancelFunc

	mu     sync.Mutex
	events []json.RawMessage
	ended  bool
	next   *live         // the room's next run
	wake   chan struct{} // closed at every change
}

func newLive(id string, stop context.CancelFunc) *live {
	return &live{id: id, stop: stop, wake: make(chan struct{})}
}

// tell adds an event.
func (l *live) tell(e agui.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // results that are no JSON are the only ones that could not be written
	}
	l.change(func() { l.events = append(l.events, text) })
}

func (l *live) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.wake)
	l.wake = make(chan struct{})
}

// hall is a room in which somebody listens, or a run goes on.
type hall struct {
	last      *live // the newest run; an ended one without events before the first
	listeners int
}

// Feed gives the events of a room, or of one run.
type Feed struct {
	rooms *Rooms
	at    place
	run   *live
	from  int
	goOn  bool // with the room's next runs
	once  sync.Once
}

// Next waits until there are events, the time is up or ctx ends. more is false
// when there will be no others.
func (f *Feed) Next(ctx context.Context, wait time.Duration) (events []json.RawMessage, more bool) {
	up := time.After(wait)
	for {
		f.run.mu.Lock()
		events, wake := f.run.events[f.from:], f.run.wake
		ended, next := f.run.ended, f.run.next
		f.run.mu.Unlock()
		f.from += len(events)
		switch {
		case len(events) > 0:
			return events, true
		case ended && !f.goOn:
			return nil, false
		case ended && next != nil:
			f.run, f.from = next, 0
			continue
		}
		select {
		case <-wake:
		case <-up:
			return nil, true
		case <-ctx.Done():
			return nil, false
		case <-f.rooms.whole.Done():
			if !f.goOn {
				select { // the run still tells how it ended
				case <-wake:
					continue
				case <-ctx.Done():
				}
			}
			return nil, false
		}
	}
}

// Close ends the listening. The run goes on.
func (f *Feed) Close() {
	f.once.Do(func() {
		f.rooms.mu.Lock()
		defer f.rooms.mu.Unlock()
		if h := f.rooms.halls[f.at]; h != nil {
			h.listeners--
			f.rooms.sweep(f.at, h)
		}
	})
}

// listen follows a room: from the beginning of the run that goes on in it, or
// of the next one. With a run, that one alone.
func (r *Rooms) listen(at place, run *live) *Feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hall(at)
	h.listeners++
	f := &Feed{rooms: r, at: at, run: run, goOn: run == nil}
	if run == nil {
		f.run = h.last
		f.run.mu.Lock()
		if f.run.ended {
			f.from = len(f.run.events)
		}
		f.run.mu.Unlock()
	}
	return f
}

// hall is for those who hold r.mu.
func (r *Rooms) hall(at place) *hall {
	h := r.halls[at]
	if h == nil {
		h = &hall{last: &live{ended: true, wake: make(chan struct{})}}
		r.halls[at] = h
	}
	return h
}

// open makes a run the room's newest.
func (r *Rooms) open(at place, l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hall(at)
	h.last.change(func() { h.last.next = l })
	h.last = l
}

// shut ends a run for those who listen.
func (r *Rooms) shut(at place, l *live) {
	l.change(func() { l.ended = true })
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.halls[at]; h != nil {
		r.sweep(at, h)
	}
}

// sweep forgets a hall in which nothing goes on. It is for those who hold r.mu.
func (r *Rooms) sweep(at place, h *hall) {
	h.last.mu.Lock()
	defer h.last.mu.Unlock()
	if h.listeners == 0 && h.last.ended {
		delete(r.halls, at)
	}
}

// running gives the run of this process that goes on in a room; nil if none
// does.
func (r *Rooms) running(at place) *live {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.halls[at]
	if h == nil {
		return nil
	}
	h.last.mu.Lock()
	defer h.last.mu.Unlock()
	if h.last.ended {
		return nil
	}
	return h.last
}

package room

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/agui"
)

// liveRun is a run of this process, with all that was told of it: who begins to
// listen late hears it from its beginning.
type liveRun struct {
	id   string
	stop context.CancelFunc

	mu      sync.Mutex
	events  []json.RawMessage
	ended   bool
	nextRun *liveRun      // the room's next run
	changed chan struct{} // closed at every change
}

func newLiveRun(id string, stop context.CancelFunc) *liveRun {
	return &liveRun{id: id, stop: stop, changed: make(chan struct{})}
}

// publish adds an event.
func (l *liveRun) publish(e agui.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // results that are no JSON are the only ones that could not be written
	}
	l.update(func() { l.events = append(l.events, text) })
}

func (l *liveRun) update(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// activeRoom is a room in which somebody listens, or a run goes on.
type activeRoom struct {
	latestRun *liveRun // the newest run; an ended one without events before the first
	listeners int
}

// Feed gives the events of a room, or of one run.
type Feed struct {
	rooms       *Rooms
	key         roomKey
	run         *liveRun
	offset      int
	followsRoom bool // with the room's next runs
	closeOnce   sync.Once
}

// Next waits until there are events, the time is up or ctx ends. more is false
// when there will be no others.
func (f *Feed) Next(ctx context.Context, wait time.Duration) (events []json.RawMessage, more bool) {
	up := time.After(wait)
	for {
		f.run.mu.Lock()
		events, wake := f.run.events[f.offset:], f.run.changed
		ended, next := f.run.ended, f.run.nextRun
		f.run.mu.Unlock()
		f.offset += len(events)
		switch {
		case len(events) > 0:
			return events, true
		case ended && !f.followsRoom:
			return nil, false
		case ended && next != nil:
			f.run, f.offset = next, 0
			continue
		}
		select {
		case <-wake:
		case <-up:
			return nil, true
		case <-ctx.Done():
			return nil, false
		case <-f.rooms.lifetime.Done():
			if !f.followsRoom {
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
	f.closeOnce.Do(func() {
		f.rooms.mu.Lock()
		defer f.rooms.mu.Unlock()
		if h := f.rooms.activeRooms[f.key]; h != nil {
			h.listeners--
			f.rooms.removeIfIdle(f.key, h)
		}
	})
}

// newFeed follows a room: from the beginning of the run that goes on in it, or
// of the next one. With a run, that one alone.
func (r *Rooms) newFeed(at roomKey, run *liveRun) *Feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.activateRoom(at)
	h.listeners++
	f := &Feed{rooms: r, key: at, run: run, followsRoom: run == nil}
	if run == nil {
		f.run = h.latestRun
		f.run.mu.Lock()
		if f.run.ended {
			f.offset = len(f.run.events)
		}
		f.run.mu.Unlock()
	}
	return f
}

// activateRoom is for those who hold r.mu.
func (r *Rooms) activateRoom(at roomKey) *activeRoom {
	h := r.activeRooms[at]
	if h == nil {
		h = &activeRoom{latestRun: &liveRun{ended: true, changed: make(chan struct{})}}
		r.activeRooms[at] = h
	}
	return h
}

// setLatestRun makes a run the room's newest.
func (r *Rooms) setLatestRun(at roomKey, l *liveRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.activateRoom(at)
	h.latestRun.update(func() { h.latestRun.nextRun = l })
	h.latestRun = l
}

// endLiveRun ends a run for those who listen.
func (r *Rooms) endLiveRun(at roomKey, l *liveRun) {
	l.update(func() { l.ended = true })
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.activeRooms[at]; h != nil {
		r.removeIfIdle(at, h)
	}
}

// removeIfIdle forgets a hall in which nothing goes on. It is for those who hold r.mu.
func (r *Rooms) removeIfIdle(at roomKey, h *activeRoom) {
	h.latestRun.mu.Lock()
	defer h.latestRun.mu.Unlock()
	if h.listeners == 0 && h.latestRun.ended {
		delete(r.activeRooms, at)
	}
}

// findRunInRoom gives the run of this process that goes on in a room; nil if none
// does.
func (r *Rooms) findRunInRoom(at roomKey) *liveRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.activeRooms[at]
	if h == nil {
		return nil
	}
	h.latestRun.mu.Lock()
	defer h.latestRun.mu.Unlock()
	if h.latestRun.ended {
		return nil
	}
	return h.latestRun
}

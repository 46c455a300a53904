package room

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/agui"
)

// liveRun is a run of this process with all events that it published so far, so
// that a late subscriber receives the run from its beginning.
type liveRun struct {
	id   string
	stop context.CancelFunc

	mu      sync.Mutex
	events  []json.RawMessage
	ended   bool
	nextRun *liveRun      // the run after it in the same room
	changed chan struct{} // closed and replaced at every change
}

// newLiveRun returns a run without events. stop cancels it.
func newLiveRun(id string, stop context.CancelFunc) *liveRun {
	return &liveRun{id: id, stop: stop, changed: make(chan struct{})}
}

// publish appends an event and wakes the subscribers.
func (l *liveRun) publish(e agui.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // only a tool result that is not JSON cannot be encoded
	}
	l.update(func() { l.events = append(l.events, text) })
}

// update applies a change under the lock, and wakes the subscribers.
func (l *liveRun) update(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// activeRoom is a room that has subscribers or a running run. Others take no
// memory.
type activeRoom struct {
	latestRun *liveRun // never nil: before the first run it is an ended run without events
	listeners int
}

// Feed gives a subscriber the events of a room, or of one run. It is for one
// goroutine, apart from Close. The subscriber closes it.
type Feed struct {
	rooms       *Rooms
	key         roomKey
	run         *liveRun
	offset      int
	followsRoom bool // continues with the room's next runs
	closeOnce   sync.Once
}

// Next returns new events as soon as there are any. It returns none when the wait
// is over, and more is false if no event can follow: the run has ended, ctx has
// ended or the instance stops.
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
				select { // the run still publishes how it ended
				case <-wake:
					continue
				case <-ctx.Done():
				}
			}
			return nil, false
		}
	}
}

// Close ends the subscription. The run goes on. Further calls do nothing.
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

// newFeed subscribes to one run or, if run is nil, to a room: from the beginning of
// the run that goes on in it, or from the next run.
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

// activateRoom returns the active room of a key, and creates it if there is none.
// The caller holds r.mu.
func (r *Rooms) activateRoom(at roomKey) *activeRoom {
	h := r.activeRooms[at]
	if h == nil {
		h = &activeRoom{latestRun: &liveRun{ended: true, changed: make(chan struct{})}}
		r.activeRooms[at] = h
	}
	return h
}

// setLatestRun makes a run the newest of its room, to which subscribers of the room
// continue.
func (r *Rooms) setLatestRun(at roomKey, l *liveRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.activateRoom(at)
	h.latestRun.update(func() { h.latestRun.nextRun = l })
	h.latestRun = l
}

// endLiveRun tells subscribers that a run publishes no further events.
func (r *Rooms) endLiveRun(at roomKey, l *liveRun) {
	l.update(func() { l.ended = true })
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.activeRooms[at]; h != nil {
		r.removeIfIdle(at, h)
	}
}

// removeIfIdle removes a room without subscribers and without a running run from
// memory. The caller holds r.mu.
func (r *Rooms) removeIfIdle(at roomKey, h *activeRoom) {
	h.latestRun.mu.Lock()
	defer h.latestRun.mu.Unlock()
	if h.listeners == 0 && h.latestRun.ended {
		delete(r.activeRooms, at)
	}
}

// findRunInRoom returns the run of this process that goes on in a room; nil if
// there is none.
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

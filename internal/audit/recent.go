package audit

import (
	"context"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// RecentCalls keeps the newest calls in memory, up to a fixed number.
type RecentCalls struct {
	mu sync.Mutex
	// A ring; once it is full, nextSlot is the oldest.
	calls []junctor.Call
	// packIDSuffix of each call, by slot: a search reads few cache lines.
	idSuffixes []uint64
	nextSlot   int
	// How many calls were added; the newest has this number.
	callCount uint64
}

// NewRecentCalls returns a RecentCalls for up to size calls.
func NewRecentCalls(size int) *RecentCalls {
	return &RecentCalls{calls: make([]junctor.Call, 0, size), idSuffixes: make([]uint64, size)}
}

// Append adds the start or the end of a call, or a refusal. An end replaces the
// start of its call. It never fails.
func (r *RecentCalls) Append(_ context.Context, c *junctor.Call) error {
	if c.Kind == junctor.KindToolList {
		return nil // no call
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	end := packIDSuffix(c.ID)
	if c.Status != junctor.StatusRunning { // a start is always a new call
		if known := r.findCall(c.ID, end); known != nil {
			*known = *c
			return nil
		}
	}
	r.callCount++
	if len(r.calls) < cap(r.calls) {
		r.calls = append(r.calls, *c)
	} else {
		r.calls[r.nextSlot] = *c
	}
	r.idSuffixes[r.nextSlot] = end
	r.nextSlot = (r.nextSlot + 1) % cap(r.calls)
	return nil
}

// findCall returns the call with an id, or nil. Most calls end soon after they
// start, so it searches the newest first. The caller holds mu.
func (r *RecentCalls) findCall(id string, end uint64) *junctor.Call {
	at := r.nextSlot
	for range r.calls {
		if at == 0 {
			at = cap(r.calls)
		}
		if at--; r.idSuffixes[at] == end && r.calls[at].ID == id {
			return &r.calls[at]
		}
	}
	return nil
}

// packIDSuffix packs the last eight bytes of an id into a number, which differs
// for nearly all ids.
func packIDSuffix(id string) (end uint64) {
	for i := max(0, len(id)-8); i < len(id); i++ {
		end = end<<8 | uint64(id[i])
	}
	return end
}

// slotOf returns the slot of the call with a number.
func (r *RecentCalls) slotOf(n uint64) int { return int((n - 1) % uint64(cap(r.calls))) } //nolint:gosec // below the size of a slice

// Query selects calls. Empty fields select all calls, except Access: an empty one
// selects none.
type Query struct {
	Access junctor.CallAccess
	// Receives the call in the form in which Access may read it; may be nil.
	Match func(*junctor.Call) bool
	Since time.Time
	Limit int
	// Only calls that follow the one with this id in the list: older ones.
	After string
}

// Calls returns matching calls, newest first, each in the form in which q.Access
// may read it. next is the id to continue after; it is "" if there are no more.
//
// next is not a number, because the difference of two numbers would reveal how
// many calls there were that Access may not see. If the call q.After is no longer
// kept, or Access may not see it, the result is empty.
func (r *RecentCalls) Calls(q Query) (calls []junctor.Call, next string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.callCount - uint64(len(r.calls)) + 1
	from := r.callCount
	if q.After != "" {
		last := r.findCall(q.After, packIDSuffix(q.After))
		if last == nil || !q.Access.Sees(last) {
			return nil, ""
		}
		for from >= oldest && r.calls[r.slotOf(from)].ID != q.After {
			from--
		}
		from--
	}
	for n := from; n >= oldest && n > 0; n-- {
		if c := &r.calls[r.slotOf(n)]; !q.Access.Sees(c) || c.Start.Before(q.Since) {
			continue
		}
		c := r.calls[r.slotOf(n)]
		q.Access.Limit(&c)
		if q.Match != nil && !q.Match(&c) {
			continue
		}
		if q.Limit > 0 && len(calls) == q.Limit {
			return calls, calls[len(calls)-1].ID
		}
		calls = append(calls, c)
	}
	return calls, ""
}

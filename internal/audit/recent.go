package audit

import (
	"context"
	"slices"
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

// Query selects calls. Empty fields select all calls, except Access: an empty one
// selects none.
type Query struct {
	Access junctor.CallAccess
	// Receives the call in the form in which Access may read it; may be nil.
	Match func(*junctor.Call) bool
	Since time.Time
	Limit int
	// Only calls behind this position in the list: older ones.
	Before junctor.CallPosition
}

// Calls returns matching calls in the order of their positions, newest first, each in the
// form in which q.Access may read it. more reports that there are further ones.
func (r *RecentCalls) Calls(q Query) (calls []junctor.Call, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slots := make([]int, 0, len(r.calls))
	for i := range r.calls {
		c := &r.calls[i]
		if !c.Start.Before(q.Since) && (q.Before.IsZero() || q.Before.Compare(c.Position()) < 0) && q.Access.Sees(c) {
			slots = append(slots, i)
		}
	}
	// They are nearly in order: a call is added when it was admitted.
	slices.SortFunc(slots, func(a, b int) int { return r.calls[a].Position().Compare(r.calls[b].Position()) })
	for _, i := range slots {
		c := r.calls[i]
		q.Access.Limit(&c)
		if q.Match != nil && !q.Match(&c) {
			continue
		}
		if q.Limit > 0 && len(calls) == q.Limit {
			return calls, true
		}
		calls = append(calls, c)
	}
	return calls, false
}

package audit

import (
	"context"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Recent keeps the newest calls, up to a number of them.
type Recent struct {
	mu         sync.Mutex
	calls      []junctor.Call // a ring; next is the oldest once it is full
	idSuffixes []uint64       // of their ids, where calls lie: hundreds of them are looked at in a few cache lines
	nextSlot   int
	callCount  uint64 // how many calls have come; the newest has this number
}

// NewRecent keeps up to size calls.
func NewRecent(size int) *Recent {
	return &Recent{calls: make([]junctor.Call, 0, size), idSuffixes: make([]uint64, size)}
}

// Append notes the beginning or the end of a call, or a refusal. It never fails.
func (r *Recent) Append(_ context.Context, c *junctor.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := packIDSuffix(c.ID)
	if c.Status != junctor.StatusRunning { // what begins is new
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

// findCall gives the call with an id; nil where it is not kept. Most calls end soon
// after they began, so the newest are looked at first.
func (r *Recent) findCall(id string, end uint64) *junctor.Call {
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

// packIDSuffix is the end of an id, which tells nearly all of them apart.
func packIDSuffix(id string) (end uint64) {
	for i := max(0, len(id)-8); i < len(id); i++ {
		end = end<<8 | uint64(id[i])
	}
	return end
}

// slotOf is where the call with a number lies.
func (r *Recent) slotOf(n uint64) int { return int((n - 1) % uint64(cap(r.calls))) } //nolint:gosec // below the size of a slice

// Query says which calls are wanted; zero members do not filter, but for Access,
// which then has none.
type Query struct {
	Access junctor.CallAccess
	Match  func(*junctor.Call) bool // is given the call as Access lets it be read
	Since  time.Time
	Limit  int
	After  string // only calls that come after the one of this id in the list: older ones
}

// Calls gives matching calls, newest first, each as q.Access lets it be read, and
// the id to continue after; "" when there are no more. It is no number: how far
// apart two of them are would tell how many calls there were that Access does not
// have. Nothing comes after a call that is not kept any more, or that Access does
// not have.
func (r *Recent) Calls(q Query) (calls []junctor.Call, next string) {
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

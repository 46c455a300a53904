package app

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/guard"
)

// followed is a journal that tells those who follow the calls.
type followed struct {
	guard.Journal
	tails *tails
}

func (f followed) Append(ctx context.Context, c *junctor.Call) error {
	err := f.Journal.Append(ctx, c)
	f.tails.tell(c)
	return err
}

// tails are those who follow calls. While there are none, a call costs a look
// at a pointer.
type tails struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*tail]
}

// tail is one who follows calls. The channel holds what they have not seen; beyond
// it calls are missed, since none waits for them. Calls that they may not know of
// are neither, so that the pace and the number of what they are told say nothing
// of them.
type tail struct {
	of     *tails
	access junctor.CallAccess       // to their own calls, or to all; to none of a room, since members come and go
	knows  func(server string) bool // of whose calls by others they are told
	calls  chan junctor.Call
	missed atomic.Int64
}

func (t *tail) sees(c *junctor.Call) bool {
	return c.Tenant == t.access.Tenant() && (t.access.Sees(c) || c.Server != "" && t.knows(c.Server))
}

// tailRoom is more than comes in between two looks of one who keeps up.
const tailRoom = 2000

func (t *tails) tell(c *junctor.Call) {
	all := t.all.Load()
	if all == nil {
		return
	}
	for _, one := range *all {
		if !one.sees(c) {
			continue
		}
		told := *c
		one.access.Limit(&told)
		select {
		case one.calls <- told:
		default:
			one.missed.Add(1)
		}
	}
}

func (t *tails) change(f func([]*tail) []*tail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var now []*tail
	if all := t.all.Load(); all != nil {
		now = slices.Clone(*all)
	}
	if now = f(now); len(now) == 0 {
		t.all.Store(nil)
		return
	}
	t.all.Store(&now)
}

// Tail begins to follow the calls that the principal may know of.
func (c callView) Tail(p *junctor.Principal) admin.Tail {
	t := &tail{of: &c.app.tails, access: junctor.NewCallAccess(p, nil), knows: c.app.servers.ServerLookup(p), calls: make(chan junctor.Call, tailRoom)}
	t.of.change(func(all []*tail) []*tail { return append(all, t) })
	return t
}

// Close ends it.
func (t *tail) Close() {
	t.of.change(func(all []*tail) []*tail { return slices.DeleteFunc(all, func(o *tail) bool { return o == t }) })
}

// Next gives what has come since the last time, or waits for the first.
func (t *tail) Next(ctx context.Context, wait time.Duration) (calls []junctor.Call, missed int) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case c := <-t.calls:
		calls = append(calls, c)
	case <-timer.C:
	case <-ctx.Done():
	}
	for range len(t.calls) {
		calls = append(calls, <-t.calls)
	}
	return calls, int(t.missed.Swap(0))
}

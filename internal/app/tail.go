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

// tail is one who follows the calls of a tenant. The channel holds what they
// have not seen; beyond it calls are missed, since none waits for them.
type tail struct {
	of     *tails
	tenant junctor.TenantID
	calls  chan junctor.Call
	missed atomic.Int64
}

// tailRoom is more than comes in between two looks of one who keeps up.
const tailRoom = 2000

func (t *tails) tell(c *junctor.Call) {
	all := t.all.Load()
	if all == nil {
		return
	}
	for _, one := range *all {
		if one.tenant != c.Tenant {
			continue
		}
		select {
		case one.calls <- *c:
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

// Tail begins to follow the calls of the principal's tenant.
func (s *servers) Tail(p *junctor.Principal) admin.Tail {
	t := &tail{of: &s.app.tails, tenant: p.Tenant, calls: make(chan junctor.Call, tailRoom)}
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

package audit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Tails are the readers that follow calls. While there are none, a call costs one read of
// a pointer. The zero Tails has none.
type Tails struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*Tail]
}

// Tail follows calls. Its channel holds the calls that its reader has not taken. Calls
// that do not fit are dropped and counted, because no call waits for a reader. A Tail
// neither holds nor counts calls that its reader may not know of, so that their number
// says nothing about them.
type Tail struct {
	tails  *Tails
	access junctor.CallAccess       // to the reader's own calls, or to all; to none of a room, since members come and go
	knows  func(server string) bool // reports servers of which the reader sees the calls of others
	calls  chan junctor.Call
	missed atomic.Int64
}

// Appender records calls.
type Appender interface {
	Append(ctx context.Context, c *junctor.Call) error
}

// TailedJournal is a journal whose calls the tails receive.
type TailedJournal struct {
	Appender
	Tails *Tails
}

// Append records a call and sends it to the tails.
func (j TailedJournal) Append(ctx context.Context, c *junctor.Call) error {
	err := j.Appender.Append(ctx, c)
	if c.Kind != junctor.KindToolList {
		j.Tails.send(c)
	}
	return err
}

func (t *Tail) sees(c *junctor.Call) bool {
	return c.Tenant == t.access.Tenant() && (t.access.Sees(c) || c.Server != "" && t.knows(c.Server))
}

// tailCapacity is more than arrives between two reads of a reader that keeps up.
const tailCapacity = 2000

func (t *Tails) send(c *junctor.Call) {
	all := t.all.Load()
	if all == nil {
		return
	}
	for _, one := range *all {
		if !one.sees(c) {
			continue
		}
		limited := *c
		one.access.Limit(&limited)
		select {
		case one.calls <- limited:
		default:
			one.missed.Add(1)
		}
	}
}

func (t *Tails) add(access junctor.CallAccess, knows func(server string) bool) *Tail {
	tail := &Tail{tails: t, access: access, knows: knows, calls: make(chan junctor.Call, tailCapacity)}
	t.change(func(all []*Tail) []*Tail { return append(all, tail) })
	return tail
}

// change replaces the list of tails, which send reads without the lock.
func (t *Tails) change(f func([]*Tail) []*Tail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var now []*Tail
	if all := t.all.Load(); all != nil {
		now = slices.Clone(*all)
	}
	if now = f(now); len(now) == 0 {
		t.all.Store(nil)
		return
	}
	t.all.Store(&now)
}

// Close releases the tail.
func (t *Tail) Close() {
	t.tails.change(func(all []*Tail) []*Tail { return slices.DeleteFunc(all, func(o *Tail) bool { return o == t }) })
}

// Next waits until there are calls, wait has passed or ctx ends. missed counts the calls
// that were dropped since the former Next.
func (t *Tail) Next(ctx context.Context, wait time.Duration) (calls []junctor.Call, missed int) {
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

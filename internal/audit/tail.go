package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// Calls are collected for an interval before the tails of a tenant receive them together:
	// perTail for each tail, but at least minTailInterval and at most maxTailInterval. What
	// costs is to wake and write a tail, so a tenant's tails are woken about 200 times per
	// second in all, however many there are and however many calls.
	perTail         = 5 * time.Millisecond
	minTailInterval = 50 * time.Millisecond
	maxTailInterval = 500 * time.Millisecond
	// tailCapacity is how many calls of a tenant are collected in an interval, and how many wait
	// for slow readers after that. More are dropped and counted, because no call waits for a
	// reader. All readers of the tenant share them.
	tailCapacity = 4096
	// tailAccessAge is how long a tail uses what it read of its reader's rights. It is read
	// again before that for a call that they do not cover, and what can be checked in memory is
	// checked for each call.
	tailAccessAge = 10 * time.Second
)

// Tails are the readers that follow calls. While a tenant has none, a call costs a look into
// a map. The zero Tails has none.
//
// The calls of a tenant are collected in batches that all its tails share: a batch is
// encoded once and never changes. Each tail picks the calls that its reader may see.
type Tails struct {
	capacity int        // in place of tailCapacity, for tests
	mu       sync.Mutex // held while tenants is replaced
	tenants  atomic.Pointer[map[junctor.TenantID]*tenantTails]
}

// tenantTails are the tails of one tenant, and the calls that they share.
type tenantTails struct {
	capacity int
	all      atomic.Pointer[[]*Tail] // never changed in place, so that it is read without a lock

	openMu sync.Mutex
	open   []tailCall  // collected since the last batch
	timer  *time.Timer // makes a batch of open

	mu      sync.Mutex // taken before openMu
	batches []*tailBatch
	first   uint64        // number of batches[0]
	kept    int           // calls in batches
	added   chan struct{} // closed when a batch is added
}

// Tail follows the calls of a tenant for one reader. The calls that it has not taken are
// those of the tenant, and are dropped when there are too many; then the Tail counts those
// that its reader would have received. It does not count calls that its reader may not know
// of, so that the number says nothing about them.
type Tail struct {
	tails  *Tails
	tenant junctor.TenantID
	of     *tenantTails
	reader *CallReader
	match  func(*junctor.Call) bool // nil selects all

	next   uint64 // number of the first batch that was not taken; guarded by of.mu
	missed atomic.Int64
	rights atomic.Pointer[tailRights]
}

// tailRights say which calls a reader may see, as they were read at a moment.
type tailRights struct {
	scopes []junctor.Scope
	// own is the access to the reader's own calls, or to all; to none of a room, since members
	// come and go.
	own   junctor.CallAccess
	knows func(server string) bool // reports, from memory, servers of which the reader sees the calls of others
	// known is the access with the servers that the reader may know of, read at readAt.
	known  junctor.CallAccess
	readAt time.Time
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

// send collects a call for the tails of its tenant. It wakes nobody and encodes nothing.
func (t *Tails) send(c *junctor.Call) {
	tenants := t.tenants.Load()
	if tenants == nil {
		return
	}
	if of := (*tenants)[c.Tenant]; of != nil && !of.collect(c) {
		of.countMissed(c)
	}
}

// collect adds a call to those of the interval. It reports false if there are too many.
func (of *tenantTails) collect(c *junctor.Call) bool {
	of.openMu.Lock()
	defer of.openMu.Unlock()
	if len(of.open) >= of.capacity {
		return false
	}
	if len(of.open) == 0 {
		of.timer.Reset(min(max(time.Duration(len(*of.all.Load()))*perTail, minTailInterval), maxTailInterval))
	}
	of.open = append(of.open, tailCall{call: *c})
	of.open[len(of.open)-1].call.Keeper = nil // the secrets of the call are not for tails
	return true
}

// countMissed notes for each tail that would have received a call that it was dropped.
func (of *tenantTails) countMissed(c *junctor.Call) {
	for _, tail := range *of.all.Load() {
		if tail.selects(c) {
			tail.missed.Add(1)
		}
	}
}

// addBatch makes a batch of the collected calls, and wakes the tails.
func (of *tenantTails) addBatch() {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.closeOpen()
}

// closeOpen makes a batch of the collected calls. It drops the batches that every tail has
// taken, and the oldest if too many calls wait for a slow reader. The caller holds mu.
func (of *tenantTails) closeOpen() {
	of.openMu.Lock()
	calls := of.open
	of.open = nil
	if len(calls) > 0 {
		of.open = make([]tailCall, 0, min(len(calls)+len(calls)/4, of.capacity))
	}
	of.openMu.Unlock()
	if len(calls) == 0 {
		return
	}
	of.batches = append(of.batches, newTailBatch(calls))
	of.kept += len(calls)
	all := *of.all.Load()
	taken := of.end() - 1 // nobody has the new batch
	for _, tail := range all {
		taken = min(taken, tail.next)
	}
	for len(of.batches) > 1 && (of.first < taken || of.kept > of.capacity) {
		of.dropFirst(all)
	}
	close(of.added)
	of.added = make(chan struct{})
}

// end returns the number of the next batch. The caller holds mu.
func (of *tenantTails) end() uint64 { return of.first + uint64(len(of.batches)) }

// dropFirst drops the oldest batch, and counts its calls for the tails that have not taken
// it. The caller holds mu.
func (of *tenantTails) dropFirst(all []*Tail) {
	batch := of.batches[0]
	of.batches[0] = nil
	of.batches = of.batches[1:]
	of.first++
	of.kept -= len(batch.calls)
	for _, tail := range all {
		if tail.next >= of.first {
			continue
		}
		tail.next = of.first
		for i := range batch.calls {
			if c := &batch.calls[i]; !c.hasEnded && tail.selects(&c.call) {
				tail.missed.Add(1)
			}
		}
	}
}

// add begins a tail: it receives the calls that are sent from now on.
func (t *Tails) add(tenant junctor.TenantID, tail *Tail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var tenants map[junctor.TenantID]*tenantTails
	if now := t.tenants.Load(); now != nil {
		tenants = maps.Clone(*now)
	} else {
		tenants = map[junctor.TenantID]*tenantTails{}
	}
	of := tenants[tenant]
	if of == nil {
		of = &tenantTails{capacity: cmp.Or(t.capacity, tailCapacity), added: make(chan struct{})}
		of.all.Store(&[]*Tail{})
		of.timer = time.AfterFunc(time.Hour, of.addBatch)
		of.timer.Stop()
	}
	tail.tails, tail.tenant, tail.of = t, tenant, of
	of.mu.Lock()
	of.closeOpen()
	tail.next = of.end()
	all := append(slices.Clone(*of.all.Load()), tail)
	of.all.Store(&all)
	of.mu.Unlock()
	if tenants[tenant] == nil {
		tenants[tenant] = of
		t.tenants.Store(&tenants)
	}
}

// Close releases the tail.
func (t *Tail) Close() {
	t.tails.mu.Lock()
	defer t.tails.mu.Unlock()
	t.of.mu.Lock()
	all := slices.DeleteFunc(slices.Clone(*t.of.all.Load()), func(o *Tail) bool { return o == t })
	t.of.all.Store(&all)
	t.of.mu.Unlock()
	tenants := *t.tails.tenants.Load()
	if len(all) > 0 || tenants[t.tenant] != t.of {
		return
	}
	t.of.timer.Stop()
	if tenants = maps.Clone(tenants); len(tenants) == 1 {
		t.tails.tenants.Store(nil)
		return
	}
	delete(tenants, t.tenant)
	t.tails.tenants.Store(&tenants)
}

// Wait waits until there are calls that AppendCalls has not taken, wait has passed or ctx
// ends. The calls may be ones that the reader may not see.
func (t *Tail) Wait(ctx context.Context, wait time.Duration) {
	t.of.mu.Lock()
	added, some := t.of.added, t.next < t.of.end()
	t.of.mu.Unlock()
	if some {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-added:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// take returns the batches since the former take, and how many calls were dropped.
func (t *Tail) take() ([]*tailBatch, int) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	batches := slices.Clone(t.of.batches[t.next-t.of.first:])
	t.next = t.of.end()
	return batches, int(t.missed.Swap(0))
}

// AppendCalls appends the calls since the former AppendCalls to b, as JSON objects with
// commas between them: those that the principal, the reader of the tail, may see at this
// moment, in the form in which it may read them. missed counts the calls that were dropped.
// If the scopes of the principal have changed, the tail begins again.
func (t *Tail) AppendCalls(ctx context.Context, p *junctor.Principal, b []byte) (_ []byte, missed int, err error) {
	batches, missed := t.take()
	rights := t.rights.Load()
	if !slices.Equal(rights.scopes, p.Scopes) {
		t.rights.Store(t.reader.newTailRights(p))
		return b, 0, nil
	}
	if len(batches) == 0 {
		return b, missed, nil
	}
	if rights, err = t.reader.readTailRights(ctx, p, rights, batches); err != nil {
		return b, missed, err
	}
	t.rights.Store(rights)
	start := len(b)
	for _, batch := range batches {
		if rights.own.All() && t.match == nil {
			b = appendWithComma(b, start, batch.encodeAll())
			continue
		}
		for i := range batch.calls {
			if text := t.encodeFor(rights, &batch.calls[i]); text != nil {
				b = appendWithComma(b, start, text)
			}
		}
	}
	return b, missed, nil
}

// appendWithComma appends text to a list of JSON values that begins at start.
func appendWithComma(b []byte, start int, text []byte) []byte {
	if len(b) > start && len(text) > 0 {
		b = append(b, ',')
	}
	return append(b, text...)
}

// encodeFor returns a call in the form in which the reader may read it, or nil if the reader
// does not receive it.
func (t *Tail) encodeFor(rights *tailRights, c *tailCall) []byte {
	if c.hasEnded || !rights.known.Sees(&c.call) || !rights.sees(&c.call) {
		return nil
	}
	// A filter selects by what the reader may read, so that it confirms no guess.
	if rights.own.Reads(&c.call) {
		if t.match != nil && !t.match(&c.call) {
			return nil
		}
		return c.full.encode(&c.call)
	}
	limited := c.call
	rights.own.Limit(&limited)
	if t.match != nil && !t.match(&limited) {
		return nil
	}
	return c.limited.encode(&limited)
}

// sees reports, from memory, whether a call may be known.
func (r *tailRights) sees(c *junctor.Call) bool {
	return r.own.Sees(c) || c.Tenant == r.own.Tenant() && c.Server != "" && r.knows(c.Server)
}

// cover reports whether each call that may be known according to memory is one that may be
// known according to what was read.
func (r *tailRights) cover(batches []*tailBatch) bool {
	for _, batch := range batches {
		for i := range batch.calls {
			if c := &batch.calls[i].call; !r.known.Sees(c) && r.sees(c) {
				return false
			}
		}
	}
	return true
}

// selects reports, from memory, whether the reader would receive a call.
func (t *Tail) selects(c *junctor.Call) bool {
	rights := t.rights.Load()
	if !rights.sees(c) {
		return false
	}
	if t.match == nil {
		return true
	}
	limited := *c
	rights.own.Limit(&limited)
	return t.match(&limited)
}

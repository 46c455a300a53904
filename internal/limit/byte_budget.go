package limit

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// UncountedBytes is the largest buffer that a ByteBudget does not count: most
// messages are smaller, and cost it nothing.
const UncountedBytes = 64 << 10

const (
	// minCollectDelay is how long a waiting call waits for a second garbage collection;
	// collections that free nothing double it, up to lastCollect.
	minCollectDelay = 20 * time.Millisecond
	maxCollectDelay  = time.Second
	// freeAfter is how long no large buffer was made before memory goes back to the
	// system; settleBytes is from how many bytes on that is worth a collection.
	freeAfter = 3 * time.Second
	freeThreshold = 16 << 20
	// byteRetryAfter is when a refused call may come back.
	byteRetryAfter = time.Second
	// maxByteWait is the longest that a call waits for room.
	maxByteWait = 20 * time.Second
)

// Party is whose bytes are counted together: all keys and tokens of one user, agent
// or service of a tenant.
type Party struct {
	Tenant          junctor.TenantID
	Issuer, Subject string
}

// PartyOf is the party of a principal; nil is this program itself.
func PartyOf(p *junctor.Principal) Party {
	if p == nil {
		return Party{}
	}
	return Party{Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject}
}

// ByteBudgetOptions of a ByteBudget.
type ByteBudgetOptions struct {
	Total    int64 // bytes of all parties together
	PerParty int64 // bytes of one party; at most Total
	// TotalSetting and PartySetting name the settings in messages to callers.
	TotalSetting, PartySetting string
	// FreeMemory gives memory that nobody holds back to the system, after a peak.
	FreeMemory func()
}

// ByteBudget bounds the memory of messages in flight: bodies of requests and results
// of servers. Large buffers are made through it, and a buffer counts from before it
// is made until the garbage collector has taken it, whoever holds it meanwhile. So
// nobody can forget to release one, and the count is the memory that is really used.
// Who needs more than is left waits for a while; while somebody waits, garbage is
// collected. A nil ByteBudget counts nothing.
type ByteBudget struct {
	options ByteBudgetOptions

	mu         sync.Mutex
	used       int64
	usedByParty    map[Party]int64
	waiters      []*byteWaiter // who came first stands first
	collecting bool          // a goroutine collects for those who wait
	freedSinceGC      int64         // since the last collection
	countedSinceFree       int64         // since memory was last given back
	freeScheduled   bool          // a timer will see to it
	lastCounted   time.Time
}

// byteWaiter is one who waits for room. ready is closed once the bytes are counted.
type byteWaiter struct {
	party   Party
	size     int64
	ready chan struct{}
}

// byteCharge is what one buffer counts.
type byteCharge struct {
	party Party
	size   int64
}

// NewByteBudget makes a ByteBudget.
func NewByteBudget(o ByteBudgetOptions) *ByteBudget {
	o.PerParty = min(o.PerParty, o.Total)
	if o.FreeMemory == nil {
		o.FreeMemory = runtime.GC
	}
	return &ByteBudget{options: o, usedByParty: map[Party]int64{}}
}

// Used is how many bytes are counted now.
func (b *ByteBudget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Make gives an empty buffer with room for n bytes.
//
// Errors: too_large when n is more than one party may ever have, limited when the
// party has too much in flight, unavailable when all parties together have. The last
// two come after a wait: most of the time that ctx leaves, and 20 s at most.
func (b *ByteBudget) Make(ctx context.Context, who Party, n int) ([]byte, error) {
	if b == nil || n <= UncountedBytes {
		return make([]byte, 0, n), nil
	}
	if err := b.acquireBytes(ctx, who, int64(n)); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, n)
	runtime.AddCleanup(&buf[:1][0], b.releaseBytes, byteCharge{who, int64(n)})
	return buf, nil
}

// Count counts a buffer that was made elsewhere, at once and whatever the limits say:
// a copy that nobody can wait for. Others wait until there is room again.
func (b *ByteBudget) Count(who Party, buf []byte) {
	n := int64(cap(buf))
	if b == nil || n <= UncountedBytes {
		return
	}
	b.mu.Lock()
	b.countBytes(who, n)
	b.mu.Unlock()
	runtime.AddCleanup(&buf[:1][0], b.releaseBytes, byteCharge{who, n})
}

// Reserve counts n bytes that are held outside of buffers made here, until release is
// called, which may be called more than once. Its errors are those of Make.
func (b *ByteBudget) Reserve(ctx context.Context, who Party, n int64) (release func(), err error) {
	if b == nil || n <= UncountedBytes {
		return func() {}, nil
	}
	if err := b.acquireBytes(ctx, who, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.releaseBytes(byteCharge{who, n}) }), nil
}

// ErrTooLong says that ReadAll found more than its limit.
var ErrTooLong = errors.New("longer than the limit")

// ReadAll reads r to its end behind what is in buf. size is how much will come, -1
// where that is not known. Its errors are ErrTooLong, those of r, and those of Make,
// which come before anything is read where size is known.
func (b *ByteBudget) ReadAll(ctx context.Context, who Party, buf []byte, r io.Reader, size, limit int64) (_ []byte, err error) {
	if size > limit {
		return buf, ErrTooLong
	}
	g := ByteGrowth{budget: b, ctx: ctx, party: who, maxBytes: limit + 1}
	defer g.Settle()
	if size >= 0 {
		if buf, err = b.growTo(ctx, who, buf, int(size)+1); err != nil { // one more, to see the end
			return buf, err
		}
	}
	for {
		if len(buf) == cap(buf) {
			more := 1 // g makes it more
			if len(buf) < maxFreeGrowth/2 {
				more = max(len(buf), 512)
			}
			if buf, err = g.Grow(buf, more); err != nil {
				return buf, err
			}
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, ErrTooLong
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// growTo gives buf with room for n more bytes, of which it is known that they come.
func (b *ByteBudget) growTo(ctx context.Context, who Party, buf []byte, n int) ([]byte, error) {
	need := len(buf) + n
	if need <= cap(buf) {
		return buf, nil
	}
	if b == nil || need <= UncountedBytes {
		return slices.Grow(buf, n), nil
	}
	more, err := b.Make(ctx, who, need)
	if err != nil {
		return buf, err
	}
	return append(more, buf...), nil
}

// CheckSize refuses n bytes that no party can ever have, with too_large. It counts
// nothing.
func (b *ByteBudget) CheckSize(n int64) error {
	if b != nil && n > b.options.PerParty {
		return junctor.Errorf(junctor.CodeTooLarge, "a message of %d bytes is larger than the %d that one caller may have in flight; %s sets the limit", n, b.options.PerParty, b.options.PartySetting)
	}
	return nil
}

// acquireBytes counts n bytes, once there is room for them.
func (b *ByteBudget) acquireBytes(ctx context.Context, who Party, n int64) error {
	if err := b.CheckSize(n); err != nil {
		return err
	}
	b.mu.Lock()
	if len(b.waiters) == 0 && b.hasRoom(who, n) {
		b.countBytes(who, n)
		b.mu.Unlock()
		return nil
	}
	w := &byteWaiter{who, n, make(chan struct{})}
	b.waiters = append(b.waiters, w)
	b.admitWaiters() // others may wait for their own share alone
	if !b.collecting {
		b.collecting = true
		go b.collectWhileWaiting()
	}
	b.mu.Unlock()
	late := time.NewTimer(maxWaitFor(ctx))
	defer late.Stop()
	select {
	case <-w.ready:
		return nil
	case <-late.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiters, w)
	if i < 0 {
		return nil // there was room at the same moment
	}
	b.waiters = slices.Delete(b.waiters, i, i+1)
	b.admitWaiters()
	return b.refusalError(who, n)
}

// maxWaitFor is how long a call waits for room: a part of the time that it has, so that
// it is told why it was refused and not only that it took too long.
func maxWaitFor(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(maxByteWait, time.Until(deadline)*3/4)
	}
	return maxByteWait
}

// refusalError says whose share is used up.
func (b *ByteBudget) refusalError(who Party, n int64) error {
	if b.usedByParty[who]+n > b.options.PerParty {
		return &junctor.Error{
			Code: junctor.CodeLimited, RetryAfter: byteRetryAfter,
			Message: "this caller has too many bytes of requests and results in flight; try again, with fewer large calls at a time (" + b.options.PartySetting + " sets the limit, " + strconv.FormatInt(b.options.PerParty, 10) + " bytes)",
		}
	}
	return &junctor.Error{
		Code: junctor.CodeUnavailable, RetryAfter: byteRetryAfter,
		Message: "this instance has too many bytes of requests and results in flight; try again (" + b.options.TotalSetting + " sets the limit, " + strconv.FormatInt(b.options.Total, 10) + " bytes)",
	}
}

func (b *ByteBudget) hasRoom(who Party, n int64) bool {
	return b.used+n <= b.options.Total && b.usedByParty[who]+n <= b.options.PerParty
}

// countBytes counts bytes that fit.
func (b *ByteBudget) countBytes(who Party, n int64) {
	b.used += n
	b.usedByParty[who] += n
	b.lastCounted = time.Now()
	if b.countedSinceFree += n; b.countedSinceFree >= freeThreshold && !b.freeScheduled {
		b.freeScheduled = true
		time.AfterFunc(freeAfter, b.freeIdleMemory)
	}
}

// admitWaiters lets those in for whom there is room. Who waits for its own share keeps
// nobody else waiting; who waits for that of all is next, however much it needs.
func (b *ByteBudget) admitWaiters() {
	kept := b.waiters[:0]
	for i, w := range b.waiters {
		if b.used+w.size > b.options.Total && b.usedByParty[w.party]+w.size <= b.options.PerParty {
			kept = append(kept, b.waiters[i:]...)
			break
		}
		if !b.hasRoom(w.party, w.size) {
			kept = append(kept, w)
			continue
		}
		b.countBytes(w.party, w.size)
		close(w.ready)
	}
	clear(b.waiters[len(kept):])
	b.waiters = kept
}

// releaseBytes is called when a buffer is no more.
func (b *ByteBudget) releaseBytes(c byteCharge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= c.size
	b.freedSinceGC += c.size
	if b.usedByParty[c.party] -= c.size; b.usedByParty[c.party] == 0 {
		delete(b.usedByParty, c.party)
	}
	b.admitWaiters()
}

// collectWhileWaiting collects garbage while somebody waits: what is counted may be held by
// nobody any more. While that frees nothing it does so more and more rarely.
func (b *ByteBudget) collectWhileWaiting() {
	for wait := minCollectDelay; ; {
		runtime.GC()
		time.Sleep(wait)
		b.mu.Lock()
		if len(b.waiters) == 0 {
			b.collecting = false
			b.mu.Unlock()
			return
		}
		if wait = min(2*wait, maxCollectDelay); b.freedSinceGC > 0 {
			wait = minCollectDelay
		}
		b.freedSinceGC = 0
		b.mu.Unlock()
	}
}

// freeIdleMemory gives memory back to the system once a peak is over, and comes again while
// there is anything left to give.
func (b *ByteBudget) freeIdleMemory() {
	b.mu.Lock()
	if busy := time.Since(b.lastCounted) < freeAfter; busy {
		b.mu.Unlock()
		time.AfterFunc(freeAfter, b.freeIdleMemory)
		return
	}
	b.countedSinceFree = 0
	b.mu.Unlock()
	b.options.FreeMemory()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used < freeThreshold && b.countedSinceFree < freeThreshold {
		b.freeScheduled = false
		return
	}
	time.AfterFunc(freeAfter, b.freeIdleMemory) // somebody reads slowly
}

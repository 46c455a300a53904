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

// MaxUncountedBytes is the size of the largest buffer that a ByteBudget does not count. Most
// messages are smaller, so most messages never take its lock.
const MaxUncountedBytes = 64 << 10

const (
	// minCollectDelay is the pause after a garbage collection while calls wait for
	// room. Collections that free nothing double it, up to maxCollectDelay.
	minCollectDelay = 20 * time.Millisecond
	maxCollectDelay = time.Second
	// freeAfter is how long no large buffer must have been made before memory is given
	// back to the system. freeThreshold is how many bytes make that worth a collection.
	freeAfter     = 3 * time.Second
	freeThreshold = 16 << 20
	// byteRetryAfter is the Retry-After of a refused call.
	byteRetryAfter = time.Second
	// maxByteWait is the longest time that a call waits for room.
	maxByteWait = 20 * time.Second
)

// Party groups the buffers that count together: those of all keys and tokens of one user,
// agent or service of a tenant.
type Party struct {
	Tenant          junctor.TenantID
	Issuer, Subject string
}

// PartyOf returns the party of a principal. nil stands for this program itself.
func PartyOf(p *junctor.Principal) Party {
	if p == nil {
		return Party{}
	}
	return Party{Tenant: p.Tenant, Issuer: p.Issuer, Subject: p.Subject}
}

// ByteBudgetOptions configures a ByteBudget.
type ByteBudgetOptions struct {
	Total    int64 // bytes of all parties together
	PerParty int64 // bytes of one party; at most Total
	// TotalSetting and PartySetting name the settings in messages to callers.
	TotalSetting, PartySetting string
	// FreeMemory gives unused memory back to the system after a peak. nil runs the
	// garbage collector.
	FreeMemory func()
}

// ByteBudget bounds the memory of messages in flight: bodies of requests and results of
// servers. Code that needs a large buffer allocates it with Make, ReadAll or a
// ByteGrowth. A buffer counts from before its allocation until the garbage collector has
// freed it. So no caller can forget to release one, and the count is the memory that is
// really in use.
//
// A caller that needs more than is left waits for a while, and garbage is collected in
// the meantime. A nil ByteBudget counts nothing.
type ByteBudget struct {
	options ByteBudgetOptions

	mu               sync.Mutex // guards all fields below
	used             int64
	usedByParty      map[Party]int64
	waiters          []*byteWaiter // oldest first
	collecting       bool          // collectWhileWaiting runs
	freedSinceGC     int64         // bytes released since the last collection
	countedSinceFree int64         // bytes counted since memory was last given back
	freeScheduled    bool          // a timer will call freeIdleMemory
	lastCounted      time.Time
}

// byteWaiter is a caller that waits for room. ready is closed after its bytes were
// counted.
type byteWaiter struct {
	party Party
	size  int64
	ready chan struct{}
}

// byteCharge is the share of one buffer in the count.
type byteCharge struct {
	party Party
	size  int64
}

// NewByteBudget makes a ByteBudget. It lowers PerParty to Total if it is larger.
func NewByteBudget(o ByteBudgetOptions) *ByteBudget {
	o.PerParty = min(o.PerParty, o.Total)
	if o.FreeMemory == nil {
		o.FreeMemory = runtime.GC
	}
	return &ByteBudget{options: o, usedByParty: map[Party]int64{}}
}

// UsedBytes returns how many bytes are counted now.
func (b *ByteBudget) UsedBytes() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// MakeBuffer returns an empty buffer with a capacity of n bytes, and counts it for who.
//
// Errors: too_large if n exceeds what one party may ever have; limited if the party has
// too much in flight; unavailable if all parties together have too much in flight. The
// last two come after a wait of most of the time that ctx leaves, at most 20 s.
func (b *ByteBudget) MakeBuffer(ctx context.Context, who Party, n int) ([]byte, error) {
	if b == nil || n <= MaxUncountedBytes {
		return make([]byte, 0, n), nil
	}
	if err := b.acquireBytes(ctx, who, int64(n)); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, n)
	runtime.AddCleanup(&buf[:1][0], b.releaseBytes, byteCharge{who, int64(n)})
	return buf, nil
}

// CountBuffer counts a buffer that was allocated elsewhere. It does not wait and it ignores the
// limits, because the memory is already in use. Later callers of Make wait until there is
// room again.
func (b *ByteBudget) CountBuffer(who Party, buf []byte) {
	n := int64(cap(buf))
	if b == nil || n <= MaxUncountedBytes {
		return
	}
	b.mu.Lock()
	b.countBytes(who, n)
	b.mu.Unlock()
	runtime.AddCleanup(&buf[:1][0], b.releaseBytes, byteCharge{who, n})
}

// ReserveBytes counts n bytes that are held outside of buffers made here, until the caller
// calls release. release may be called more than once. Errors are those of Make.
func (b *ByteBudget) ReserveBytes(ctx context.Context, who Party, n int64) (release func(), err error) {
	if b == nil || n <= MaxUncountedBytes {
		return func() {}, nil
	}
	if err := b.acquireBytes(ctx, who, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.releaseBytes(byteCharge{who, n}) }), nil
}

// ErrTooLong is the error of ReadAll for input that is longer than its limit.
var ErrTooLong = errors.New("longer than the limit")

// ReadAll appends all of r to buf. size is the length of the input, or -1 if it is not
// known. Errors are ErrTooLong, those of r, and those of Make. If size is known, errors
// of Make come before anything is read.
func (b *ByteBudget) ReadAll(ctx context.Context, who Party, buf []byte, r io.Reader, size, limit int64) (_ []byte, err error) {
	if size > limit {
		return buf, ErrTooLong
	}
	g := ByteGrowth{budget: b, ctx: ctx, party: who, maxBytes: limit + 1}
	defer g.FinishMessage()
	if size >= 0 {
		if buf, err = b.growTo(ctx, who, buf, int(size)+1); err != nil { // one more, to see the end
			return buf, err
		}
	}
	for {
		if len(buf) == cap(buf) {
			more := 1 // Grow doubles the buffer by itself
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

// growTo returns buf with room for n more bytes. It is for input of known length; the
// buffer grows to that length at once.
func (b *ByteBudget) growTo(ctx context.Context, who Party, buf []byte, n int) ([]byte, error) {
	need := len(buf) + n
	if need <= cap(buf) {
		return buf, nil
	}
	if b == nil || need <= MaxUncountedBytes {
		return slices.Grow(buf, n), nil
	}
	more, err := b.MakeBuffer(ctx, who, need)
	if err != nil {
		return buf, err
	}
	return append(more, buf...), nil
}

// CheckSize returns a too_large error if no party may ever have n bytes. It counts
// nothing.
func (b *ByteBudget) CheckSize(n int64) error {
	if b != nil && n > b.options.PerParty {
		return junctor.Errorf(junctor.CodeTooLarge, "a message of %d bytes is larger than the %d that one caller may have in flight; %s sets the limit", n, b.options.PerParty, b.options.PartySetting)
	}
	return nil
}

// acquireBytes counts n bytes as soon as there is room for them. Errors are those of
// Make.
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
	b.admitWaiters() // the waiters in front may wait only for their own party's share
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
		return nil // the bytes were counted at the same moment
	}
	b.waiters = slices.Delete(b.waiters, i, i+1)
	b.admitWaiters()
	return b.refusalError(who, n)
}

// maxWaitFor returns how long a call waits for room: three quarters of the time that it
// has. The rest lets it return the reason of the refusal instead of a bare timeout.
func maxWaitFor(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(maxByteWait, time.Until(deadline)*3/4)
	}
	return maxByteWait
}

// refusalError says which limit is used up: the party's or the total. The caller holds
// b.mu.
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

// hasRoom reports whether n more bytes of a party fit. The caller holds b.mu.
func (b *ByteBudget) hasRoom(who Party, n int64) bool {
	return b.used+n <= b.options.Total && b.usedByParty[who]+n <= b.options.PerParty
}

// countBytes counts n bytes without checking limits, and schedules freeIdleMemory if
// enough was counted since the last time. The caller holds b.mu.
func (b *ByteBudget) countBytes(who Party, n int64) {
	b.used += n
	b.usedByParty[who] += n
	b.lastCounted = time.Now()
	if b.countedSinceFree += n; b.countedSinceFree >= freeThreshold && !b.freeScheduled {
		b.freeScheduled = true
		time.AfterFunc(freeAfter, b.freeIdleMemory)
	}
}

// admitWaiters counts the bytes of waiters that fit now. A waiter that exceeds its own
// party's share holds nobody else up. The first waiter that exceeds only the total stops
// the loop, so that small requests cannot starve a large one. The caller holds b.mu.
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

// releaseBytes takes a buffer out of the count. The garbage collector calls it after it
// has freed the buffer.
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

// collectWhileWaiting runs the garbage collector while callers wait, since counted
// buffers may already be unreachable. It runs less often while collections free nothing.
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

// freeIdleMemory gives memory back to the system after a peak. It schedules itself again
// while large buffers are in use.
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
	time.AfterFunc(freeAfter, b.freeIdleMemory) // a slow reader still holds buffers
}

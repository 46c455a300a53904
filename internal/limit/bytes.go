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
	// firstCollect is how long a waiting call waits for a second garbage collection;
	// collections that free nothing double it, up to lastCollect.
	firstCollect = 20 * time.Millisecond
	lastCollect  = time.Second
	// settleAfter is how long no large buffer was made before memory goes back to the
	// system; settleBytes is from how many bytes on that is worth a collection.
	settleAfter = 3 * time.Second
	settleBytes = 16 << 20
	// byteRetry is when a refused call may come back.
	byteRetry = time.Second
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
	o ByteBudgetOptions

	mu         sync.Mutex
	used       int64
	parties    map[Party]int64
	queue      []*byteWaiter // who came first stands first
	collecting bool          // a goroutine collects for those who wait
	freed      int64         // since the last collection
	made       int64         // since memory was last given back
	settling   bool          // a timer will see to it
	lastMade   time.Time
}

// byteWaiter is one who waits for room. ready is closed once the bytes are counted.
type byteWaiter struct {
	who   Party
	n     int64
	ready chan struct{}
}

// byteCharge is what one buffer counts.
type byteCharge struct {
	who Party
	n   int64
}

// NewByteBudget makes a ByteBudget.
func NewByteBudget(o ByteBudgetOptions) *ByteBudget {
	o.PerParty = min(o.PerParty, o.Total)
	if o.FreeMemory == nil {
		o.FreeMemory = runtime.GC
	}
	return &ByteBudget{o: o, parties: map[Party]int64{}}
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
	if err := b.acquire(ctx, who, int64(n)); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, n)
	runtime.AddCleanup(&buf[:1][0], b.release, byteCharge{who, int64(n)})
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
	b.count(who, n)
	b.mu.Unlock()
	runtime.AddCleanup(&buf[:1][0], b.release, byteCharge{who, n})
}

// Reserve counts n bytes that are held outside of buffers made here, until release is
// called, which may be called more than once. Its errors are those of Make.
func (b *ByteBudget) Reserve(ctx context.Context, who Party, n int64) (release func(), err error) {
	if b == nil || n <= UncountedBytes {
		return func() {}, nil
	}
	if err := b.acquire(ctx, who, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.release(byteCharge{who, n}) }), nil
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
	g := ByteGrowth{budget: b, ctx: ctx, who: who, most: limit + 1}
	defer g.Settle()
	if size >= 0 {
		if buf, err = b.room(ctx, who, buf, int(size)+1); err != nil { // one more, to see the end
			return buf, err
		}
	}
	for {
		if len(buf) == cap(buf) {
			more := 1 // g makes it more
			if len(buf) < freeGrowth/2 {
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

// room gives buf with room for n more bytes, of which it is known that they come.
func (b *ByteBudget) room(ctx context.Context, who Party, buf []byte, n int) ([]byte, error) {
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
	if b != nil && n > b.o.PerParty {
		return junctor.Errorf(junctor.CodeTooLarge, "a message of %d bytes is larger than the %d that one caller may have in flight; %s sets the limit", n, b.o.PerParty, b.o.PartySetting)
	}
	return nil
}

// acquire counts n bytes, once there is room for them.
func (b *ByteBudget) acquire(ctx context.Context, who Party, n int64) error {
	if err := b.CheckSize(n); err != nil {
		return err
	}
	b.mu.Lock()
	if len(b.queue) == 0 && b.fits(who, n) {
		b.count(who, n)
		b.mu.Unlock()
		return nil
	}
	w := &byteWaiter{who, n, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.admit() // others may wait for their own share alone
	if !b.collecting {
		b.collecting = true
		go b.collect()
	}
	b.mu.Unlock()
	late := time.NewTimer(patience(ctx))
	defer late.Stop()
	select {
	case <-w.ready:
		return nil
	case <-late.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, w)
	if i < 0 {
		return nil // there was room at the same moment
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	b.admit()
	return b.refuse(who, n)
}

// patience is how long a call waits for room: a part of the time that it has, so that
// it is told why it was refused and not only that it took too long.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(maxByteWait, time.Until(deadline)*3/4)
	}
	return maxByteWait
}

// refuse says whose share is used up.
func (b *ByteBudget) refuse(who Party, n int64) error {
	if b.parties[who]+n > b.o.PerParty {
		return &junctor.Error{
			Code: junctor.CodeLimited, RetryAfter: byteRetry,
			Message: "this caller has too many bytes of requests and results in flight; try again, with fewer large calls at a time (" + b.o.PartySetting + " sets the limit, " + strconv.FormatInt(b.o.PerParty, 10) + " bytes)",
		}
	}
	return &junctor.Error{
		Code: junctor.CodeUnavailable, RetryAfter: byteRetry,
		Message: "this instance has too many bytes of requests and results in flight; try again (" + b.o.TotalSetting + " sets the limit, " + strconv.FormatInt(b.o.Total, 10) + " bytes)",
	}
}

func (b *ByteBudget) fits(who Party, n int64) bool {
	return b.used+n <= b.o.Total && b.parties[who]+n <= b.o.PerParty
}

// count counts bytes that fit.
func (b *ByteBudget) count(who Party, n int64) {
	b.used += n
	b.parties[who] += n
	b.lastMade = time.Now()
	if b.made += n; b.made >= settleBytes && !b.settling {
		b.settling = true
		time.AfterFunc(settleAfter, b.settle)
	}
}

// admit lets those in for whom there is room. Who waits for its own share keeps
// nobody else waiting; who waits for that of all is next, however much it needs.
func (b *ByteBudget) admit() {
	kept := b.queue[:0]
	for i, w := range b.queue {
		if b.used+w.n > b.o.Total && b.parties[w.who]+w.n <= b.o.PerParty {
			kept = append(kept, b.queue[i:]...)
			break
		}
		if !b.fits(w.who, w.n) {
			kept = append(kept, w)
			continue
		}
		b.count(w.who, w.n)
		close(w.ready)
	}
	clear(b.queue[len(kept):])
	b.queue = kept
}

// release is called when a buffer is no more.
func (b *ByteBudget) release(c byteCharge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= c.n
	b.freed += c.n
	if b.parties[c.who] -= c.n; b.parties[c.who] == 0 {
		delete(b.parties, c.who)
	}
	b.admit()
}

// collect collects garbage while somebody waits: what is counted may be held by
// nobody any more. While that frees nothing it does so more and more rarely.
func (b *ByteBudget) collect() {
	for wait := firstCollect; ; {
		runtime.GC()
		time.Sleep(wait)
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.collecting = false
			b.mu.Unlock()
			return
		}
		if wait = min(2*wait, lastCollect); b.freed > 0 {
			wait = firstCollect
		}
		b.freed = 0
		b.mu.Unlock()
	}
}

// settle gives memory back to the system once a peak is over, and comes again while
// there is anything left to give.
func (b *ByteBudget) settle() {
	b.mu.Lock()
	if busy := time.Since(b.lastMade) < settleAfter; busy {
		b.mu.Unlock()
		time.AfterFunc(settleAfter, b.settle)
		return
	}
	b.made = 0
	b.mu.Unlock()
	b.o.FreeMemory()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used < settleBytes && b.made < settleBytes {
		b.settling = false
		return
	}
	time.AfterFunc(settleAfter, b.settle) // somebody reads slowly
}

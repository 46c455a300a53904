package queue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Options configure a Queue. DB and Logger are required.
type Options struct {
	DB            store.Database
	Owner         string        // the replica that leases
	LeaseDuration time.Duration // default DefaultLease
	Logger        *slog.Logger
	Now           func() time.Time // default time.Now
	// Between 0 and 1; default: random.
	Jitter func() float64
	// OnChange is called after each commit that changed jobs or events, with their tenants. It
	// must not block. Default: nothing is called.
	OnChange func(tenants map[junctor.TenantID]bool)
}

// DefaultLease is how long a lease lasts unless it is extended.
const DefaultLease = 15 * time.Second

// Queue gives access to all queues of one database. It is safe for concurrent
// use, also by several processes.
type Queue struct {
	options Options
	writes  chan *pendingWrite // writes
	// Claims; with several writers they do not wait for other writes.
	claimWrites chan *pendingWrite
	stop        chan struct{} // closed by Close
	closeOnce   sync.Once
	writers     sync.WaitGroup

	mu sync.Mutex
	// Channels that Poke signals.
	wakers []chan<- struct{}
	// Claims without open leases.
	emptyClaims []*leaseClaim
	// Time of the last check for strays, by queue.
	strayChecks map[string]time.Time

	// Commits, and the writes in them.
	commitCount, writeCount atomic.Int64
}

// New returns a Queue and starts its writers. The caller must call Close.
func New(o Options) (*Queue, error) {
	if o.DB.Write == nil || o.DB.Dialect == nil || o.Logger == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "queue: a part of Options is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	if o.LeaseDuration <= 0 {
		o.LeaseDuration = DefaultLease
	}
	q := &Queue{options: o, writes: make(chan *pendingWrite, maxBatch), stop: make(chan struct{}), strayChecks: map[string]time.Time{}}
	writers := o.DB.Dialect.Writers()
	for range writers {
		q.writers.Go(func() { q.runWriter(q.writes) })
	}
	if q.claimWrites = q.writes; writers > 1 {
		q.claimWrites = make(chan *pendingWrite)
		q.writers.Go(func() { q.runWriter(q.claimWrites) })
	}
	return q, nil
}

// Close stops the writers. Writes that are waiting, and later ones, fail with
// CodeUnavailable.
func (q *Queue) Close() {
	q.closeOnce.Do(func() { close(q.stop) })
	q.writers.Wait()
}

// LeaseDuration returns how long a lease lasts.
func (q *Queue) LeaseDuration() time.Duration { return q.options.LeaseDuration }

// Commits returns how many transactions there were, and how many writes they
// contained.
func (q *Queue) Commits() (groups, writes int64) { return q.commitCount.Load(), q.writeCount.Load() }

// RegisterWaker registers a channel that receives a signal, without blocking, when jobs
// may have become ready in this process. The signal is only a hint.
func (q *Queue) RegisterWaker(c chan<- struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakers = append(q.wakers, c)
}

// WakeWorkers signals all channels of Wake.
func (q *Queue) WakeWorkers() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// newID returns an id that sorts by time, and by its order within the
// transaction. New ids therefore go to the end of the index.
func (tx *Tx) newID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(tx.now.UnixNano()))
	binary.BigEndian.PutUint16(b[8:10], tx.idCount)
	_, _ = rand.Read(b[10:]) // never fails
	tx.idCount++
	return hex.EncodeToString(b[:])
}

// firstID returns a bound between the ids of the microsecond of t and all earlier
// ids.
func firstID(t time.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(t.Truncate(time.Microsecond).UnixNano()))
	return hex.EncodeToString(b[:])
}

func toMicros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// storedLane returns a lane as it is stored: with its tenant, so that no two
// tenants share one.
func storedLane(tenant junctor.TenantID, lane string) string { return string(tenant) + " " + lane }

// wrapError turns an error of the database into one that may cross packages.
func (q *Queue) wrapError(ctx context.Context, err error, doing string) error {
	if err == nil {
		return nil
	}
	return q.options.DB.Fail(ctx, err, doing)
}

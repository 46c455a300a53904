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

// Options of a Queue. DB and Logger must be set.
type Options struct {
	DB     store.Database
	Owner  string // who leases: this node
	Lease  time.Duration
	Logger *slog.Logger
	Now    func() time.Time // nil is time.Now
	Spread func() float64   // between 0 and 1; nil is by chance
}

// DefaultLease is how long a job stays with a process that says nothing more.
const DefaultLease = 15 * time.Second

// Queue is the queues of one database. It is safe for concurrent use, by
// several processes too.
type Queue struct {
	options     Options
	writes      chan *pendingWrite // writes
	claimWrites chan *pendingWrite // claims, which wait for no other write where several are made at once
	stop        chan struct{}
	closeOnce   sync.Once
	writers     sync.WaitGroup

	mu          sync.Mutex
	wakers      []chan<- struct{}
	emptyClaims []*leaseClaim        // none of their leases is left
	strayChecks map[string]time.Time // when strays were looked for, by queue

	commitCount, writeCount atomic.Int64 // commits, and what they held
}

// New makes a Queue and starts its writers. Close ends them.
func New(o Options) (*Queue, error) {
	if o.DB.Write == nil || o.DB.Dialect == nil || o.Logger == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "queue: a part of Options is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Spread == nil {
		o.Spread = mathrand.Float64
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
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

// Close ends the writers; what waits for one is refused.
func (q *Queue) Close() {
	q.closeOnce.Do(func() { close(q.stop) })
	q.writers.Wait()
}

// LeaseTime is how long a lease holds.
func (q *Queue) LeaseTime() time.Duration { return q.options.Lease }

// Commits says how many transactions there were, and how many writes they held.
func (q *Queue) Commits() (groups, writes int64) { return q.commitCount.Load(), q.writeCount.Load() }

// Wake has c told, without waiting, when jobs of this process may have become
// ready. It is a hint.
func (q *Queue) Wake(c chan<- struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakers = append(q.wakers, c)
}

// Poke tells those who asked to be woken.
func (q *Queue) Poke() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// newID makes an id that sorts by time, and by the order in which a transaction
// makes them: an index then grows at its end.
func (tx *Tx) newID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(tx.now.UnixNano()))
	binary.BigEndian.PutUint16(b[8:10], tx.idCount)
	_, _ = rand.Read(b[10:]) // never fails
	tx.idCount++
	return hex.EncodeToString(b[:])
}

// firstID is before all ids that are made in the microsecond of a time, and after
// those that were made before it.
func firstID(t time.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(t.Truncate(time.Microsecond).UnixNano()))
	return hex.EncodeToString(b[:])
}

func toMicros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// storedLane is a lane as it is stored: no two tenants share one.
func storedLane(tenant junctor.TenantID, lane string) string { return string(tenant) + " " + lane }

// wrapError turns an error of the database into one that may cross packages.
func (q *Queue) wrapError(ctx context.Context, err error, doing string) error {
	if err == nil {
		return nil
	}
	return q.options.DB.Fail(ctx, err, doing)
}

package queue_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.LeakCheckedMain(m)) }

const tenant = junctor.DefaultTenant

// clock stands still unless it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// rig is one database, on which tests open queues as processes would.
type rig struct {
	*testing.T
	clock *clock
	open  func() *store.Store
}

// each runs a test on both engines, each time on an empty database.
func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	storetest.EachEngine(t, &server, func(t *testing.T, open func(context.Context) (*store.Store, error)) {
		t.Helper()
		test(newRig(t, open))
	})
}

func newRig(t *testing.T, open func(context.Context) (*store.Store, error)) *rig {
	t.Helper()
	return &rig{T: t, clock: newClock(), open: func() *store.Store {
		st, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}}
}

// queue opens the database once more, as a process of its own.
func (r *rig) queue(owner string) *queue.Queue {
	r.Helper()
	return r.queueWith(owner, func(*queue.Options) {})
}

// queueWith is queue with other options.
func (r *rig) queueWith(owner string, change func(*queue.Options)) *queue.Queue {
	r.Helper()
	o := queue.Options{
		DB: r.open().Database(), Owner: owner, LeaseDuration: lease, Logger: slog.New(slog.DiscardHandler), Now: r.clock.Now, Jitter: func() float64 { return 0.5 },
	}
	change(&o)
	q, err := queue.New(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(q.Close)
	return q
}

const lease = 10 * time.Second

func job(key, lane string) queue.Job {
	return queue.Job{Tenant: tenant, Queue: "q", OrderKey: key, Lane: lane, Payload: []byte(`{}`)}
}

// add adds jobs in one transaction and gives their ids.
func add(t testing.TB, q *queue.Queue, jobs ...queue.Job) (ids []string) {
	t.Helper()
	err := q.Write(t.Context(), func(ctx context.Context, tx *queue.Tx) (err error) {
		ids, err = tx.Enqueue(ctx, jobs...)
		return err
	})
	if err != nil {
		t.Fatalf("enqueue: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
	return ids
}

func plenty(junctor.TenantID, string) int { return 1000 }

// claim leases all that is due.
func (r *rig) claim(q *queue.Queue) (all []*queue.Lease) {
	t := r.T
	t.Helper()
	for range 1000 {
		got, next, err := q.Claim(t.Context(), "q", 100, plenty)
		if err != nil {
			t.Fatalf("claim: %v (cause %v)", err, junctor.AsError(err).Cause)
		}
		all = append(all, got...)
		if len(got) == 0 && next.After(r.clock.Now()) {
			return all
		}
	}
	t.Fatal("claiming does not end")
	return nil
}

func settle(t testing.TB, q *queue.Queue, l *queue.Lease, c queue.Outcome) queue.State {
	t.Helper()
	s, err := q.Settle(t.Context(), l, queue.AttemptResult{Outcome: c, Attempt: queue.Attempt{StartedAt: time.Unix(1, 0), Outcome: "x", Error: "why"}, HoldReason: "token"})
	if err != nil {
		t.Fatalf("settle: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
	return s
}

func get(t testing.TB, q *queue.Queue, id string) queue.Job {
	t.Helper()
	j, err := q.Get(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func idsOf(leases []*queue.Lease) (ids []string) {
	for _, l := range leases {
		ids = append(ids, l.ID)
	}
	return ids
}

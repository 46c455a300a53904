package series_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/sketch"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.LeakCheckedMain(m)) }

// each runs a test on both engines, each on an empty database.
func each(t *testing.T, test func(t *testing.T, db store.Database)) {
	t.Helper()
	open := func(t *testing.T, st *store.Store, err error) store.Database {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st.Database()
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
		test(t, open(t, st, err))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		st, err := postgres.Open(t.Context(), pgtest.Seeded(t, &server, postgres.Open))
		test(t, open(t, st, err))
	})
}

// clock moves only when a test moves it.
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

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// replica is a replica of an instance: a journal in a folder, and a recorder over it.
type replica struct {
	t        *testing.T
	db       store.Database
	name     string
	dir      string
	clock    *clock
	journal  *audit.Journal
	recorder *series.Recorder
	// Every call that was recorded, with the time of its record.
	truth []audit.EndedCall
	rand  *rand.Rand
}

func newReplica(t *testing.T, db store.Database, name string, c *clock) *replica {
	t.Helper()
	r := &replica{t: t, db: db, name: name, dir: filepath.Join(t.TempDir(), "journal"), clock: c, rand: rand.New(rand.NewPCG(1, uint64(len(name))))}
	r.start()
	t.Cleanup(func() { r.stop(true) })
	return r
}

// start opens the journal and follows it.
func (r *replica) start() {
	r.t.Helper()
	var err error
	r.journal, err = audit.Open(context.Background(), audit.Options{Dir: r.dir, Replica: r.name, Now: r.clock.Now, Logger: slog.New(slog.DiscardHandler), SegmentBytes: 1 << 16})
	if err != nil {
		r.t.Fatal(err)
	}
	r.recorder, err = series.NewRecorder(series.Options{
		DB: r.db, Journal: r.journal, Replica: r.name, Logger: slog.New(slog.DiscardHandler), Now: r.clock.Now, Interval: time.Hour,
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// stop ends the replica. If it is not orderly, calls that were not stored are left to the
// next start.
func (r *replica) stop(orderly bool) {
	r.t.Helper()
	if r.journal == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !orderly {
		cancel()
	}
	r.recorder.Close(ctx)
	if err := r.journal.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
	r.journal = nil
}

// call records a random call.
func (r *replica) call() {
	r.t.Helper()
	n := r.rand.IntN
	c := junctor.Call{
		ID: fmt.Sprintf("%032x", r.rand.Uint64()), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: []junctor.EntryPoint{junctor.EntryMCP, junctor.EntryAdmin}[n(2)],
		Server: fmt.Sprint("s", n(3)), Name: fmt.Sprint("t", n(4)), Issuer: junctor.IssuerKey, Subject: fmt.Sprint("k", n(3)),
		Status: junctor.StatusRunning, Start: r.clock.Now(), BytesIn: n(1000),
	}
	if n(2) == 0 {
		c.Agent, c.User = fmt.Sprint("a", n(2)), "u1"
	}
	ended := []junctor.Status{junctor.StatusSuccess, junctor.StatusSuccess, junctor.StatusError, junctor.StatusTimeout, junctor.StatusCanceled, junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid}[n(8)]
	refused := ended == junctor.StatusDenied || ended == junctor.StatusLimited || ended == junctor.StatusInvalid
	if !refused {
		r.append(&c)
		c.Duration, c.BytesOut = time.Duration(n(1_000_000)+1)*time.Microsecond, n(5000)
	}
	c.Status = ended
	r.append(&c)
	r.truth = append(r.truth, audit.EndedCall{
		Time: r.clock.Now(), Tenant: c.Tenant, Kind: c.Kind, EntryPoint: c.EntryPoint, Server: c.Server, Name: c.Name, Issuer: c.Issuer, Subject: c.Subject,
		User: c.User, Agent: c.Agent, Status: c.Status, Duration: c.Duration, BytesIn: c.BytesIn, BytesOut: c.BytesOut,
	})
}

func (r *replica) append(c *junctor.Call) {
	r.t.Helper()
	if err := r.journal.Append(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) flush() {
	r.t.Helper()
	if err := r.recorder.Flush(r.t.Context()); err != nil {
		r.t.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
	}
}

// expected sums calls up without the code under test.
type expected struct {
	series.Sums
	durations []int64
}

func keyOf(by series.Dimension, c *audit.EndedCall) (first, second string, counts bool) {
	path := c.Server + "/" + c.Name
	switch by {
	case series.ByAll:
		return "", "", true
	case series.ByServer:
		return c.Server, "", true
	case series.ByTool:
		return c.Server, c.Name, true
	case series.ByAgent:
		return c.Agent, "", c.Agent != ""
	case series.ByUser:
		return c.User, "", c.User != ""
	case series.ByCaller:
		return c.Issuer, c.Subject, true
	case series.ByEntryPoint:
		return string(c.EntryPoint), "", true
	case series.ByAgentTool:
		return c.Agent, path, c.Agent != ""
	default:
		return c.User, path, c.User != ""
	}
}

func expect(calls []audit.EndedCall, by series.Dimension, step time.Duration) map[[2]string]map[int64]*expected {
	out := map[[2]string]map[int64]*expected{}
	for i := range calls {
		c := &calls[i]
		first, second, counts := keyOf(by, c)
		if !counts {
			continue
		}
		key, at := [2]string{first, second}, calls[i].Time.Truncate(step).Unix()
		if out[key] == nil {
			out[key] = map[int64]*expected{}
		}
		e := out[key][at]
		if e == nil {
			e = &expected{}
			out[key][at] = e
		}
		e.Calls++
		e.BytesIn += int64(c.BytesIn)
		e.BytesOut += int64(c.BytesOut)
		switch c.Status {
		case junctor.StatusError:
			e.Errors++
		case junctor.StatusTimeout:
			e.Timeouts++
		case junctor.StatusCanceled:
			e.Canceled++
		case junctor.StatusDenied:
			e.Denied++
		case junctor.StatusLimited:
			e.Limited++
		case junctor.StatusInvalid:
			e.Invalid++
		default:
		}
		if c.Duration > 0 {
			e.Duration += c.Duration.Microseconds()
			e.durations = append(e.durations, c.Duration.Microseconds())
		}
	}
	return out
}

// check compares every dimension with the calls that were recorded.
func check(t *testing.T, db store.Database, now time.Time, calls []audit.EndedCall) {
	t.Helper()
	for _, by := range series.Dimensions() {
		for _, step := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
			want := expect(calls, by, step)
			got, err := series.Read(t.Context(), db, junctor.DefaultTenant, series.Query{By: by, From: now.Add(-24 * time.Hour), To: now.Add(time.Minute), Step: step, Limit: 100, Points: true}, now)
			if err != nil {
				t.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
			}
			if got.Count != len(want) || len(got.Series) != len(want) {
				t.Errorf("%s per %s: %d of %d series, want %d", by, step, len(got.Series), got.Count, len(want))
			}
			for _, line := range got.Series {
				points := want[[2]string{line.First, line.Second}]
				if len(points) != len(line.Points) {
					t.Errorf("%s %s/%s per %s: %d points, want %d", by, line.First, line.Second, step, len(line.Points), len(points))
					continue
				}
				for i := range line.Points {
					compareNumbers(t, fmt.Sprintf("%s %s/%s at %s", by, line.First, line.Second, line.Points[i].Time), &line.Points[i].Numbers, points[line.Points[i].Time.Unix()])
				}
			}
		}
	}
}

func compareNumbers(t *testing.T, what string, got *series.Numbers, want *expected) {
	t.Helper()
	if want == nil {
		t.Errorf("%s: there were no calls", what)
		return
	}
	if g, w := got.Counts(), want.Counts(); g != w {
		t.Errorf("%s: %v, want %v", what, g, w)
	}
	slices.Sort(want.durations)
	for q, value := range map[float64]int64{0.5: got.P50, 0.95: got.P95, 0.99: got.P99} {
		if len(want.durations) == 0 {
			continue
		}
		exact := float64(want.durations[min(int(q*float64(len(want.durations)-1)), len(want.durations)-1)])
		next := float64(want.durations[min(int(q*float64(len(want.durations)-1))+1, len(want.durations)-1)])
		if low, high := exact*(1-sketch.MaxError)-1, next*(1+sketch.MaxError)+1; float64(value) < low || float64(value) > high {
			t.Errorf("%s: p%v is %d, want %v to %v", what, q*100, value, low, high)
		}
	}
}

// Every number is that of the journals of all replicas, also when replicas end without
// storing what they counted, and when they read what is left from closed segments.
func TestNumbersAreThoseOfTheJournal(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		one, two := newReplica(t, db, "one", c), newReplica(t, db, "two", c)
		for round := range 6 {
			for range 150 {
				one.call()
				two.call()
				c.add(700 * time.Millisecond)
			}
			switch round {
			case 0, 3:
				one.flush()
			case 1:
				one.stop(false)
				one.start()
			case 2:
				two.stop(true)
				two.start()
			case 4:
				one.flush()
				two.flush()
				one.stop(false)
				one.start()
			}
		}
		one.flush()
		two.flush()
		check(t, db, c.Now(), append(one.truth, two.truth...))
	})
}

// A follower that is further behind than memory reaches reads the segments, while calls go
// on.
func TestFollowerFarBehind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		r := newReplica(t, db, "one", c)
		r.flush() // it follows from here on
		for range 10_000 {
			r.call()
		}
		r.flush()
		r.call()
		r.flush()
		check(t, db, c.Now(), r.truth)
	})
}

package series_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) {
	if o := os.Getenv(recordingProcess); o != "" {
		if err := recordCalls(o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(server.LeakCheckedMain(m))
}

// each runs a test on both engines, each on an empty database.
func each(t *testing.T, test func(t *testing.T, db store.Database)) {
	t.Helper()
	storetest.EachEngine(t, &server, func(t *testing.T, open func(context.Context) (*store.Store, error)) {
		t.Helper()
		st, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, st.Database())
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
	key := c.Subject
	if n(2) == 0 { // a user, with or without a key
		c.Issuer, c.Subject, c.User, c.Facts.Key = junctor.IssuerUser, "u1", "u1", []string{"", "k7"}[n(2)]
		key = c.Facts.Key
	}
	if n(6) == 0 {
		r.toolList(&c, key)
		return
	}
	ended := []junctor.Status{junctor.StatusSuccess, junctor.StatusSuccess, junctor.StatusError, junctor.StatusTimeout, junctor.StatusCanceled, junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid}[n(8)]
	refused := ended == junctor.StatusDenied || ended == junctor.StatusLimited || ended == junctor.StatusInvalid
	if !refused {
		r.append(&c)
		c.Duration, c.BytesOut = time.Duration(n(1_000_000)+1)*time.Microsecond, n(5000)
	}
	c.Status = ended
	var rules string
	c.Policy, rules = randomHits(n)
	r.append(&c)
	r.truth = append(r.truth, audit.EndedCall{
		Time: r.clock.Now(), Tenant: c.Tenant, Kind: c.Kind, EntryPoint: c.EntryPoint, Server: c.Server, Name: c.Name, Issuer: c.Issuer, Subject: c.Subject,
		User: c.User, Agent: c.Agent, Status: c.Status, Duration: c.Duration, BytesIn: c.BytesIn, BytesOut: c.BytesOut, Key: key, Rules: rules,
	})
}

// randomHits returns what rules did with a call, and the text of its record.
func randomHits(n func(int) int) (hits []junctor.PolicyHit, rules string) {
	if n(3) > 0 {
		return nil, ""
	}
	for i := range n(4) {
		h := junctor.PolicyHit{
			Rule: fmt.Sprint("r", i%3), Verdict: []junctor.PolicyVerdict{junctor.VerdictDeny, junctor.VerdictAllow, junctor.VerdictRedact, junctor.VerdictAsk}[n(4)],
			Mode: []junctor.PolicyMode{junctor.ModeEnforce, junctor.ModeAudit}[n(2)], Value: []string{"true", "false", "error", "unknown"}[n(4)],
		}
		hits = append(hits, h)
		switch {
		case h.Value == "true":
			rules += fmt.Sprintf(",%s:%s:%s", h.Rule, h.Verdict, h.Mode)
		case h.Value == "error" && h.Verdict != junctor.VerdictAllow:
			rules += fmt.Sprintf(",%s:deny:%s", h.Rule, h.Mode)
		}
	}
	return hits, strings.TrimPrefix(rules, ",")
}

// toolList records a list of tools by the caller of a call, of its server or of all.
func (r *replica) toolList(c *junctor.Call, key string) {
	r.t.Helper()
	c.ID, c.Kind, c.Name, c.Status, c.BytesIn, c.BytesOut = "", junctor.KindToolList, "", "", 0, r.rand.IntN(50_000)
	if r.rand.IntN(2) == 0 {
		c.Server = ""
	}
	r.append(c)
	r.truth = append(r.truth, audit.EndedCall{
		Time: r.clock.Now(), Tenant: c.Tenant, Kind: c.Kind, EntryPoint: c.EntryPoint, Server: c.Server, Issuer: c.Issuer, Subject: c.Subject, User: c.User, Agent: c.Agent, Key: key, BytesOut: c.BytesOut,
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
	path := c.Server + "/" + toolOf(c)
	if c.Kind == junctor.KindToolList && (by == series.ByTool || by == series.ByAgentTool || by == series.ByUserTool || by == series.ByServer && c.Server == "") {
		return "", "", false // it is of no tool
	}
	switch by {
	case series.ByAll:
		return "", "", true
	case series.ByServer:
		return c.Server, "", true
	case series.ByTool:
		return c.Server, toolOf(c), true
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
	case series.ByKey:
		return c.Key, "", c.Key != ""
	default:
		return c.User, path, c.User != ""
	}
}

// keysOf returns the keys of all series of a dimension that count a call.
func keysOf(by series.Dimension, c *audit.EndedCall) (keys [][2]string) {
	if by != series.ByPolicy {
		if first, second, counts := keyOf(by, c); counts {
			keys = append(keys, [2]string{first, second})
		}
		return keys
	}
	for rule := range strings.SplitSeq(c.Rules, ",") {
		if name, _, _ := strings.Cut(rule, ":"); name != "" && !slices.Contains(keys, [2]string{name, ""}) {
			keys = append(keys, [2]string{name, ""})
		}
	}
	return keys
}

func expect(calls []audit.EndedCall, by series.Dimension, step time.Duration) map[[2]string]map[int64]*expected {
	out := map[[2]string]map[int64]*expected{}
	for i := range calls {
		c, at := calls[i], calls[i].Time.Truncate(step).Unix()
		if by == series.ByPolicy && (strings.Contains(c.Rules, ":deny:enforce") || strings.Contains(c.Rules, ":ask:enforce")) {
			c.Status = junctor.StatusDenied
		}
		for _, key := range keysOf(by, &c) {
			if out[key] == nil {
				out[key] = map[int64]*expected{}
			}
			e := out[key][at]
			if e == nil {
				e = &expected{}
				out[key][at] = e
			}
			e.addCall(&c)
		}
	}
	return out
}

// addCall counts a call.
func (e *expected) addCall(c *audit.EndedCall) {
	if c.Kind == junctor.KindToolList {
		e.ToolLists++
		e.DefinitionTokens += int64(math.Ceil(float64(c.BytesOut) / 4))
		return
	}
	e.Calls++
	e.BytesIn += int64(c.BytesIn)
	e.BytesOut += int64(c.BytesOut)
	switch c.Status {
	case junctor.StatusError:
		e.Errors++
	case junctor.StatusTimeout:
		e.Timeouts++
	case junctor.StatusCanceled, junctor.StatusLapsed:
		e.Canceled++
	case junctor.StatusDenied:
		e.Denied++
		return
	case junctor.StatusLimited:
		e.Limited++
		return
	case junctor.StatusInvalid:
		e.Invalid++
		return
	default:
	}
	e.Duration += c.Duration.Microseconds()
	e.durations = append(e.durations, c.Duration.Microseconds())
}

// check compares every dimension with the calls that were recorded, and returns how many
// figures it compared.
func check(t *testing.T, db store.Database, now time.Time, calls []audit.EndedCall) (figures int) {
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
					figures += compareNumbers(t, fmt.Sprintf("%s %s/%s at %s", by, line.First, line.Second, line.Points[i].Time), &line.Points[i].Numbers, points[line.Points[i].Time.Unix()])
				}
			}
		}
	}
	return figures
}

func compareNumbers(t *testing.T, what string, got *series.Numbers, want *expected) (figures int) {
	t.Helper()
	if want == nil {
		t.Errorf("%s: there were no calls", what)
		return 0
	}
	g, w := got.Counts(), want.Counts()
	if g != w {
		t.Errorf("%s: %v, want %v", what, g, w)
	}
	return len(g) + want.checkPercentiles(t, what, map[float64]int64{0.5: got.P50, 0.95: got.P95, 0.99: got.P99})
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

// countMinuteRows returns how many series have calls in any one minute, without those of
// others.
func countMinuteRows(t *testing.T, db store.Database) int {
	t.Helper()
	var n int
	if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM series WHERE step = 60 AND first_key <> '(other)'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A tenant has at most 10,000 series with calls in one minute, however often the sums are
// stored in it, and whether or not the replica was started again in it.
func TestLimitOfAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		r := newReplica(t, db, "one", c)
		calls := int64(0)
		record := func(n int) {
			for range n { // each call has eight series of its own
				calls++
				id := fmt.Sprint(calls)
				r.append(&junctor.Call{
					ID: id, Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "s", Name: "t" + id, Issuer: junctor.IssuerKey, Subject: "k" + id,
					Agent: "a" + id, User: "u" + id, Status: junctor.StatusDenied, Start: c.Now(), Policy: []junctor.PolicyHit{{Rule: "r" + id, Verdict: junctor.VerdictDeny, Mode: junctor.ModeEnforce, Value: "true"}},
				})
			}
			r.flush()
		}
		record(1500)
		r.stop(false)
		r.start()
		record(300)
		record(300)
		if n := countMinuteRows(t, db); n != 10_000 {
			t.Errorf("%d series have calls in one minute", n)
		}
		if r.recorder.OtherCalls() == 0 {
			t.Error("no call is counted as other")
		}
		for _, by := range series.Dimensions() {
			q := series.Query{By: by, From: c.Now().Add(-time.Minute), To: c.Now(), Limit: 1}
			if by != series.ByAll && by != series.ByServer && by != series.ByEntryPoint {
				q.First = []string{"(other)"}
			}
			got, err := series.Read(t.Context(), db, junctor.DefaultTenant, q, c.Now())
			if err != nil || len(got.Series) != 1 || (q.First == nil) != (got.Series[0].Total.Calls == calls) {
				t.Errorf("by %s: %+v, %v", by, got, err)
			}
		}
		c.add(time.Minute)
		record(1)
		if n := countMinuteRows(t, db); n != 10_000+11 {
			t.Errorf("%d series have calls in two minutes", n)
		}
	})
}

// Texts of callers that a database cannot hold, or that are too long, have the same series
// whether the recorder counts them at once or reads them from the journal.
func TestTextsOfKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		subjects := []string{"a\x00b", "a\xff\xfeb", strings.Repeat("x", 300), strings.Repeat("é", 200), strings.Repeat("x", 254) + "ééé", "\"\x01\u2028"}
		r := newReplica(t, db, "one", c)
		record := func() {
			for i, subject := range subjects {
				r.append(&junctor.Call{
					ID: fmt.Sprint(c.Now().UnixNano(), i), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "s", Name: "t",
					Issuer: junctor.IssuerKey, Subject: subject, Status: junctor.StatusSuccess, Duration: time.Millisecond, Start: c.Now(),
				})
			}
			c.add(time.Millisecond)
		}
		r.flush() // it follows from here on
		record()
		r.flush()
		record()
		r.stop(false) // the next start reads them from the journal
		r.start()
		r.flush()
		got, err := series.Read(t.Context(), db, junctor.DefaultTenant, series.Query{By: series.ByCaller, From: c.Now().Add(-time.Minute), To: c.Now(), Limit: 100}, c.Now())
		if err != nil || len(got.Series) != len(subjects) {
			t.Fatalf("%d series, want %d: %+v, %v", len(got.Series), len(subjects), got, err)
		}
		for _, one := range got.Series {
			if one.Total.Calls != 2 || one.Total.P50 != 1000 {
				t.Errorf("%q: %+v", one.Second, one.Total.Sums)
			}
		}
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

// A recorder that is far behind stores the sums from time to time: with each failure or kill,
// it would otherwise begin again, and a journal that takes longer to read than a store may take
// would never be counted.
func TestFarBehindIsStoredInSteps(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	db := st.Database()
	for _, statement := range []string{
		`CREATE TABLE steps (seq INTEGER)`,
		`CREATE TRIGGER first_step AFTER INSERT ON series_positions BEGIN INSERT INTO steps VALUES (new.seq); END`,
		`CREATE TRIGGER next_step AFTER UPDATE ON series_positions BEGIN INSERT INTO steps VALUES (new.seq); END`,
	} {
		if _, err := db.Write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const perStore = 1000
	r := newReplica(t, db, "one", newClock())
	r.recorder.Close(t.Context())
	for range 5000 {
		r.call()
	}
	r.recorder, err = series.NewRecorder(series.Options{
		DB: db, Journal: r.journal, Replica: r.name, Logger: slog.New(slog.DiscardHandler), Now: r.clock.Now, Interval: time.Hour, RecordsPerStore: perStore,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.flush()
	var steps, most int
	err = db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*), MAX(step) FROM (SELECT seq - LAG(seq, 1, 0) OVER (ORDER BY seq) AS step FROM steps)`).Scan(&steps, &most)
	if err != nil || steps < 5 || most > 2*perStore {
		t.Errorf("%d steps of at most %d records, %v", steps, most, err)
	}
	check(t, db, r.clock.Now(), r.truth)
}

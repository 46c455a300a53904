package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// place is a data directory of its own.
func place(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "journal")
}

// quickRoot is a folder where a sync costs nothing, for tests that make many
// journals and are not about the disk.
func quickRoot(t interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
},
) string {
	t.Helper()
	parent := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	root, err := os.MkdirTemp(parent, "journal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

func open(t testing.TB, o Options) *Journal {
	t.Helper()
	if o.Replica == "" {
		o.Replica = "n1"
	}
	j, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close(context.Background()) })
	return j
}

// clock is a time that a test moves.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time      { return time.Unix(0, c.ns.Load()) }
func (c *clock) add(d time.Duration) { c.ns.Add(int64(d)) }

// at is where a journal is being written.
func at(j *Journal) (path string, off int64, seq uint64, torn bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.path, j.offset, j.seq, j.hasTornTail
}

func closed(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func started(id string) *junctor.Call {
	return &junctor.Call{
		ID: id, Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: "echo", Name: "say", Version: "1.0.0",
		Issuer: "junctor", Subject: "alice", Status: junctor.StatusRunning, Start: time.Now(), BytesIn: 200, ArgsDigest: [32]byte{1, 2, 3},
	}
}

func ended(id string) *junctor.Call {
	c := started(id)
	c.Status, c.Duration, c.BytesOut, c.ResultDigest = junctor.StatusSuccess, 1500*time.Microsecond, 300, [32]byte{4, 5, 6}
	return c
}

func record(t testing.TB, j *Journal, calls ...*junctor.Call) {
	t.Helper()
	for _, c := range calls {
		if err := j.Append(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// run records n calls, two records each.
func run(t testing.TB, j *Journal, prefix string, n int) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%04d", prefix, i)
		record(t, j, started(id), ended(id))
	}
}

func verified(t testing.TB, dir string) Report {
	t.Helper()
	r, err := Verify(context.Background(), dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func clean(t testing.TB, dir string) Report {
	t.Helper()
	r := verified(t, dir)
	if !r.OK || r.FirstBad != nil {
		t.Fatalf("the journal does not verify: %v", r.FirstBad)
	}
	return r
}

func TestRecordsOfACall(t *testing.T) {
	t.Parallel()
	dir := place(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 89012345, time.FixedZone("x", 3600))
	j := open(t, Options{Dir: dir, Now: func() time.Time { return at }})
	denied := started("b")
	denied.Status, denied.Code, denied.Reason, denied.Name = junctor.StatusDenied, junctor.CodeDenied, "no \"way\"\n\x00\xff "+strings.Repeat("é", 600), "x\u2028y"
	record(t, j, started("a"), ended("a"), denied)
	closed(t, j)

	got, err := ListRecords(context.Background(), dir, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Fatalf("%d records, want 4", len(got))
	}
	want := `{"seq":3,"replica":"n1","time":"2026-03-04T04:06:07.089012Z","phase":"end","call":"a","tenant":"default","kind":"tool","entry_point":"mcp",` +
		`"server":"echo","name":"say","version":"1.0.0","issuer":"junctor","subject":"alice","status":"success","duration_us":1500,"bytes_in":200,"bytes_out":300,` +
		`"args_b3":"0102030000000000000000000000000000000000000000000000000000000000","result_b3":"0405060000000000000000000000000000000000000000000000000000000000"}`
	if got[1].JSON != want {
		t.Errorf("end record\n got %s\nwant %s", got[1].JSON, want)
	}
	if r := got[0]; r.Phase != PhaseRefuse || r.Seq != 4 || r.Status != junctor.StatusDenied || r.Name != "x\u2028y" ||
		!r.Time.Equal(at.Truncate(time.Microsecond)) || len(r.JSON) > 2000 || !strings.Contains(r.JSON, `é…","bytes_in`) {
		t.Errorf("refusal: %+v", r)
	}
	if got[2].Phase != PhaseStart || got[3].Phase != PhaseSegment {
		t.Errorf("phases %s, %s", got[2].Phase, got[3].Phase)
	}
	if r := clean(t, dir); r.Records != 4 || r.First != 1 || r.Last != 4 || r.Replica != "n1" {
		t.Errorf("report %+v", r)
	}
}

func TestGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for i := range 3 {
		j := open(t, Options{Dir: dir, SegmentBytes: 2000})
		run(t, j, fmt.Sprint(i), 10)
		if s := j.State(); !s.OK || s.Degraded {
			t.Fatalf("state %+v", s)
		}
		closed(t, j)
	}
	segs, err := listSegments(dir)
	if err != nil || len(segs) < 5 {
		t.Fatalf("%d segments, %v", len(segs), err)
	}
	if r := clean(t, dir); r.Records != uint64(60+len(segs)) || len(r.Notes) != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestCallsComeBack(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir, SegmentBytes: 3000})
	run(t, j, "x", 20)
	record(t, j, started("left"))
	before, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant), Limit: 5})
	closed(t, j)
	if before[0].ID != "left" || before[0].Status != junctor.StatusRunning {
		t.Fatalf("newest before: %+v", before[0])
	}

	j = open(t, Options{Dir: dir, RecentCalls: 10})
	after, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant), Limit: 100})
	if len(after) != 10 || after[0].ID != "left" || after[0].Status != junctor.StatusError || after[0].Reason == "" {
		t.Fatalf("%d calls, newest %+v", len(after), after[0])
	}
	got, want := after[1], before[1]
	if d := got.Start.Sub(want.Start); d < -time.Minute || d > time.Minute {
		t.Errorf("start is %s off", d)
	}
	got.Start, want.Start = time.Time{}, time.Time{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart\n got %+v\nwant %+v", got, want)
	}
	record(t, j, ended("left"))
	if now, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant), Limit: 1}); now[0].Status != junctor.StatusSuccess {
		t.Errorf("a call that waited has ended: %+v", now[0])
	}
}

func TestOneProcessOnly(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir})
	_, err := Open(context.Background(), Options{Dir: dir, Replica: "n1"})
	if junctor.CodeOf(err) != junctor.CodeConflict || !strings.Contains(err.Error(), dir) {
		t.Fatalf("a second one got %v", err)
	}
	closed(t, j)
	open(t, Options{Dir: dir})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Replica: "n"}, {Dir: "x"}, {Dir: "x", Replica: "a/b"}, {Dir: "x", Replica: ".."}, {Dir: "x", Replica: "a\"b"}} {
		if _, err := Open(context.Background(), o); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestManyCallers(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		dir := place(t)
		j := open(t, Options{Dir: dir, Strict: strict, SegmentBytes: 8000})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() { run(t, j, fmt.Sprint(g), 20) })
		}
		wg.Wait()
		closed(t, j)
		r := clean(t, dir)
		n := 0
		seen := map[string]Phase{}
		all, err := ListRecords(context.Background(), dir, Filter{Tenant: junctor.DefaultTenant})
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range all { // newest first
			if want := map[Phase]Phase{"": PhaseEnd, PhaseEnd: PhaseStart}[seen[rec.Call]]; rec.Phase != want {
				t.Fatalf("%s of %s, want %s", rec.Phase, rec.Call, want)
			}
			seen[rec.Call] = rec.Phase
			n++
		}
		if n != 16*20*2 || r.Records <= uint64(n) {
			t.Errorf("strict=%t: %d records of calls, %d in all", strict, n, r.Records)
		}
	}
}

func TestAppendAfterClose(t *testing.T) {
	t.Parallel()
	j := open(t, Options{Dir: place(t)})
	closed(t, j)
	if err := j.Append(context.Background(), started("x")); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if s := j.State(); s.OK || s.Error == "" {
		t.Errorf("state %+v", s)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	dir := place(t)
	j := open(t, Options{Dir: dir, RecentCalls: 64, SegmentBytes: 1 << 30})
	ids := make([]string, 256)
	for i := range ids {
		ids[i] = fmt.Sprintf("%026d", i)
	}
	a, b, n := started(""), ended(""), 0
	ctx := context.Background()
	one := func() {
		id := ids[n%len(ids)]
		n++
		a.ID, b.ID = id, id
		if j.Append(ctx, a) != nil || j.Append(ctx, b) != nil {
			t.Error("not recorded")
		}
	}
	for range 1000 {
		one()
	}
	if got := testing.AllocsPerRun(2000, one); got != 0 && !raceOn { // a pool forgets on purpose then
		t.Errorf("two records cost %v allocations", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, strict := range []bool{false, true} {
		for _, callers := range []int{1, 32} {
			mode := map[bool]string{false: "fast", true: "strict"}[strict]
			b.Run(fmt.Sprintf("%s/%d", mode, callers), func(b *testing.B) {
				j := open(b, Options{Dir: place(b), Strict: strict})
				b.ReportAllocs()
				per := b.N/callers + 1
				b.ResetTimer()
				var wg sync.WaitGroup
				for g := range callers {
					wg.Go(func() {
						c := ended("")
						ids := make([]string, 16)
						for i := range ids {
							ids[i] = fmt.Sprintf("%013d%013d", g, i)
						}
						for i := range per {
							c.ID = ids[i%16]
							if err := j.Append(context.Background(), c); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	dir := filepath.Join(quickRoot(b), "journal")
	j := open(b, Options{Dir: dir})
	run(b, j, "x", 50_000)
	closed(b, j)
	for b.Loop() {
		if r := clean(b, dir); r.Records < 100_000 {
			b.Fatal(r.Records)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkAppendShipping is what a copy costs those who record.
func BenchmarkAppendShipping(b *testing.B) {
	j := open(b, Options{Dir: place(b), Shipper: discard{}})
	c := ended("x")
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Append(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) LastShipped(context.Context, string) (uint64, error) { return 0, nil }
func (discard) Ship(context.Context, []Record) error                { return nil }

func TestAMillionRecords(t *testing.T) {
	if os.Getenv("JUNCTOR_PROVE") == "" {
		t.Skip("long: set JUNCTOR_PROVE=1")
	}
	dir := place(t)
	j := open(t, Options{Dir: dir})
	run(t, j, "x", 500_000)
	closed(t, j)
	start := time.Now()
	r := clean(t, dir)
	t.Logf("%d records verified in %s", r.Records, time.Since(start))
	if time.Since(start) > time.Minute {
		t.Error("too slow")
	}
	start = time.Now()
	j = open(t, Options{Dir: dir})
	t.Logf("opened in %s", time.Since(start))
	closed(t, j)
}

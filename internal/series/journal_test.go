package series_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
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

// recordingProcess has the arguments of a process that records calls, as JSON. TestMain
// becomes that process if it is set.
const recordingProcess = "JUNCTOR_TEST_RECORDING"

// recording is what a process of recordCalls does.
type recording struct {
	Postgres bool
	Database string // file or URL
	Dir      string // of the journals
	Replicas []string
	Records  uint64 // until each journal has this many
	Span     time.Duration
}

// callsPerLine is how many calls the process records before it prints a line.
const callsPerLine = 100

// journalsBegin is the time of the first record. The span of a test goes past midnight.
func journalsBegin() time.Time { return time.Date(2026, 5, 4, 22, 30, 0, 0, time.UTC) }

// recordCalls records calls on each replica as fast as it can, while their recorders store
// sums all the time.
func recordCalls(text string) error {
	var o recording
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	open := sqlite.Open
	if o.Postgres {
		open = postgres.Open
	}
	st, err := open(context.Background(), o.Database)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, len(o.Replicas))
	for i, name := range o.Replicas {
		all.Go(func() { errs[i] = o.recordReplica(st.Database(), name) })
	}
	all.Wait()
	for _, err := range append(errs, st.Close()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// recordReplica records the calls of one replica.
func (o *recording) recordReplica(db store.Database, name string) error {
	var ticks atomic.Int64
	now := func() time.Time {
		return journalsBegin().Add(time.Duration(ticks.Load()) * (o.Span / time.Duration(o.Records)))
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	journal, err := audit.Open(context.Background(), audit.Options{Dir: filepath.Join(o.Dir, name, "journal"), Replica: name, Now: now, Logger: log, SegmentBytes: 1 << 20})
	if err != nil {
		return err
	}
	ticks.Store(int64(journal.State().Seq))
	recorder, err := series.NewRecorder(series.Options{DB: db, Journal: journal, Replica: name, Logger: log, Now: now, Interval: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			source := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			for n := 1; journal.State().Seq < o.Records; n++ {
				ticks.Add(2)
				if err := recordRandomCall(journal, source, now()); err != nil {
					failed <- err
					return
				}
				if n%callsPerLine == 0 {
					fmt.Println(name)
				}
			}
		})
	}
	writers.Wait()
	// On a machine with much other work, one attempt may wait for longer than it may take for
	// the rows that the other replicas lock. Then the next one stores the sums.
	for attempt := 1; ; attempt++ {
		err := recorder.Flush(context.Background())
		if err == nil {
			break
		}
		if attempt == 5 {
			return fmt.Errorf("store the sums of %s: %w", name, err)
		}
	}
	recorder.Close(context.Background())
	select {
	case err := <-failed:
		return err
	default:
		return journal.Close(context.Background())
	}
}

// recordRandomCall records a call with every kind of end, of every magnitude of duration.
func recordRandomCall(journal *audit.Journal, source *rand.Rand, now time.Time) error {
	n := source.IntN
	c := junctor.Call{
		ID: fmt.Sprintf("%016x%016x", source.Uint64(), source.Uint64()), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool,
		EntryPoint: []junctor.EntryPoint{junctor.EntryMCP, junctor.EntryStdio, junctor.EntryAdmin}[n(3)], Server: "s" + strconv.Itoa(n(3)), Name: "t" + strconv.Itoa(n(4)),
		Issuer: junctor.IssuerKey, Subject: "k" + strconv.Itoa(n(3)), Status: junctor.StatusRunning, Start: now, BytesIn: n(1000),
	}
	switch n(4) {
	case 0:
		c.Issuer, c.Subject, c.User = junctor.IssuerUser, "u1", "u1"
	case 1:
		c.Issuer, c.Subject, c.Agent, c.User = junctor.IssuerAgent, "a"+strconv.Itoa(n(2)), "", "u2"
		c.Agent = c.Subject
	}
	if c.Issuer != junctor.IssuerKey && n(2) == 0 {
		c.Facts.Key = "k" + strconv.Itoa(n(3)+7)
	}
	if n(10) == 0 {
		c.Kind, c.Name = junctor.KindResource, "file:///"+strconv.Itoa(n(1000))
	}
	if n(12) == 0 { // no call: a list of tools
		c.ID, c.Kind, c.Name, c.Status, c.BytesIn, c.BytesOut = "", junctor.KindToolList, "", "", 0, n(100_000)
		if n(2) == 0 {
			c.Server = ""
		}
		return journal.Append(context.Background(), &c)
	}
	ends := []junctor.Status{
		junctor.StatusSuccess, junctor.StatusSuccess, junctor.StatusSuccess, junctor.StatusError, junctor.StatusTimeout, junctor.StatusCanceled, junctor.StatusLapsed,
		junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid,
	}
	end := ends[n(len(ends))]
	if end != junctor.StatusDenied && end != junctor.StatusLimited && end != junctor.StatusInvalid {
		if err := journal.Append(context.Background(), &c); err != nil {
			return err
		}
		c.Duration, c.BytesOut = time.Duration(math.Exp(source.Float64()*18))*time.Microsecond, n(5000)
	}
	c.Status = end
	c.Policy, _ = randomHits(n)
	return journal.Append(context.Background(), &c)
}

// readJournal returns the calls that ended in a journal, in the lines of its files. It shares
// no code with package audit.
func readJournal(t *testing.T, dir string, calls []audit.EndedCall) []audit.EndedCall {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no journal in %s: %v", dir, err)
	}
	texts := map[string]string{} // each once
	text := func(s string) string {
		if known, ok := texts[s]; ok {
			return known
		}
		texts[s] = s
		return s
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			_, object, _ := bytes.Cut(line, []byte(" "))
			var r struct {
				Time                                                               time.Time
				Call, Phase, Kind, Server, Name, Issuer, Subject, User, Agent, Key string
				EntryPoint                                                         string `json:"entry_point"`
				Status, Rules                                                      string
				Duration                                                           int64 `json:"duration_us"`
				BytesIn                                                            int   `json:"bytes_in"`
				BytesOut                                                           int   `json:"bytes_out"`
			}
			if err := json.Unmarshal(object, &r); err != nil {
				t.Fatalf("%s: %.200s: %v", path, line, err)
			}
			if r.Phase != "tool-list" && (r.Call == "" || r.Status == "" || r.Status == "running") {
				continue
			}
			switch r.Issuer { // the journal leaves out what the subject says
			case "user":
				r.User = r.Subject
			case "agent":
				r.Agent = r.Subject
			case "key":
				r.Key = r.Subject
			}
			calls = append(calls, audit.EndedCall{
				Time: r.Time, Tenant: junctor.DefaultTenant, Kind: junctor.Kind(text(r.Kind)), EntryPoint: junctor.EntryPoint(text(r.EntryPoint)), Server: text(r.Server), Name: text(r.Name),
				Issuer: text(r.Issuer), Subject: text(r.Subject), User: text(r.User), Agent: text(r.Agent), Status: junctor.Status(text(r.Status)),
				Duration: time.Duration(r.Duration) * time.Microsecond, BytesIn: r.BytesIn, BytesOut: r.BytesOut, Key: text(r.Key), Rules: text(r.Rules),
			})
		}
	}
	return calls
}

// TestKilledRecorders kills processes that record calls and store sums, again and again.
// Then every number, of every dimension, step and group of usage, is the one that the
// journals give: counts exactly, percentiles within 1 %.
func TestKilledRecorders(t *testing.T) {
	t.Parallel()
	calls, kills := 20_000, 6
	if os.Getenv("JUNCTOR_LONG") != "" {
		calls, kills = 1_000_000, 51
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := recording{Dir: t.TempDir(), Records: uint64(calls) * 17 / 10 / 3, Span: 3 * time.Hour}
			replicas := []string{"one", "two", "three"}
			groups, open := [][]string{replicas}, sqlite.Open // one process alone has a SQLite database
			if engine == "postgres" {
				groups, open = [][]string{{"one"}, {"two"}, {"three"}}, postgres.Open
				o.Postgres, o.Database = true, pgtest.Seeded(t, &server, postgres.Open)
			} else {
				o.Database = storetest.Fresh(t)
			}
			var all sync.WaitGroup
			var killed atomic.Int64
			for _, group := range groups {
				all.Go(func() { killed.Add(int64(killProcesses(t, o, group, kills/len(groups)))) })
			}
			all.Wait()
			if t.Failed() {
				return
			}
			if int(killed.Load()) < kills {
				t.Errorf("%d processes were killed, want %d", killed.Load(), kills)
			}
			st, err := open(t.Context(), o.Database)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			var truth []audit.EndedCall
			for _, name := range replicas {
				truth = readJournal(t, filepath.Join(o.Dir, name, "journal"), truth)
			}
			end := journalsBegin().Add(o.Span + time.Hour)
			figures := check(t, st.Database(), end, truth) + checkUsage(t, st.Database(), end, truth)
			t.Logf("figure: %s: %d calls of three replicas, %d processes killed while they stored sums: %d figures are those of the journals, percentiles within 1 %%", engine, len(truth), killed.Load(), figures)
		})
	}
}

// killProcesses lets processes record the calls of replicas, one after another, and kills
// all but the last. It returns how many it killed.
func killProcesses(t *testing.T, o recording, replicas []string, kills int) (killed int) {
	t.Helper()
	o.Replicas = replicas
	text, err := json.Marshal(o)
	if err != nil {
		t.Error(err)
		return killed
	}
	// Lines until a kill, so that the journals are not full before the last one.
	lines := int(o.Records)*len(replicas)*10/17/callsPerLine/(kills+1) - 1
	for {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), recordingProcess+"="+string(text))
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return killed
		}
		wasKilled := false
		if killed < kills {
			wasKilled = readLines(out, 1+rand.IntN(max(lines, 1)))
			_ = cmd.Process.Kill() // it has ended by itself otherwise, which Wait returns
		}
		_, _ = io.Copy(io.Discard, out)
		err = cmd.Wait()
		switch {
		case complaints.Len() > 0:
			t.Errorf("a process of %v: %v: %s", replicas, err, complaints.String())
			return killed
		case wasKilled:
			killed++
		default:
			if err != nil {
				t.Errorf("the last process of %v: %v", replicas, err)
			}
			return killed
		}
	}
}

// readLines reads lines, and reports whether there were so many.
func readLines(from io.Reader, count int) bool {
	lines := bufio.NewScanner(from)
	for range count {
		if !lines.Scan() {
			return false
		}
	}
	return true
}

// usageKeyOf returns the texts that identify the sum of a group which counts a call.
func usageKeyOf(by series.UsageGroup, c *audit.EndedCall) string {
	switch by {
	case series.UsageByTool:
		return c.Server + "/" + toolOf(c)
	case series.UsageByServer:
		return c.Server
	case series.UsageByUser:
		return c.User
	case series.UsageByAgent:
		return c.Agent
	case series.UsageByCaller:
		return c.Issuer + "/" + c.Subject
	case series.UsageByEntryPoint:
		return string(c.EntryPoint)
	default:
		return c.Time.Format(time.DateOnly)
	}
}

// checkUsage compares the usage of each group, of all calls and of those that filters
// select, with calls. It returns how many figures it compared.
func checkUsage(t *testing.T, db store.Database, now time.Time, calls []audit.EndedCall) (figures int) {
	t.Helper()
	reader := series.NewReader(series.ReaderOptions{DB: db, Now: func() time.Time { return now }})
	filters := map[string]struct {
		series.UsageFilter
		selects func(c *audit.EndedCall) bool
	}{
		"all":                {selects: func(*audit.EndedCall) bool { return true }},
		"one day":            {series.UsageFilter{Since: journalsBegin(), Until: journalsBegin()}, func(c *audit.EndedCall) bool { return c.Time.Day() == journalsBegin().Day() }},
		"a tool":             {series.UsageFilter{Tool: "s1__t2"}, func(c *audit.EndedCall) bool { return c.Server == "s1" && toolOf(c) == "t2" }},
		"a server by MCP":    {series.UsageFilter{Server: "s2", EntryPoint: junctor.EntryMCP}, func(c *audit.EndedCall) bool { return c.Server == "s2" && c.EntryPoint == junctor.EntryMCP }},
		"a user":             {series.UsageFilter{User: "u2"}, func(c *audit.EndedCall) bool { return c.User == "u2" }},
		"an agent of a user": {series.UsageFilter{User: "u2", Agent: "a1"}, func(c *audit.EndedCall) bool { return c.User == "u2" && c.Agent == "a1" }},
		"a caller":           {series.UsageFilter{Caller: "k1"}, func(c *audit.EndedCall) bool { return c.Subject == "k1" }},
		"nobody":             {series.UsageFilter{Caller: "nobody"}, func(*audit.EndedCall) bool { return false }},
	}
	for name, f := range filters {
		for _, by := range series.UsageGroups() {
			want := map[string]*expected{}
			for i := range calls {
				if c := &calls[i]; c.Kind != junctor.KindToolList && f.selects(c) {
					key := usageKeyOf(by, c)
					if want[key] == nil {
						want[key] = &expected{}
					}
					want[key].addCall(c)
				}
			}
			got, err := reader.Usage(t.Context(), junctor.AllCalls(junctor.DefaultTenant), f.UsageFilter, by)
			if err != nil || len(got) != len(want) {
				t.Errorf("usage of %s by %s: %d groups, want %d; %v", name, by, len(got), len(want), err)
			}
			for _, u := range got {
				key := map[series.UsageGroup]string{
					series.UsageByTool: u.Server + "/" + u.Name, series.UsageByServer: u.Server, series.UsageByUser: u.User, series.UsageByAgent: u.Agent,
					series.UsageByCaller: u.Issuer + "/" + u.Subject, series.UsageByEntryPoint: string(u.EntryPoint), series.UsageByDay: u.Day.Format(time.DateOnly),
				}[by]
				what := fmt.Sprintf("usage of %s by %s: %s", name, by, key)
				e := want[key]
				if e == nil {
					t.Errorf("%s: there were no calls", what)
					continue
				}
				figures += 6
				g, w := []int64{u.Calls, u.Errors, u.Refused, u.Duration.Microseconds(), u.BytesIn, u.BytesOut}, []int64{e.Calls, e.Failed(), e.Refused(), e.Duration, e.BytesIn, e.BytesOut}
				if !slices.Equal(g, w) {
					t.Errorf("%s: %v, want %v", what, g, w)
				}
				figures += e.checkPercentiles(t, what, map[float64]int64{0.5: u.P50.Microseconds(), 0.95: u.P95.Microseconds(), 0.99: u.P99.Microseconds()})
			}
			if by == series.UsageByDay && !slices.IsSortedFunc(got, func(a, b series.Usage) int { return a.Day.Compare(b.Day) }) ||
				by != series.UsageByDay && !slices.IsSortedFunc(got, func(a, b series.Usage) int { return int(b.Calls - a.Calls) }) {
				t.Errorf("usage of %s by %s is not in order", name, by)
			}
		}
	}
	return figures
}

// checkPercentiles compares percentiles, in microseconds, with those of all durations.
func (e *expected) checkPercentiles(t *testing.T, what string, got map[float64]int64) int {
	t.Helper()
	slices.Sort(e.durations)
	for q, value := range got {
		want := 0.0
		if n := len(e.durations); n > 0 {
			want = float64(e.durations[int(math.Ceil(q*float64(n)))-1])
		}
		if math.Abs(float64(value)-want) > sketch.MaxError*want+1 {
			t.Errorf("%s: p%v is %d, want %v", what, q*100, value, want)
		}
	}
	return len(got)
}

// toolOf returns the tool that a call counts for.
func toolOf(c *audit.EndedCall) string {
	if c.Kind == junctor.KindTool {
		return c.Name
	}
	return "(" + string(c.Kind) + ")"
}

package numbers

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestKilledUnderLoad kills the program, or one of three replicas after the other, while
// callers make calls of every kind. Then every figure of the metrics API and of usage is the
// one that the files of the journals give.
func TestKilledUnderLoad(t *testing.T) {
	kills, calls, callers := 4, int64(4000), 8
	if program.Long() {
		kills, calls, callers = 51, 1_000_000, 24
	}
	t.Run("sqlite", func(t *testing.T) {
		addr, dir := program.FreeAddr(t), t.TempDir()
		in := program.Start(t, addr, dir, "--rate-limit", "0")
		url := in.URL
		l := newLoad(t, makeKeys(t, in), callers, func() []string { return []string{url} })
		runAndKill(t, l, callers, kills, calls, func() {
			in.Kill()
			in = program.Start(t, addr, dir, "--rate-limit", "0")
		})
		checkNumbers(t, "SQLite", kills, []*program.Instance{in}, dir)
	})
	t.Run("replicas", func(t *testing.T) {
		c := program.StartCluster(t, program.ClusterOptions{})
		l := newLoad(t, makeKeys(t, c.Replica(0)), callers, func() (urls []string) {
			for _, in := range c.Replicas() {
				urls = append(urls, in.URL)
			}
			return urls
		})
		runAndKill(t, l, callers, kills, calls, func() {
			n := rand.IntN(len(c.Replicas()))
			c.Replica(n).Kill()
			c.Restart(n)
		})
		var dirs []string
		for _, s := range c.Specs() {
			dirs = append(dirs, s.DataDir)
		}
		checkNumbers(t, "PostgreSQL and Redis", kills, c.Replicas(), dirs...)
	})
}

// runAndKill runs the load until it has so many answers, and kills meanwhile.
func runAndKill(t *testing.T, l *load, callers, kills int, calls int64, kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { l.run(ctx, callers) })
	defer work.Wait()
	defer cancel()
	each := calls / int64(kills+1)
	for n := range kills {
		until := l.calls.Load() + 1 + rand.Int64N(each)
		poll.Until(t, "the load", patience, func() bool { return l.calls.Load() >= until })
		kill()
		if t.Failed() {
			t.Fatalf("after kill %d", n+1)
		}
	}
	poll.Until(t, "the last calls", time.Hour, func() bool { return l.calls.Load() >= calls })
}

// checkNumbers holds what the replicas answer to the journals in their data directories.
func checkNumbers(t *testing.T, name string, kills int, replicas []*program.Instance, dirs ...string) {
	t.Helper()
	for _, in := range replicas {
		awaitStored(t, in)
	}
	records := readJournals(t, dirs...)
	lists, ruled := 0, map[string]bool{}
	for i := range records {
		if records[i].isList() {
			lists++
		}
		ruled[records[i].Rules] = true
	}
	if lists == 0 || lists == len(records) || len(ruled) < 4 {
		t.Fatalf("%d records, %d of them of lists, the rules %v: that was no load", len(records), lists, ruled)
	}
	figures := compareMetrics(t, replicas[0], records) + compareUsage(t, replicas[len(replicas)-1], records)
	t.Logf("figure: %s, %d replicas: %d calls and %d tool lists in the journals, %d kills with SIGKILL under load: %d figures of the metrics API and of usage are those of the journals, percentiles within 1 %%",
		name, len(replicas), len(records)-lists, lists, kills, figures)
}

// awaitStored waits until a replica has stored the numbers of all its calls.
func awaitStored(t *testing.T, in *program.Instance) {
	t.Helper()
	poll.Until(t, "the numbers of "+in.URL+" are stored", patience, func() bool { return readPrometheus(t, in)["junctor_series_lag_records"] == 0 })
}

var sample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)

// readPrometheus returns the samples of /metrics by their name and labels.
func readPrometheus(t *testing.T, in *program.Instance) map[string]float64 {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodGet, "/metrics", "")
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("/metrics: %d %.300s %v", a.Status, a.Body, err)
	}
	all := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(a.Body))
	for lines.Scan() {
		if s := sample.FindStringSubmatch(lines.Text()); s != nil {
			value, err := strconv.ParseFloat(s[3], 64)
			if err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			all[strings.TrimSuffix(s[1]+" "+s[2], " ")] = value
		}
	}
	return all
}

// TestNumbersAgree makes calls that end in several ways. The journal, the metrics API, usage
// and stats in the terminal, and Prometheus have the same numbers of them.
func TestNumbersAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := program.Start(t, program.FreeAddr(t), dir, "--rate-limit", "0")
	const callers = 4
	l := newLoad(t, makeKeys(t, in), callers, func() []string { return []string{in.URL} })
	runAndKill(t, l, callers, 0, 1500, nil)
	if a, err := in.Request(t.Context(), http.MethodGet, "/mcp/tools", ""); err != nil || a.Status != http.StatusOK {
		t.Fatalf("/mcp/tools: %d %.300s %v", a.Status, a.Body, err)
	}
	legacy := program.NewCaller(t, program.Legacy, in.URL, program.AdminKey)
	if _, err := legacy.Send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, ""); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, in)
	records := readJournals(t, dir)
	want, tools := &sum{}, map[string]*sum{}
	byStatus, tokens, lists := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range records {
		r := &records[i]
		want.add(r)
		if r.isList() {
			lists[r.EntryPoint]++
			tokens[r.EntryPoint] += math.Ceil(float64(r.BytesOut) / 4)
			continue
		}
		byStatus[r.Status]++
		key := r.Server + "/" + r.tool()
		if tools[key] == nil {
			tools[key] = &sum{}
		}
		tools[key].add(r)
	}
	if want.Errors == 0 || want.Invalid == 0 || want.Denied == 0 || want.Limited == 0 || want.ToolLists == 0 {
		t.Fatalf("not every kind of end is there: %+v", want.numbers)
	}

	var stats struct{ All, Groups answer }
	readCLI(t, in, &stats, "stats", "--last", "1h", "--limit", "100", "--format", "json")
	if len(stats.All.Series) != 1 || len(stats.Groups.Series) != len(tools) {
		t.Fatalf("stats: %+v, want %d tools", stats, len(tools))
	}
	want.compare(t, "stats", stats.All.Series[0].Total)
	var usage struct{ Items []usageRow }
	readCLI(t, in, &usage, "usage", "--by", "tool", "--format", "json")
	if len(usage.Items) != len(tools) {
		t.Errorf("usage: %d tools, want %d", len(usage.Items), len(tools))
	}
	for _, u := range usage.Items {
		s := tools[u.Server+"/"+u.Name]
		if s == nil || u.Calls != s.Calls || u.Errors != s.Errors+s.Timeouts+s.Canceled || u.Refused != s.Denied+s.Limited+s.Invalid || u.BytesIn != s.BytesIn || u.BytesOut != s.BytesOut {
			t.Errorf("usage of %s/%s: %+v, want %+v", u.Server, u.Name, u, s)
		}
	}
	for _, line := range stats.Groups.Series {
		tools[line.First+"/"+line.Second].compare(t, "stats of "+line.First+"/"+line.Second, line.Total)
	}
	figures := compareMetrics(t, in, records)

	prometheus := readPrometheus(t, in)
	var durations float64
	got := map[string]float64{}
	for name, value := range prometheus {
		switch metric, labels, _ := strings.Cut(name, " "); metric {
		case "mcp_calls_total":
			_, status, _ := strings.Cut(labels, `status="`)
			status, _, _ = strings.Cut(status, `"`)
			got[status] += value
		case "mcp_call_duration_seconds_count":
			durations += value
		}
	}
	equal := func(what string, got, want float64) {
		t.Helper()
		if figures++; got != want {
			t.Errorf("Prometheus: %s: %v, want %v", what, got, want)
		}
	}
	for status, n := range byStatus {
		equal("calls with status "+status, got[status], n)
	}
	equal("durations", durations, float64(len(want.durations)))
	equal("calls of echo that succeeded", prometheus[`mcp_calls_total status="success",tool_name="demo__echo"`], float64(succeeded(records, "echo")))
	for entryPoint, n := range lists {
		equal("lists by "+entryPoint, prometheus[`junctor_tool_lists_total entry_point="`+entryPoint+`"`], n)
		equal("tokens by "+entryPoint, prometheus[`junctor_definition_tokens_total entry_point="`+entryPoint+`"`], tokens[entryPoint])
	}
	total := stats.All.Series[0].Total
	for quantile, us := range map[string]int64{"0.5": total.P50, "0.95": total.P95, "0.99": total.P99} {
		equal("quantile "+quantile, prometheus[`junctor_call_duration_seconds quantile="`+quantile+`"`], float64(us)/1e6)
	}
	t.Logf("figure: %d calls and %d tool lists: %d figures of the metrics API, junctor stats, junctor usage and Prometheus agree with the journal", want.Calls, want.ToolLists, figures)
}

// succeeded counts the calls of a tool of demo that succeeded.
func succeeded(records []record, tool string) (n int) {
	for i := range records {
		if r := &records[i]; r.Server == "demo" && r.Kind == "tool" && r.Name == tool && r.Status == "success" {
			n++
		}
	}
	return n
}

// readCLI runs a command that prints JSON.
func readCLI(t *testing.T, in *program.Instance, into any, args ...string) {
	t.Helper()
	out, errs, code := in.CLI(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("%v: %v\n%.500s", args, err, out)
	}
}

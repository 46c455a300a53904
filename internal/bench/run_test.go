package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/bench"
)

// asTests makes Run start this test binary in place of the program.
func asTests() bench.Options {
	return bench.Options{
		Junctor: []string{os.Args[0], "play", "up"}, Child: []string{os.Args[0], "play", "bench-child"},
		Rounds: 1, Starts: 1, Tries: 1, Duration: 100 * time.Millisecond, ShortList: 10, LongList: 20,
		Only: []string{"ready", "call 200B C=1 legacy", "call 64KiB C=8 modern", "stdio 200B C=64", "builtin 200B C=32 legacy", "fastpath 200B C=32 modern", "list 20", "start 20", "change"},
	}
}

// The real program, measured in every way once.
func TestRun(t *testing.T) {
	t.Parallel()
	var progress bytes.Buffer
	options := asTests()
	r, err := bench.Run(t.Context(), options, &progress)
	// A busy machine may answer no call in so short a time: there is nothing to measure.
	if err == nil && !isMeasured(r) {
		options.Duration = 2 * time.Second
		r, err = bench.Run(t.Context(), options, &progress)
	}
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Answers; a.Bad() > 0 || a.Right == 0 {
		t.Errorf("answers: %+v", a)
	}
	targets := map[string][]string{
		"call 200B C=1 legacy":      {bench.Junctor, bench.Direct, bench.ReverseProxy},
		"call 64KiB C=8 modern":     {bench.Junctor, bench.Ungated, bench.Direct, bench.ReverseProxy},
		"stdio 200B C=64 legacy":    {bench.Junctor, bench.Direct, bench.ReverseProxy},
		"builtin 200B C=32 legacy":  {bench.Junctor, bench.Unrecorded, bench.Raw},
		"fastpath 200B C=32 modern": {bench.Junctor, bench.NetHTTP},
		"list 20 legacy":            {bench.Junctor, bench.Direct},
		"list 20 modern":            {bench.Junctor, bench.Direct},
	}
	if len(r.Points) != len(targets) {
		t.Errorf("%d points, want %d", len(r.Points), len(targets))
	}
	for _, p := range r.Points {
		var names []string
		for _, m := range p.Targets {
			names = append(names, m.Name)
			// A busy machine may not get far with many connections in so short a time.
			if p.Conns == 1 && (m.Throughput.N != 1 || m.P50.Median <= 0 || runtime.GOOS == "linux" && m.CPU.N != 1) {
				t.Errorf("%s, %s: %+v", p.Name, m.Name, m)
			}
		}
		if p.Answers.Right == 0 || !slices.Equal(names, targets[p.Name]) {
			t.Errorf("%s: answers %+v, targets %q, want %q", p.Name, p.Answers, names, targets[p.Name])
		}
	}
	for _, row := range r.Rows {
		if strings.Contains(row.Name, "C=1 ") && (row.Ratio.Throughput.N != 1 || row.Control.Throughput.N != 1 || row.Ratio.P99.Median <= 0) {
			t.Errorf("%s of %s: %+v, control %+v", row.Name, row.Against, row.Ratio, row.Control)
		}
	}
	checkLines(t, r)
	for _, write := range []func(io.Writer) error{r.WriteTable, r.WriteMarkdown} {
		var text bytes.Buffer
		if err := write(&text); err != nil || strings.Contains(text.String(), "!(") || !strings.Contains(text.String(), "stdio 200B C=64 legacy") {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back bench.Report
	if err := json.Unmarshal(b, &back); err != nil || len(back.Rows) != len(r.Rows) || len(back.Lines) != len(r.Lines) || back.Failures == nil {
		t.Errorf("the report does not survive JSON: %v, %.300s", err, b)
	}
	t.Log(progress.String())
}

// isMeasured reports whether each point with one connection has a rate of calls.
func isMeasured(r *bench.Report) bool {
	for _, p := range r.Points {
		for _, m := range p.Targets {
			if p.Conns == 1 && m.Throughput.N == 0 {
				return false
			}
		}
	}
	return true
}

// checkLines looks for each value that the run had to bring.
func checkLines(t *testing.T, r *bench.Report) {
	t.Helper()
	lines := map[string]bench.Line{}
	for _, l := range r.Lines {
		lines[l.Name+": "+l.Metric] = l
		if (l.Goal == nil) != (l.Verdict == "") {
			t.Errorf("%+v: a goal has a verdict", l)
		}
	}
	want := []string{
		"ready, fresh data directory: ms", "ready, existing data directory: ms", "ready, raw (the same program): ms",
		"call 64KiB C=8 modern: calls/s of rev", "call 64KiB C=8 modern: calls/s of ungated", "call 200B C=1 legacy: added p50 of rev",
		"builtin 200B C=32 legacy: CPU/call of raw", "builtin 200B C=32 legacy: calls/s of twin", "fastpath 200B C=32 modern: CPU/call of nethttp", "list 20 legacy: p50 of direct",
		"first list after a change, 20 tools: ms", "start to the whole list, 20 tools: ms",
		"start to the whole list, 20 tools, one of 10 servers gone: ms", "start to the whole list, 20 tools, one of 10 servers silent: ms",
		"children for 64 clients: processes", "answers: wrong, crossed or failed",
	}
	if runtime.GOOS == "linux" {
		want = append(want, "memory, idle: MiB", "memory, 20 tools: MiB")
	}
	for _, name := range want {
		l, ok := lines[name]
		if !ok {
			t.Errorf("no line %q", name)
		}
		figure := ok && (l.Goal == nil || l.Goal.Measure == "") && !strings.HasPrefix(name, "answers")
		if figure && (l.Value.N == 0 || l.Value.Median <= 0) {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := lines["children for 64 clients: processes"]; l.Value.Median != 1 || l.Verdict != bench.VerdictOK {
		t.Errorf("children: %+v, want one process for all clients", l)
	}
}

func TestRunReportsTheError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*bench.Options)
		code   junctor.Code
		say    string
	}{
		{"negative", func(o *bench.Options) { o.Rounds = -1 }, junctor.CodeInvalid, "negative"},
		{"nothing of that name", func(o *bench.Options) { o.Only = []string{"nowhere"} }, junctor.CodeInvalid, "call 200B C=1 legacy"},
		{"tools that cannot be shared", func(o *bench.Options) { o.LongList = 25 }, junctor.CodeInvalid, "shared by 10"},
		{"no program", func(o *bench.Options) { o.Junctor = []string{"/no/such/junctor"} }, junctor.CodeNotFound, "/no/such/junctor"},
		{"does not start", func(o *bench.Options) { o.Junctor = []string{os.Args[0], "play-down"} }, junctor.CodeUnavailable, "no database; the key is [key]"},
		{"no twin", func(o *bench.Options) { o.Unrecorded, o.Only = []string{os.Args[0], "play-down"}, []string{"builtin"} }, junctor.CodeUnavailable, "twin ended before it was ready"},
		{"children do not start", func(o *bench.Options) { o.Child, o.Only = []string{os.Args[0], "play-down"}, []string{"call"} }, junctor.CodeUnavailable, "upstream did not say its address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := asTests()
			c.change(&o)
			r, err := bench.Run(t.Context(), o, io.Discard)
			if r != nil || junctor.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say) {
				t.Errorf("Run = %v, %v; want %s and %q", r, err, c.code, c.say)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := asTests()
	o.Only, o.Duration, o.Live = []string{"call 200B C=1 legacy"}, time.Hour, true
	// The first round begins when all that is started was seen to start.
	_, err := bench.Run(ctx, o, writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("round 1 of 1")) {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		return len(b), nil
	}))
	if junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("Run = %v, want canceled", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

package bench

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func one(v float64) Stat { return Stat{N: 1, Median: v, Min: v, Max: v} }

func TestJudgeGoal(t *testing.T) {
	t.Parallel()
	quiet, low, high, none := one(1), one(0.79), one(1.26), Stat{}
	most, least := Goal{AtMost: 2.5, FailsBeyond: 5}, Goal{AtLeast: 0.8, FailsBeyond: 0.6}
	for _, c := range []struct {
		name    string
		goal    Goal
		value   Stat
		control *Stat
		want    Verdict
	}{
		{"below", most, one(2), &quiet, VerdictOK},
		{"at", most, one(2.5), &quiet, VerdictOK},
		{"above", most, one(2.6), &quiet, VerdictMiss},
		{"at the edge", most, one(5), &quiet, VerdictMiss},
		{"beyond it", most, one(5.1), &quiet, VerdictFail},
		{"no control is needed", most, one(2.6), nil, VerdictMiss},
		{"noise down", most, one(1), &low, VerdictInconclusive},
		{"noise up", most, one(9), &high, VerdictInconclusive},
		{"control not measured", most, one(1), &none, VerdictInconclusive},
		{"not measured", most, Stat{}, nil, VerdictInconclusive},
		{"more than enough", least, one(1.1), &quiet, VerdictOK},
		{"enough", least, one(0.8), &quiet, VerdictOK},
		{"not enough", least, one(0.79), &quiet, VerdictMiss},
		{"just bearable", least, one(0.6), &quiet, VerdictMiss},
		{"unbearable", least, one(0.59), &quiet, VerdictFail},
		{"none allowed", Goal{}, one(0), nil, VerdictOK},
		{"one too many", Goal{}, one(1), nil, VerdictFail},
	} {
		if got := c.goal.judgeValue(c.value, c.control); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A line is judged by the measure that its goal is about, and so is its control.
func TestAddRow(t *testing.T) {
	t.Parallel()
	p := Point{Name: "p", goals: []Goal{
		{Measure: Throughput, Against: ReverseProxy, AtLeast: 1, FailsBeyond: 0.9},
		{Measure: CPU, Against: ReverseProxy, AtMost: 1, FailsBeyond: 1.15},
		{Measure: Throughput, Against: Ungated, AtLeast: 0.8, FailsBeyond: 0.7},
	}}
	yard := reading{PerSecond: 100, CPU: 10}
	noisy := reading{PerSecond: 100, CPU: 20}
	rounds := []roundReadings{{
		junctor: reading{PerSecond: 120, CPU: 30},
		before:  map[string]reading{ReverseProxy: yard, Ungated: yard}, after: map[string]reading{ReverseProxy: noisy, Ungated: yard},
	}}
	var r Report
	r.addRow(p, ReverseProxy, rounds, one(0.2))
	if len(r.Rows) != 1 || len(r.Lines) != 2 {
		t.Fatalf("%+v", r)
	}
	if l := r.Lines[0]; l.Verdict != VerdictOK || l.Value.Median != 1.2 || l.Metric != "calls/s of rev" || !l.Disturbed {
		t.Errorf("%+v", l)
	}
	if l := r.Lines[1]; l.Verdict != VerdictInconclusive || l.Control.Median != 2 {
		t.Errorf("%+v, want what noise allows", l)
	}
	r.addRow(p, Ungated, rounds, Stat{})
	if l := r.Lines[2]; l.Verdict != VerdictOK || l.Disturbed {
		t.Errorf("%+v", l)
	}
	r.addRow(p, Direct, rounds, Stat{})
	if len(r.Rows) != 3 || len(r.Lines) != 3 {
		t.Errorf("a yardstick without goals made lines: %+v", r.Lines)
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	line := func(v Verdict) []Line {
		return []Line{{Name: "call", Value: one(2), Goal: &Goal{AtMost: 1}, Verdict: v}}
	}
	bad := func(a Answers) []PointResult { return []PointResult{{Answers: a}} }
	for _, c := range []struct {
		name           string
		report         Report
		lax, strictest int // failures
	}{
		{"nothing measured", Report{}, 0, 0},
		{"reached", Report{Lines: line(VerdictOK)}, 0, 0},
		{"no goal", Report{Lines: []Line{{Value: one(99)}}}, 0, 0},
		{"missed", Report{Lines: line(VerdictMiss)}, 0, 1},
		{"unbearable", Report{Lines: line(VerdictFail)}, 1, 1},
		{"cannot be judged", Report{Lines: line(VerdictInconclusive)}, 0, 1},
		{"all answers right", Report{Points: bad(Answers{Right: 9})}, 0, 0},
		{"a wrong answer is no timing", Report{Points: bad(Answers{Right: 9, Wrong: 1, Problem: "x"})}, 1, 1},
		{"all", Report{Lines: append(line(VerdictFail), line(VerdictMiss)...), Points: bad(Answers{Failed: 1, Crossed: 1})}, 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, strict := range []bool{false, true} {
				r, want := c.report, c.lax
				if strict {
					want = c.strictest
				}
				r.Strict = strict
				r.concludeRun()
				if len(r.Failures) != want || r.Failed() != (want > 0) {
					t.Errorf("strict %v: %q, want %d", strict, r.Failures, want)
				}
			}
		})
	}
}

func sample() *Report {
	goal, control := Goal{Measure: CPU, Against: ReverseProxy, AtMost: 1, FailsBeyond: 1.15}, one(1)
	r := &Report{
		Rounds: 8, Version: "v1", Go: "go1", OS: "linux", Arch: "amd64", CPU: "Fast", CPUs: 2,
		Lines: []Line{
			{Name: "call", Metric: "CPU/call of rev", Value: Stat{8, 6, 5, 7}, Control: &control, Goal: &goal, Verdict: VerdictFail, Disturbed: true},
			{Name: "memory, idle", Metric: "MiB", Value: one(12.34), Goal: &Goal{AtMost: 40, FailsBeyond: 64}, Verdict: VerdictOK},
			{Name: "ready, raw", Metric: "ms", Value: one(9)},
		},
		Rows: []Row{{Name: "call", Against: ReverseProxy, Ratio: Measures{Throughput: Stat{8, 0.5, 0.4, 0.6}, CPU: Stat{8, 6, 5, 7}}, Control: Measures{Throughput: one(1.01)}}},
		Points: []PointResult{{
			Point: Point{Name: "call"}, OtherCores: one(0.5), Repeated: 4, Answers: Answers{Right: 3, Failed: 1, Problem: "status 500"},
			Targets: []TargetResult{{Name: Junctor, Measures: Measures{Throughput: one(12345)}, Memory: one(33)}, {Name: ReverseProxy}},
		}},
		Notes: []string{"a note"},
	}
	r.concludeRun()
	return r
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := sample()
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"junctor v1,", "8 rounds", "Fast, 2 CPUs",
		"call CPU/call of rev 6.00 (5.00-7.00) 1.00 <= 1 FAIL *",
		"memory, idle MiB 12.3 <= 40 ok ready, raw ms 9.0",
		"call rev 0.50 (0.40-0.60) - - - 6.00 (5.00-7.00) control 1.01",
		"call junctor 12345 - - - 33 0.50 4 rev - - - - -",
		"answers: 3 right, 1 failed, 0 wrong, 0 crossed",
		"note: a note", "note: * strangers",
		"FAILED: 1 answers were not right, the first: status 500",
		"FAILED: call: CPU/call of rev is 6.00 (5.00-7.00), the goal is <= 1 (FAIL)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("%q ends with spaces", line)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := sample().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| call | CPU/call of rev | 6.00 (5.00-7.00) | 1.00 | <= 1 | FAIL * |\n", "| memory, idle | MiB | 12.3 |  | <= 40 | ok |\n",
		"| call | rev | 0.50 (0.40-0.60) |", "| call | junctor | 12345 | - | - | - | 33 | 0.50 |\n", "Answers: 3 right, 1 failed", "Note: a note.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	columns := 0
	for line := range strings.Lines(b.String()) {
		n := strings.Count(line, "|")
		if columns > 0 && n > 0 && n != columns {
			t.Errorf("%q has %d columns, the head %d", line, n-1, columns-1)
		}
		columns = n
	}
}

func TestWritersPassOnErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, write := range []func(io.Writer) error{sample().WriteTable, sample().WriteMarkdown} {
		if err := write(broken{full}); !errors.Is(err, full) {
			t.Errorf("%v, want %v", err, full)
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

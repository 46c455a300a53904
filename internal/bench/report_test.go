package bench

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func one(v float64) Stat { return Stat{N: 1, Median: v, Min: v, Max: v} }

func TestJudgeGoal(t *testing.T) {
	t.Parallel()
	quiet, low, high, none := one(1), one(0.79), one(1.26), Stat{}
	for _, c := range []struct {
		name    string
		value   Stat
		control *Stat
		want    Verdict
	}{
		{"below", one(2), &quiet, OK},
		{"at", one(2.5), &quiet, OK},
		{"above", one(2.6), &quiet, Miss},
		{"no control is needed", one(2.6), nil, Miss},
		{"noise down", one(1), &low, Inconclusive},
		{"noise up", one(9), &high, Inconclusive},
		{"control not measured", one(1), &none, Inconclusive},
		{"not measured", Stat{}, nil, Inconclusive},
	} {
		if got := (Goal{AtMost: 2.5}).judge(c.value, c.control); got.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.Verdict, c.want)
		}
	}
}

// A row is judged by what its goal is about, and so is its control.
func TestJudgeRow(t *testing.T) {
	t.Parallel()
	busy, calm := Point{Method: methodCall, Conns: busyConns}, Point{Method: methodCall, Conns: 1}
	quiet := Measures{Throughput: one(1), CPU: one(1)}
	for _, c := range []struct {
		name           string
		against        string
		point          Point
		ratio, control Measures
		want           Verdict // "" is no goal
	}{
		{"twin, as fast", Twin, busy, Measures{Throughput: one(1), CPU: one(9)}, quiet, OK},
		{"twin, faster", Twin, busy, Measures{Throughput: one(1.1)}, quiet, OK},
		{"twin, at the goal", Twin, busy, Measures{Throughput: one(0.8)}, quiet, OK},
		{"twin, below", Twin, busy, Measures{Throughput: one(0.79), CPU: one(1)}, quiet, Miss},
		{"twin, its throughput is noisy", Twin, busy, Measures{Throughput: one(0.9)}, Measures{Throughput: one(1.3), CPU: one(1)}, Inconclusive},
		{"twin, its CPU is noisy", Twin, busy, Measures{Throughput: one(0.9)}, Measures{Throughput: one(1), CPU: one(1.3)}, OK},
		{"twin, not measured", Twin, busy, Measures{}, quiet, Inconclusive},
		{"raw", Raw, busy, Measures{Throughput: one(0.1), CPU: one(2.5)}, quiet, OK},
		{"raw, above", Raw, busy, Measures{Throughput: one(1), CPU: one(2.6)}, quiet, Miss},
		{"rev", Rev, busy, quiet, quiet, ""},
		{"not busy", Raw, calm, quiet, quiet, ""},
		{"a list", Raw, Point{Method: methodList, Conns: busyConns}, quiet, quiet, ""},
	} {
		row := Row{Against: c.against, Ratio: c.ratio, Control: c.control}
		row.judge(c.point)
		if c.want == "" && row.Goal == nil || row.Goal != nil && row.Goal.Verdict == c.want {
			continue
		}
		t.Errorf("%s: %+v, want %q", c.name, row.Goal, c.want)
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	goal := func(v Verdict) *Goal { return &Goal{Metric: "CPU", AtMost: 2.5, Verdict: v} }
	row := func(v float64, g *Goal) []Row { return []Row{{Name: "call", Ratio: Measures{CPU: one(v)}, Goal: g}} }
	twin := func(v float64, verdict Verdict) []Row {
		return []Row{{Name: "call", Against: Twin, Ratio: Measures{Throughput: one(v), CPU: one(99)}, Goal: &Goal{AtLeast: 0.8, Verdict: verdict}}}
	}
	for _, c := range []struct {
		name           string
		report         Report
		lax, strictest int // failures
	}{
		{"nothing measured", Report{}, 0, 0},
		{"reached", Report{Rows: row(2, goal(OK))}, 0, 0},
		{"no goal", Report{Rows: row(99, nil)}, 0, 0},
		{"missed by less than half", Report{Rows: row(5, goal(Miss))}, 0, 1},
		{"missed by more", Report{Rows: row(5.1, goal(Miss))}, 1, 1},
		{"cannot be judged", Report{Rows: row(99, goal(Inconclusive))}, 0, 1},
		{"records cost less than twice what they may", Report{Rows: twin(0.61, Miss)}, 0, 1},
		{"records cost more", Report{Rows: twin(0.59, Miss)}, 1, 1},
		{"records cannot be judged", Report{Rows: twin(0.1, Inconclusive)}, 0, 1},
		{"records cost nothing", Report{Rows: twin(1.2, OK)}, 0, 0},
		{"figure", Report{Figures: []Figure{{Name: "idle", Value: one(5.1), Goal: goal(Miss)}}}, 1, 1},
		{"a wrong answer is no timing", Report{Points: []PointResult{{Answers: Answers{Right: 9, Wrong: 1, Problem: "x"}}}}, 1, 1},
		{"all", Report{Rows: row(6, goal(Miss)), Figures: []Figure{{Value: one(6), Goal: goal(Miss)}}, Points: []PointResult{{Answers: Answers{Failed: 1}}, {Answers: Answers{Crossed: 1}}}}, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, strict := range []bool{false, true} {
				r, want := c.report, c.lax
				if strict {
					want = c.strictest
				}
				r.Strict = strict
				r.conclude()
				if len(r.Failures) != want || r.Failed() != (want > 0) {
					t.Errorf("strict %v: %q, want %d", strict, r.Failures, want)
				}
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := Report{
		Pairs: 8, Go: "go1", OS: "linux", Arch: "amd64", CPUs: 2,
		Rows: []Row{{
			Name: "call", Against: Raw, Ratio: Measures{Throughput: Stat{8, 0.5, 0.4, 0.6}, CPU: Stat{8, 6, 5, 7}},
			Control: Measures{CPU: one(1)}, Goal: &Goal{Metric: "CPU per call, of raw", AtMost: 2.5, Verdict: Miss},
		}, {
			Name: "call", Against: Twin, Ratio: Measures{Throughput: Stat{8, 0.5, 0.4, 0.6}, CPU: one(1.25)},
			Goal: &Goal{Metric: "calls/s, of the twin", AtLeast: 0.8, Verdict: Miss},
		}},
		Points:  []PointResult{{Point: Point{Name: "call"}, Junctor: Measures{Throughput: one(12345)}, Twin: &Measures{Throughput: one(54321)}, Other: one(0.5), Answers: Answers{Right: 3, Failed: 1, Problem: "status 500"}}},
		Figures: []Figure{{Name: "memory, idle", Unit: "MiB", Value: one(12.34), Goal: &Goal{AtMost: 40, Verdict: OK}}},
		Notes:   []string{"a note"},
	}
	r.conclude()
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	// Columns are wide as their widest cell; what stands in them matters here.
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"call raw 0.50 (0.40-0.60) - - 6.00 (5.00-7.00) CPU <= 2.5 miss",
		"control - - - 1.00",
		"call twin 0.50 (0.40-0.60) - - 1.25 calls/s >= 0.8 miss",
		"twin 54321 - - -",
		"FAILED: call: calls/s, of the twin is 0.50 (0.40-0.60), the goal is >= 0.8 (miss)",
		"call junctor 12345 - - - 0.50 *",
		"memory, idle 12.3 MiB <= 40 ok",
		"answers: 3 right, 1 failed, 0 wrong, 0 crossed",
		"note: a note",
		"FAILED: 1 answers were not right, the first: status 500",
		"FAILED: call: CPU per call, of raw is 6.00 (5.00-7.00), the goal is <= 2.5 (miss)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	columns := map[int]bool{} // where the goal stands: under its head
	for line := range strings.Lines(b.String()) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("%q ends with spaces", line)
		}
		for _, cell := range []string{"goal     ", "CPU <=", "calls/s >="} {
			if at := strings.Index(line, cell); at >= 0 {
				columns[at] = true
			}
		}
	}
	if len(columns) != 1 {
		t.Errorf("the goals stand in %d columns of\n%s", len(columns), b.String())
	}
	full := errors.New("disk full")
	if err := r.WriteTable(writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("WriteTable = %v, want %v", err, full)
	}
}

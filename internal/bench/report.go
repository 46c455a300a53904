package bench

import (
	"fmt"
	"time"
)

// Goals: what the program is to reach with every gate on.
const (
	goalCPU    = 2.5  // CPU per tools/call of the built-in echo, of raw's
	goalRecord = 0.80 // throughput of the built-in echo, of the twin's: records cost the rest
	goalReady  = 80   // ms from the start until ready
	goalIdle   = 40   // MiB resident when idle
	goalBusy   = 64   // MiB resident under load
)

// band is how far a yardstick may seem to differ from itself before a
// measurement beside it says nothing.
const (
	bandLow  = 0.8
	bandHigh = 1.25
)

// Verdict is how a figure stands to its goal.
type Verdict string

// Verdicts.
const (
	OK           Verdict = "ok"
	Miss         Verdict = "miss"
	Inconclusive Verdict = "inconclusive" // not measured, or the control lies outside 0.8 to 1.25
)

// Goal is what a figure is judged by. One of its bounds is set.
type Goal struct {
	Metric  string  `json:"metric"`
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"` // a part of 1
	Verdict Verdict `json:"verdict"`
}

// judge gives the row its goal, where it has one.
func (r *Row) judge(p Point) {
	control := r.judged(r.Control)
	switch {
	case !p.busyCall():
	case r.Against == Raw:
		r.Goal = Goal{Metric: "CPU per call, of raw", AtMost: goalCPU}.judge(r.judged(r.Ratio), &control)
	case r.Against == Twin:
		r.Goal = Goal{Metric: "calls/s, of the twin without records", AtLeast: goalRecord}.judge(r.judged(r.Ratio), &control)
	}
}

// judged is the measure that the row's goal is about.
func (r *Row) judged(m Measures) Stat {
	if r.Against == Twin {
		return m.Throughput
	}
	return m.CPU
}

// judge compares a median with the goal; control may be nil where there is none.
func (g Goal) judge(value Stat, control *Stat) *Goal {
	switch {
	case value.N == 0, control != nil && (control.N == 0 || control.Median < bandLow || control.Median > bandHigh):
		g.Verdict = Inconclusive
	case g.reached(value.Median, 1):
		g.Verdict = OK
	default:
		g.Verdict = Miss
	}
	return &g
}

// reached says whether a value keeps within so many times the goal. Of a part of
// 1 that is to remain, what counts is the part that is lost.
func (g Goal) reached(value, times float64) bool {
	if g.AtLeast > 0 {
		return value >= 1-times*(1-g.AtLeast)
	}
	return value <= times*g.AtMost
}

func (g Goal) text() string {
	if g.AtLeast > 0 {
		return fmt.Sprintf(">= %g", g.AtLeast)
	}
	return fmt.Sprintf("<= %g", g.AtMost)
}

// Report is what Run found.
type Report struct {
	Date     time.Time     `json:"date"`
	Go       string        `json:"go"`
	OS       string        `json:"os"`
	Arch     string        `json:"arch"`
	CPUs     int           `json:"cpus"`
	Pairs    int           `json:"pairs"`
	Duration time.Duration `json:"duration_ns"`
	Strict   bool          `json:"strict"`

	Rows    []Row         `json:"rows"`    // ratios
	Points  []PointResult `json:"points"`  // absolute figures
	Figures []Figure      `json:"figures"` // starts and memory
	Answers Answers       `json:"answers"` // over all points and targets
	Notes   []string      `json:"notes,omitempty"`

	Failures []string `json:"failures"` // why the run counts as failed; empty is good
}

// Row is Junctor's part of one yardstick at one point.
type Row struct {
	Name    string   `json:"name"`
	Against string   `json:"against"`
	Pairs   int      `json:"pairs"`
	Ratio   Measures `json:"ratio"`
	Control Measures `json:"control"` // the yardstick against itself
	Goal    *Goal    `json:"goal,omitempty"`
}

// PointResult is what was measured at a point: calls per second, and
// microseconds for the rest.
type PointResult struct {
	Point
	Junctor Measures  `json:"junctor"`
	Raw     Measures  `json:"raw"`
	Rev     Measures  `json:"rev"`
	Twin    *Measures `json:"twin,omitempty"` // where it is measured
	Other   Stat      `json:"other"`          // cores that strangers kept busy meanwhile
	Answers Answers   `json:"answers"`

	peaks []float64 // Junctor's memory in each round, MiB
}

// Figure is something that is measured by itself.
type Figure struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Value Stat   `json:"value"`
	Goal  *Goal  `json:"goal,omitempty"`
}

// Failed says whether the run counts as failed.
func (r *Report) Failed() bool { return len(r.Failures) > 0 }

// conclude adds up the answers and finds what fails: a single answer that is
// not right; a figure beyond twice its goal, or
// that loses twice what it may; and, when strict, every goal that
// was not shown to be reached.
func (r *Report) conclude() {
	r.Failures = []string{}
	for _, p := range r.Points {
		r.Answers.add(p.Answers)
	}
	if n := r.Answers.Bad(); n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d answers were not right, the first: %s", n, r.Answers.Problem))
	}
	for _, row := range r.Rows {
		r.fail(row.Name, row.Goal, row.judged(row.Ratio))
	}
	for _, f := range r.Figures {
		r.fail(f.Name, f.Goal, f.Value)
	}
}

func (r *Report) fail(name string, g *Goal, value Stat) {
	if g == nil || g.Verdict == OK || !r.Strict && (g.Verdict == Inconclusive || g.reached(value.Median, 2)) {
		return
	}
	r.Failures = append(r.Failures, fmt.Sprintf("%s: %s is %s, the goal is %s (%s)", name, g.Metric, value.text(2), g.text(), g.Verdict))
}

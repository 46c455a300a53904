package bench

import (
	"fmt"
	"time"
)

// Report is what Run found.
type Report struct {
	Date     time.Time     `json:"date"`
	Version  string        `json:"version"` // of Junctor
	Go       string        `json:"go"`
	OS       string        `json:"os"`
	Arch     string        `json:"arch"`
	CPU      string        `json:"cpu,omitempty"` // as it names itself
	CPUs     int           `json:"cpus"`
	Rounds   int           `json:"rounds"`
	Duration time.Duration `json:"duration_ns"`
	Strict   bool          `json:"strict"`

	Lines   []Line        `json:"lines"`   // what has a goal, and figures for comparison
	Rows    []Row         `json:"rows"`    // ratios
	Points  []PointResult `json:"points"`  // absolute figures
	Answers Answers       `json:"answers"` // over all points and targets
	Notes   []string      `json:"notes,omitempty"`

	Failures []string `json:"failures"` // why the run counts as failed; empty is good
}

// Row is Junctor's part of one yardstick at one point.
type Row struct {
	Name    string   `json:"name"`
	Against string   `json:"against"`
	Rounds  int      `json:"rounds"`
	Ratio   Measures `json:"ratio"`
	Control Measures `json:"control"` // the yardstick against itself
}

// PointResult is what was measured at a point: calls per second, and
// microseconds for the rest.
type PointResult struct {
	Point
	Targets  []TargetResult `json:"targets"`
	Other    Stat           `json:"other"`    // cores that strangers kept busy meanwhile
	Repeated int            `json:"repeated"` // rounds that were measured again, because of those
	Answers  Answers        `json:"answers"`

	peaks []float64 // Junctor's memory in each round, MiB
}

// TargetResult is one target at a point.
type TargetResult struct {
	Name string `json:"name"`
	Measures
	Memory Stat `json:"memory"` // the highest of each round, MiB
}

// Failed says whether the run counts as failed.
func (r *Report) Failed() bool { return len(r.Failures) > 0 }

// addRow adds what Junctor is beside one yardstick at a point, and judges it.
func (r *Report) addRow(p Point, yardstick string, rounds []roundReadings, other Stat) Row {
	row := Row{Name: p.Name, Against: yardstick, Rounds: len(rounds), Ratio: computeRatios(rounds, yardstick), Control: computeControl(rounds, yardstick)}
	r.Rows = append(r.Rows, row)
	for _, g := range p.goals {
		if g.Against != yardstick {
			continue
		}
		value, c := row.Ratio.statOf(g.Measure), row.Control.statOf(g.Measure)
		r.Lines = append(r.Lines, Line{
			Name: p.Name, Metric: string(g.Measure) + " of " + yardstick, Value: value, Control: &c, Goal: &g,
			Verdict: g.judgeValue(value, &c), Disturbed: other.N > 0 && other.Median > disturbedCores,
		})
	}
	return row
}

// addFigure adds something that is measured by itself; goal may be nil.
func (r *Report) addFigure(name, unit string, value Stat, goal *Goal) Line {
	l := Line{Name: name, Metric: unit, Value: value, Goal: goal}
	if goal != nil {
		l.Verdict = goal.judgeValue(value, nil)
	}
	r.Lines = append(r.Lines, l)
	return l
}

// concludeRun adds up the answers and finds what fails: a single answer that is
// not right; a value beyond what is bearable; and, when strict, every goal that
// was not shown to be reached.
func (r *Report) concludeRun() {
	r.Failures = []string{}
	for _, p := range r.Points {
		r.Answers.addCounts(p.Answers)
	}
	if n := r.Answers.Right + r.Answers.Bad(); n > 0 {
		bad := float64(r.Answers.Bad())
		r.addFigure("answers", "wrong, crossed or failed", Stat{N: n, Median: bad, Min: bad, Max: bad}, &Goal{})
	}
	if n := r.Answers.Bad(); n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d answers were not right, the first: %s", n, r.Answers.Problem))
	}
	for _, l := range r.Lines {
		if l.Goal == nil || l.Verdict == OK || l.Name == "answers" || !r.Strict && l.Verdict != Fail {
			continue
		}
		r.Failures = append(r.Failures, fmt.Sprintf("%s: %s is %s, the goal is %s (%s)", l.Name, l.Metric, l.Value.formatRange(l.decimalPlaces()), l.Goal.formatLimit(), l.Verdict))
	}
}

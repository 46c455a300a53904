package bench

import (
	"fmt"
	"time"
)

// Report is the result of Run.
type Report struct {
	Date    time.Time `json:"date"`
	Version string    `json:"version"` // of Junctor
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	Arch    string    `json:"arch"`
	CPU     string    `json:"cpu,omitempty"` // model name
	CPUs    int       `json:"cpus"`
	// As in Options: rounds at each point, and the length of one reading.
	Rounds   int           `json:"rounds"`
	Duration time.Duration `json:"duration_ns"`
	// As in Options: it decides what counts as a failure.
	Strict bool `json:"strict"`

	// Values with goals, and figures for comparison.
	Lines  []Line        `json:"lines"`
	Rows   []Row         `json:"rows"`   // ratios
	Points []PointResult `json:"points"` // absolute figures
	// Over all points and targets.
	Answers Answers `json:"answers"`
	// Remarks on what was not measured, and why.
	Notes []string `json:"notes,omitempty"`

	// Why the run failed; empty if it did not.
	Failures []string `json:"failures"`
}

// Row is the ratio of Junctor to one yardstick at one point.
type Row struct {
	Name string `json:"name"`
	// Name of the yardstick.
	Against string `json:"against"`
	Rounds  int    `json:"rounds"`
	// Values above 1 mean that Junctor has more than the yardstick: more calls
	// per second, or a longer time.
	Ratio Measures `json:"ratio"`
	// The yardstick compared with itself.
	Control Measures `json:"control"`
}

// PointResult is what was measured at a point: calls per second, and microseconds
// for the rest.
type PointResult struct {
	Point
	Targets []TargetResult `json:"targets"`
	// Cores that other processes kept busy meanwhile.
	OtherCores Stat `json:"other"`
	// Rounds that were measured again because of that.
	Repeated int `json:"repeated"`
	// Over all targets and tries of the point.
	Answers Answers `json:"answers"`

	// Junctor's highest memory in each round, in MiB.
	peaks []float64
}

// TargetResult is one target at a point.
type TargetResult struct {
	Name string `json:"name"`
	Measures
	// The highest of each round, in MiB.
	Memory Stat `json:"memory"`
}

// Failed reports whether the run failed.
func (r *Report) Failed() bool { return len(r.Failures) > 0 }

// addRow adds the ratios of Junctor to one yardstick at a point, and judges the
// goals that refer to it.
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

// addFigure adds a single figure; goal may be nil.
func (r *Report) addFigure(name, unit string, value Stat, goal *Goal) Line {
	l := Line{Name: name, Metric: unit, Value: value, Goal: goal}
	if goal != nil {
		l.Verdict = goal.judgeValue(value, nil)
	}
	r.Lines = append(r.Lines, l)
	return l
}

// concludeRun adds up the answers and collects the failures: any answer that was
// not right; any value beyond its failure limit; and, if strict, every goal that
// was not shown to be reached.
func (r *Report) concludeRun() {
	r.Failures = []string{}
	for _, p := range r.Points {
		r.Answers.addCounts(p.Answers)
	}
	// Speed is worth nothing if an answer is wrong, so one bad answer fails the run.
	if n := r.Answers.Right + r.Answers.Bad(); n > 0 {
		bad := float64(r.Answers.Bad())
		r.addFigure("answers", "wrong, crossed or failed", Stat{N: n, Median: bad, Min: bad, Max: bad}, &Goal{})
	}
	if n := r.Answers.Bad(); n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d answers were not right, the first: %s", n, r.Answers.Problem))
	}
	for _, l := range r.Lines {
		if l.Goal == nil || l.Verdict == VerdictOK || l.Name == "answers" || !r.Strict && l.Verdict != VerdictFail {
			continue
		}
		r.Failures = append(r.Failures, fmt.Sprintf("%s: %s is %s, the goal is %s (%s)", l.Name, l.Metric, l.Value.formatRange(l.decimalPlaces()), l.Goal.formatLimit(), l.Verdict))
	}
}

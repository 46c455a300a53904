package bench

import "fmt"

// A measurement is inconclusive if the yardstick seems to differ from itself by
// more than this.
const (
	controlLow  = 0.8
	controlHigh = 1.25
)

// Verdict is the result of comparing a value with its goal.
type Verdict string

// The verdicts.
const (
	VerdictOK           Verdict = "ok"
	VerdictMiss         Verdict = "miss"         // beyond the goal
	VerdictFail         Verdict = "FAIL"         // beyond the failure limit
	VerdictInconclusive Verdict = "inconclusive" // not measured, or the control is outside 0.8 to 1.25
)

// Goal is what a value is judged by. Exactly one of AtMost and AtLeast is set.
type Goal struct {
	Measure Measure `json:"measure,omitempty"` // of a point
	// The yardstick of the ratio.
	Against string `json:"against,omitempty"`
	// AtMost is a limit for times, memory and CPU. AtLeast is one for throughput.
	AtMost      float64 `json:"at_most,omitempty"`
	AtLeast     float64 `json:"at_least,omitempty"`
	FailsBeyond float64 `json:"fails_beyond"` // the failure limit
}

// judgeValue compares a median with the goal. control may be nil if there is
// none.
func (g Goal) judgeValue(value Stat, control *Stat) Verdict {
	switch {
	case value.N == 0, control != nil && (control.N == 0 || control.Median < controlLow || control.Median > controlHigh):
		return VerdictInconclusive
	case g.AtLeast > 0 && value.Median >= g.AtLeast, g.AtLeast == 0 && value.Median <= g.AtMost:
		return VerdictOK
	case g.AtLeast > 0 && value.Median < g.FailsBeyond, g.AtLeast == 0 && value.Median > g.FailsBeyond:
		return VerdictFail
	}
	return VerdictMiss
}

// formatLimit returns the goal as text, such as ">= 0.9".
func (g Goal) formatLimit() string {
	if g.AtLeast > 0 {
		return fmt.Sprintf(">= %g", g.AtLeast)
	}
	return fmt.Sprintf("<= %g", g.AtMost)
}

// Line is one value with its goal and verdict.
type Line struct {
	// Name of the point or of the figure.
	Name string `json:"name"`
	// What the value is, with its unit.
	Metric string `json:"metric"`
	// The median and range over all rounds, or of a single figure.
	Value Stat `json:"value"`
	// The yardstick compared with itself.
	Control *Stat `json:"control,omitempty"`
	// Nil for a value that is only for comparison.
	Goal    *Goal   `json:"goal,omitempty"`
	Verdict Verdict `json:"verdict,omitempty"`
	// Other processes kept the machine busy meanwhile.
	Disturbed bool `json:"disturbed,omitempty"`
}

// decimalPlaces returns how many decimal places the value is printed with.
func (l Line) decimalPlaces() int {
	if l.Goal != nil && l.Goal.Measure != "" {
		return 2
	}
	return 1
}

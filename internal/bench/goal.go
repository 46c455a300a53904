package bench

import "fmt"

// band is how far a yardstick may seem to differ from itself before a
// measurement beside it says nothing.
const (
	controlLow  = 0.8
	controlHigh = 1.25
)

// Verdict is how a value stands to its goal.
type Verdict string

// Verdicts.
const (
	OK           Verdict = "ok"
	Miss         Verdict = "miss"         // beyond the goal
	Fail         Verdict = "FAIL"         // beyond what is bearable
	Inconclusive Verdict = "inconclusive" // not measured, or the control lies outside 0.8 to 1.25
)

// Goal is what a value is judged by. One of AtMost and AtLeast is set.
type Goal struct {
	Measure Measure `json:"measure,omitempty"` // of a point
	Against string  `json:"against,omitempty"` // the yardstick that it is a part of
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
	Fails   float64 `json:"fails_beyond"`
}

// judgeValue compares a median with the goal; control may be nil where there is none.
func (g Goal) judgeValue(value Stat, control *Stat) Verdict {
	switch {
	case value.N == 0, control != nil && (control.N == 0 || control.Median < controlLow || control.Median > controlHigh):
		return Inconclusive
	case g.AtLeast > 0 && value.Median >= g.AtLeast, g.AtLeast == 0 && value.Median <= g.AtMost:
		return OK
	case g.AtLeast > 0 && value.Median < g.Fails, g.AtLeast == 0 && value.Median > g.Fails:
		return Fail
	}
	return Miss
}

func (g Goal) formatLimit() string {
	if g.AtLeast > 0 {
		return fmt.Sprintf(">= %g", g.AtLeast)
	}
	return fmt.Sprintf("<= %g", g.AtMost)
}

// Line is one value with its goal and how it stands to it.
type Line struct {
	Name      string  `json:"name"`
	Metric    string  `json:"metric"` // what the value is, with its unit
	Value     Stat    `json:"value"`
	Control   *Stat   `json:"control,omitempty"` // the yardstick against itself
	Goal      *Goal   `json:"goal,omitempty"`    // nil: a value for comparison
	Verdict   Verdict `json:"verdict,omitempty"`
	Disturbed bool    `json:"disturbed,omitempty"` // strangers kept the machine busy meanwhile
}

// decimalPlaces are those that the metric's values have.
func (l Line) decimalPlaces() int {
	if l.Goal != nil && l.Goal.Measure != "" {
		return 2
	}
	return 1
}

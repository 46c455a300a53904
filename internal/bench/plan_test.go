package bench

import (
	"slices"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	full, all, err := Options{}.withDefaults()
	if err != nil || full.Rounds != 8 || full.Duration != 600*time.Millisecond || full.Tries != 3 || full.ShortList != 100 || full.LongList != 5000 ||
		full.Junctor[1] != "up" || full.Child[1] != "bench-child" || full.Unrecorded[2] != Unrecorded || full.Ungated[2] != Ungated || !slices.Equal(all.names, MeasurementNames()) {
		t.Errorf("%+v, %q, %v", full, all.names, err)
	}
	short, one, err := Options{Short: true, Rounds: 5, Only: MeasurementNames()[1:2]}.withDefaults()
	if err != nil || short.Rounds != 5 || short.Duration >= full.Duration || short.Starts >= full.Starts || short.Tries >= full.Tries || len(one.names) != 1 || one.points[0].Name != MeasurementNames()[1] {
		t.Errorf("%+v, %v, %v", short, one, err)
	}
}

// Names are what people choose by, so no two things share one; and every goal
// stands against something that is measured at its point.
func TestPoints(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range MeasurementNames() {
		if seen[name] {
			t.Errorf("two things are called %q", name)
		}
		seen[name] = true
	}
	for _, p := range listPoints(fewTools, manyTools) {
		for _, g := range p.goals {
			most, least := g.AtMost > 0 && g.FailsBeyond >= g.AtMost, g.AtLeast > 0 && g.FailsBeyond <= g.AtLeast
			if !slices.Contains(p.listYardsticks(), g.Against) || most == least {
				t.Errorf("%s: %+v", p.Name, g)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	p := newPlan(100, 5000, []string{"stdio", "list 100 m", "start 5000"})
	if len(p.callPoints()) != 2 || len(p.listPoints(100)) != 1 || len(p.listPoints(5000)) != 0 || p.includesPoint("start 100") || !p.includesPoint("start 5000") || p.includesPoint("ready") {
		t.Errorf("%q", p.names)
	}
}

package bench

import (
	"math"
	"slices"
	"time"
)

// Stat is a median with its range. N is how many samples it is taken from; with
// none of them nothing was measured and the rest means nothing.
type Stat struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// summarize leaves out what is no number: a ratio to something that could not
// be measured.
func summarize(samples []float64) Stat {
	v := make([]float64, 0, len(samples))
	for _, x := range samples {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return Stat{}
	}
	slices.Sort(v)
	lower, upper := v[(len(v)-1)/2], v[len(v)/2]
	return Stat{N: len(v), Median: lower + (upper-lower)/2, Min: v[0], Max: v[len(v)-1]}
}

// percentile is the smallest sample that at least the share q of all samples
// does not exceed (nearest rank): always one that was really seen.
func percentile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Measure is a thing that is compared.
type Measure string

// What is compared.
const (
	Throughput Measure = "calls/s"
	P50        Measure = "p50"
	P99        Measure = "p99"
	Added      Measure = "added p50" // beyond the direct path
	CPU        Measure = "CPU/call"
)

// Measures is one Stat for each thing that is compared.
type Measures struct {
	Throughput Stat `json:"throughput"` // more is better
	P50        Stat `json:"p50"`        // of these, less
	P99        Stat `json:"p99"`
	Added      Stat `json:"added"` // only of ratios: what p50 has beyond the direct path
	CPU        Stat `json:"cpu"`   // per call
}

func (m Measures) of(what Measure) Stat {
	switch what {
	case Throughput:
		return m.Throughput
	case P50:
		return m.P50
	case P99:
		return m.P99
	case Added:
		return m.Added
	case CPU:
		return m.CPU
	}
	return Stat{}
}

// measure takes f of every round, for each thing that a reading holds.
func measure(rounds []round, f func(r round, of func(reading) float64) float64) Measures {
	return Measures{
		Throughput: over(rounds, func(r round) float64 { return f(r, func(m reading) float64 { return m.PerSecond }) }),
		P50:        over(rounds, func(r round) float64 { return f(r, medianTime) }),
		P99:        over(rounds, func(r round) float64 { return f(r, func(m reading) float64 { return m.P99 }) }),
		CPU:        over(rounds, func(r round) float64 { return f(r, func(m reading) float64 { return m.CPU }) }),
	}
}

func over(rounds []round, f func(round) float64) Stat {
	v := make([]float64, len(rounds))
	for i, r := range rounds {
		v[i] = f(r)
	}
	return summarize(v)
}

func medianTime(m reading) float64 { return m.P50 }

// round is one pass over all targets. Junctor stands in the middle and each
// yardstick is measured before and after it, so that a machine that becomes
// slower or faster meanwhile changes both sides alike.
type round struct {
	junctor       reading
	before, after map[string]reading // by yardstick
	other         float64            // cores that strangers kept busy; NaN where that cannot be known
}

// middle is a yardstick at the time of Junctor's reading: the geometric middle,
// because ratios are what is compared.
func (r round) middle(yardstick string, of func(reading) float64) float64 {
	return math.Sqrt(of(r.before[yardstick]) * of(r.after[yardstick]))
}

// ratios compares Junctor with a yardstick.
func ratios(rounds []round, yardstick string) Measures {
	m := measure(rounds, func(r round, of func(reading) float64) float64 {
		return divide(of(r.junctor), r.middle(yardstick, of))
	})
	m.Added = over(rounds, func(r round) float64 {
		direct := r.middle(Direct, medianTime)
		return added(r.junctor.P50, r.middle(yardstick, medianTime), direct, direct)
	})
	return m
}

// control compares a yardstick with itself: what it shows beyond 1 is noise.
func control(rounds []round, yardstick string) Measures {
	m := measure(rounds, func(r round, of func(reading) float64) float64 {
		return divide(of(r.after[yardstick]), of(r.before[yardstick]))
	})
	m.Added = over(rounds, func(r round) float64 {
		return added(r.after[yardstick].P50, r.before[yardstick].P50, r.after[Direct].P50, r.before[Direct].P50)
	})
	return m
}

// added compares what a and b take beyond the direct path; no number where that
// was not measured.
func added(a, b, directOfA, directOfB float64) float64 {
	if a <= 0 || directOfA <= 0 || directOfB <= 0 {
		return math.NaN()
	}
	if b -= directOfB; b <= 0 {
		return math.NaN()
	}
	return max(0, a-directOfA) / b
}

// divide gives no number unless both sides were measured.
func divide(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}

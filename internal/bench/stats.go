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

// Measures is one Stat for each thing that is compared.
type Measures struct {
	Throughput Stat `json:"throughput"` // more is better
	P50        Stat `json:"p50"`        // of these, less
	P99        Stat `json:"p99"`
	CPU        Stat `json:"cpu"` // per call
}

// measure takes f of every round, for each thing that is compared.
func measure(rounds []round, f func(r round, of func(reading) float64) float64) Measures {
	over := func(of func(reading) float64) Stat {
		v := make([]float64, 0, len(rounds))
		for _, r := range rounds {
			v = append(v, f(r, of))
		}
		return summarize(v)
	}
	return Measures{
		Throughput: over(func(m reading) float64 { return m.PerSecond }),
		P50:        over(func(m reading) float64 { return m.P50 }),
		P99:        over(func(m reading) float64 { return m.P99 }),
		CPU:        over(func(m reading) float64 { return m.CPU }),
	}
}

// round is one pass over all targets. Junctor stands in the middle and each
// yardstick is measured before and after it, so that a machine that becomes
// slower or faster meanwhile changes both sides alike.
type round struct {
	junctor       reading
	before, after map[string]reading // by yardstick
	other         float64            // cores that strangers kept busy; NaN where that cannot be known
}

// ratios compares Junctor with the middle of the two readings of a yardstick:
// the geometric one, because ratios are what is compared.
func ratios(rounds []round, yardstick string) Measures {
	return measure(rounds, func(r round, of func(reading) float64) float64 {
		return divide(of(r.junctor), math.Sqrt(of(r.before[yardstick])*of(r.after[yardstick])))
	})
}

// control compares a yardstick with itself: what it shows beyond 1 is noise.
func control(rounds []round, yardstick string) Measures {
	return measure(rounds, func(r round, of func(reading) float64) float64 {
		return divide(of(r.after[yardstick]), of(r.before[yardstick]))
	})
}

// divide gives no number unless both sides were measured.
func divide(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}

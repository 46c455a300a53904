package bench

import (
	"math"
	"slices"
	"time"
)

// Stat is a median with its range. N is the number of samples; if it is 0,
// nothing was measured and the other fields mean nothing.
type Stat struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// summarizeSamples returns the median of the samples. It ignores NaN and infinity:
// ratios to something that could not be measured.
func summarizeSamples(samples []float64) Stat {
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

// percentileOf returns the smallest sample that at least the share q of all
// samples does not exceed (nearest rank). It is always a sample that was
// measured.
func percentileOf(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Measure is a quantity that is compared.
type Measure string

// The measures.
const (
	Throughput Measure = "calls/s"
	P50        Measure = "p50"
	P99        Measure = "p99"
	Added      Measure = "added p50" // beyond the direct path
	CPU        Measure = "CPU/call"
)

// Measures has one Stat for each Measure.
type Measures struct {
	Throughput Stat `json:"throughput"` // more is better
	// From here on, less is better.
	P50 Stat `json:"p50"`
	P99 Stat `json:"p99"`
	// Of ratios only: what p50 has beyond the direct path.
	Added Stat `json:"added"`
	CPU   Stat `json:"cpu"` // per call
}

// statOf returns the Stat of a Measure.
func (m Measures) statOf(what Measure) Stat {
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

// measureRounds applies f to every round, for each quantity of a reading.
func measureRounds(rounds []roundReadings, f func(r roundReadings, of func(reading) float64) float64) Measures {
	return Measures{
		Throughput: summarizeRounds(rounds, func(r roundReadings) float64 { return f(r, func(m reading) float64 { return m.PerSecond }) }),
		P50:        summarizeRounds(rounds, func(r roundReadings) float64 { return f(r, medianTime) }),
		P99:        summarizeRounds(rounds, func(r roundReadings) float64 { return f(r, func(m reading) float64 { return m.P99 }) }),
		CPU:        summarizeRounds(rounds, func(r roundReadings) float64 { return f(r, func(m reading) float64 { return m.CPU }) }),
	}
}

// summarizeRounds summarizes the value of f over all rounds.
func summarizeRounds(rounds []roundReadings, f func(roundReadings) float64) Stat {
	v := make([]float64, len(rounds))
	for i, r := range rounds {
		v[i] = f(r)
	}
	return summarizeSamples(v)
}

// medianTime returns the p50 of a reading.
func medianTime(m reading) float64 { return m.P50 }

// roundReadings are the readings of one round over all targets. Junctor is in the
// middle, and each yardstick is measured before and after it. So a machine that
// becomes slower or faster meanwhile changes both sides alike.
type roundReadings struct {
	junctor       reading
	before, after map[string]reading // by yardstick
	// Cores that other processes kept busy; NaN if unknown.
	otherCores float64
}

// middleOf estimates a yardstick at the time of Junctor's reading: the geometric
// mean, because ratios are compared.
func (r roundReadings) middleOf(yardstick string, of func(reading) float64) float64 {
	return math.Sqrt(of(r.before[yardstick]) * of(r.after[yardstick]))
}

// computeRatios compares Junctor with a yardstick.
func computeRatios(rounds []roundReadings, yardstick string) Measures {
	m := measureRounds(rounds, func(r roundReadings, of func(reading) float64) float64 {
		return divideMeasured(of(r.junctor), r.middleOf(yardstick, of))
	})
	m.Added = summarizeRounds(rounds, func(r roundReadings) float64 {
		direct := r.middleOf(Direct, medianTime)
		return compareAdded(r.junctor.P50, r.middleOf(yardstick, medianTime), direct, direct)
	})
	return m
}

// computeControl compares a yardstick with itself. Every deviation from 1 is
// noise.
func computeControl(rounds []roundReadings, yardstick string) Measures {
	m := measureRounds(rounds, func(r roundReadings, of func(reading) float64) float64 {
		return divideMeasured(of(r.after[yardstick]), of(r.before[yardstick]))
	})
	m.Added = summarizeRounds(rounds, func(r roundReadings) float64 {
		return compareAdded(r.after[yardstick].P50, r.before[yardstick].P50, r.after[Direct].P50, r.before[Direct].P50)
	})
	return m
}

// compareAdded returns the ratio of the times that a and b take beyond the direct
// path; NaN if one was not measured.
func compareAdded(a, b, directOfA, directOfB float64) float64 {
	if a <= 0 || directOfA <= 0 || directOfB <= 0 {
		return math.NaN()
	}
	if b -= directOfB; b <= 0 {
		return math.NaN()
	}
	return max(0, a-directOfA) / b
}

// divideMeasured returns a/b; NaN unless both were measured.
func divideMeasured(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}

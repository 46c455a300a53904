package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		in   []float64
		want Stat
	}{
		{"nothing", nil, Stat{}},
		{"one", []float64{3}, Stat{1, 3, 3, 3}},
		{"odd, unsorted", []float64{9, 1, 2}, Stat{3, 2, 1, 9}},
		{"even", []float64{4, 1, 3, 2}, Stat{4, 2.5, 1, 4}},
		{"what was not measured is left out", []float64{nan, 2, inf, 4, -inf}, Stat{2, 3, 2, 4}},
		{"only that", []float64{nan}, Stat{}},
		{"no overflow", []float64{math.MaxFloat64, math.MaxFloat64}, Stat{2, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := summarizeSamples(c.in); got != c.want {
				t.Errorf("summarize(%v) = %+v, want %+v", c.in, got, c.want)
			}
		})
	}
}

func TestSummarizeHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "samples")
		kept := slices.Clone(v)
		s := summarizeSamples(v)
		if !slices.Equal(v, kept) {
			t.Fatal("the samples were changed")
		}
		below, above := 0, 0
		for _, x := range v {
			if x < s.Median {
				below++
			}
			if x > s.Median {
				above++
			}
		}
		if s.N != len(v) || s.Min != slices.Min(v) || s.Max != slices.Max(v) || 2*below > len(v) || 2*above > len(v) {
			t.Fatalf("%+v of %v: %d below and %d above the median", s, v, below, above)
		}
	})
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		in   []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{hundred[:1], 0.01, 1},
		{hundred[:1], 1, 1},
		{hundred[:2], 0.5, 1},
		{hundred[:3], 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 0.991, 100},
		{hundred, 1, 100},
		{hundred, 0, 1},
	} {
		if got := percentileOf(c.in, c.q); got != c.want {
			t.Errorf("percentile(%d samples, %v) = %d, want %d", len(c.in), c.q, got, c.want)
		}
	}
}

func TestPercentileHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 80).Draw(t, "samples")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		sorted := make([]time.Duration, len(v))
		for i, x := range v {
			sorted[i] = time.Duration(x)
		}
		slices.Sort(sorted)
		p := percentileOf(sorted, q)
		within, less := 0, 0
		for _, d := range sorted {
			if d <= p {
				within++
			}
			if d < p {
				less++
			}
		}
		share := q * float64(len(v))
		if !slices.Contains(sorted, p) || float64(within) < share-1e-9 || less > 0 && float64(less) >= share+1e-9 {
			t.Fatalf("percentile(%v, %v) = %d: %d samples up to it, %d below", sorted, q, p, within, less)
		}
	})
}

// even is a round on a machine whose speed does not change.
func even(junctor, direct, rev reading) roundReadings {
	yard := map[string]reading{Direct: direct, ReverseProxy: rev}
	return roundReadings{junctor: junctor, before: yard, after: yard}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	direct := reading{PerSecond: 1000, P50: 10, P99: 50, CPU: 20}
	rev := reading{PerSecond: 500, P50: 20, P99: 100, CPU: 40}
	rounds := []roundReadings{
		even(reading{PerSecond: 500, P50: 20, P99: 150, CPU: 40}, direct, rev),
		even(reading{PerSecond: 250, P50: 40, P99: 50, CPU: 60}, direct, rev),
		even(reading{PerSecond: 1000, P50: 10, P99: 100, CPU: 20}, direct, rev),
	}
	want := Measures{Throughput: Stat{3, 0.5, 0.25, 1}, P50: Stat{3, 2, 1, 4}, P99: Stat{3, 2, 1, 3}, CPU: Stat{3, 2, 1, 3}}
	if got := computeRatios(rounds, Direct); got != want {
		t.Errorf("of direct: %+v, want %+v", got, want)
	}
	want = Measures{Throughput: Stat{3, 1, 0.5, 2}, P50: Stat{3, 1, 0.5, 2}, P99: Stat{3, 1, 0.5, 1.5}, Added: Stat{3, 1, 0, 3}, CPU: Stat{3, 1, 0.5, 1.5}}
	if got := computeRatios(rounds, ReverseProxy); got != want {
		t.Errorf("of rev: %+v, want %+v", got, want)
	}
	rounds[0].junctor.CPU, rounds[1].after = 0, map[string]reading{Direct: {PerSecond: 2000}}
	got := computeRatios(rounds, Direct)
	if got.CPU.N != 1 || got.CPU.Median != 1 {
		t.Errorf("CPU = %+v, want only the round in which all was measured", got.CPU)
	}
	if c := computeControl(rounds, Direct); c.Throughput != (Stat{3, 1, 1, 2}) || c.CPU != (Stat{2, 1, 1, 1}) {
		t.Errorf("control = %+v", c)
	}
	for what, want := range map[Measure]Stat{Throughput: got.Throughput, P50: got.P50, P99: got.P99, Added: got.Added, CPU: got.CPU, "": {}} {
		if got.statOf(what) != want {
			t.Errorf("%s: %+v, want %+v", what, got.statOf(what), want)
		}
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct{ a, b, directA, directB, want float64 }{
		{30, 20, 10, 10, 2},
		{15, 20, 10, 10, 0.5},
		{9, 20, 10, 10, 0}, // noise: nothing is faster than the direct path
		{30, 10, 10, 10, nan},
		{30, 20, 0, 10, nan},
		{30, 20, 10, 0, nan},
		{0, 20, 10, 10, nan},
	} {
		if got := compareAdded(c.a, c.b, c.directA, c.directB); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("added(%+v) = %v", c, got)
		}
	}
}

// What the machine does to both sides must not show, however its speed changes
// from round to round and steadily within one.
func TestRatiosCancelTheMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		truth := rapid.Float64Range(0.1, 10).Draw(t, "truth")
		var rounds []roundReadings
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			speed := rapid.Float64Range(0.2, 5).Draw(t, "speed")
			drift := rapid.Float64Range(0.7, 1.4).Draw(t, "drift")
			at := func(step float64, factor float64) reading {
				v := speed * math.Pow(drift, step) * factor
				return reading{PerSecond: v, P50: v, P99: v, CPU: v}
			}
			rounds = append(rounds, roundReadings{
				before:  map[string]reading{ReverseProxy: at(0, 3), Direct: at(1, 1)},
				junctor: at(2, truth),
				after:   map[string]reading{Direct: at(3, 1), ReverseProxy: at(4, 3)},
			})
		}
		near := func(got Stat, want float64) bool {
			return got.N == len(rounds) && math.Abs(got.Min/want-1) < 1e-9 && math.Abs(got.Max/want-1) < 1e-9
		}
		direct, rev := computeRatios(rounds, Direct), computeRatios(rounds, ReverseProxy)
		if !near(direct.Throughput, truth) || !near(direct.CPU, truth) || !near(rev.P50, truth/3) || !near(rev.P99, truth/3) {
			t.Fatalf("truth %v: of direct %+v, of rev %+v", truth, direct, rev)
		}
	})
}

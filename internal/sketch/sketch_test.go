package sketch_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/sketch"
)

// values draws numbers of every magnitude, with repetitions.
func values(name string) *rapid.Generator[[]int64] {
	value := rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(0, math.MaxInt64).Draw(t, name) >> rapid.IntRange(0, 62).Draw(t, "shift")
	})
	return rapid.SliceOfN(value, 0, 300)
}

// sketchOf returns the sketch of values.
func sketchOf(list ...int64) *sketch.Sketch {
	var s sketch.Sketch
	for _, v := range list {
		s.Add(v)
	}
	return &s
}

// exactQuantile returns the smallest value that at least the share q of all values does
// not exceed.
func exactQuantile(sorted []int64, q float64) float64 {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[min(max(rank, 1), len(sorted))-1])
}

func encoded(s *sketch.Sketch) []byte { return s.AppendBinary(nil) }

func merged(list ...*sketch.Sketch) *sketch.Sketch {
	var all sketch.Sketch
	for _, s := range list {
		all.Merge(s)
	}
	return &all
}

func TestErrorIsAtMostOnePercent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := values("value").Draw(t, "values")
		s := sketchOf(list...)
		if got := s.Count(); got != uint64(len(list)) {
			t.Fatalf("count %d, want %d", got, len(list))
		}
		if len(list) == 0 {
			if got := s.Quantile(.5); got != 0 {
				t.Fatalf("the p50 of nothing is %g", got)
			}
			return
		}
		slices.Sort(list)
		qs := append([]float64{0, .5, .9, .95, .99, .999, 1}, rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "quantiles")...)
		for _, q := range qs {
			want, got := exactQuantile(list, q), s.Quantile(q)
			if math.Abs(got-want) > sketch.MaxError*want {
				t.Fatalf("quantile %g of %d values: %g, want %g", q, len(list), got, want)
			}
		}
	})
}

// Every power of two and its neighbours, where rounding could leave a bucket.
func TestErrorOfEveryMagnitude(t *testing.T) {
	t.Parallel()
	for shift := range 63 {
		for _, v := range []int64{1<<shift - 1, 1 << shift, 1<<shift + 1, math.MaxInt64 >> shift} {
			got := sketchOf(0, v, v, v+v/3, math.MaxInt64).Quantile(.6)
			if math.Abs(got-float64(v)) > sketch.MaxError*float64(v) {
				t.Errorf("%d is estimated as %g", v, got)
			}
		}
	}
}

func TestOneValueIsExact(t *testing.T) {
	t.Parallel()
	for _, q := range []float64{0, .5, .99, 1} {
		if got := sketchOf(7_010_000_000).Quantile(q); got != 7_010_000_000 {
			t.Errorf("quantile %g: %g", q, got)
		}
	}
	if got := sketchOf(-5).Quantile(.5); got != 0 {
		t.Errorf("a negative value: %g", got)
	}
}

// In any order and grouping, merging gives the sketch of all values.
func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two, three := values("one").Draw(t, "one"), values("two").Draw(t, "two"), values("three").Draw(t, "three")
		a, b, c := sketchOf(one...), sketchOf(two...), sketchOf(three...)
		want := encoded(sketchOf(slices.Concat(one, two, three)...))
		for name, s := range map[string]*sketch.Sketch{
			"(a b) c": merged(merged(a, b), c), "a (b c)": merged(a, merged(b, c)), "c b a": merged(c, b, a), "b a c": merged(b, a, c),
		} {
			if !bytes.Equal(encoded(s), want) {
				t.Fatalf("%s: %x, want %x", name, encoded(s), want)
			}
		}
		if !bytes.Equal(encoded(a), encoded(sketchOf(one...))) {
			t.Fatal("merging changed its argument")
		}
	})
}

// Counts stop at the largest number instead of becoming small.
// What is left after values were removed has the quantiles of the other values.
func TestRemoveLeavesTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rest, gone := values("rest").Draw(t, "rest"), values("gone").Draw(t, "gone")
		removed := sketchOf(gone...)
		before := encoded(removed)
		s := merged(sketchOf(rest...), removed)
		s.Remove(removed)
		if s.Count() != uint64(len(rest)) || !bytes.Equal(encoded(removed), before) {
			t.Fatalf("%d values are left, want %d", s.Count(), len(rest))
		}
		slices.Sort(rest)
		for _, q := range []float64{0, .01, .5, .95, .99, 1} {
			want := 0.0
			if len(rest) > 0 {
				want = exactQuantile(rest, q)
			}
			// The smallest and the largest value are estimates, rounded to whole numbers.
			if got := s.Quantile(q); math.Abs(got-want) > sketch.MaxError*want+.5 {
				t.Fatalf("p%g is %g, want %g", 100*q, got, want)
			}
		}
		var decoded sketch.Sketch
		if err := decoded.Decode(encoded(s)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCountsDoNotOverflow(t *testing.T) {
	t.Parallel()
	var s sketch.Sketch
	s.AddCount(5, math.MaxUint64)
	s.AddCount(0, math.MaxUint64)
	s.Merge(merged(&s))
	if got := s.Count(); got != math.MaxUint64 {
		t.Errorf("count %d", got)
	}
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := sketchOf(values("value").Draw(t, "values")...)
		data := encoded(s)
		got := sketchOf(1, 2, 3)
		if err := got.Decode(data); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded(got), data) {
			t.Fatalf("decoded and encoded again: %x, want %x", encoded(got), data)
		}
	})
	var s sketch.Sketch
	for v := int64(1_000_000); v < 100_000_000; v += 10_000 {
		s.Add(v)
	}
	if size := len(encoded(&s)); size > 1000 {
		t.Errorf("10 000 values between 1 ms and 100 ms take %d bytes", size)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := encoded(sketchOf(0, 10, 1000))
	for name, data := range map[string][]byte{
		"nothing":         {},
		"another version": append([]byte{2}, good[1:]...),
		"a part":          good[:len(good)-1],
		"more":            append(slices.Clone(good), 0),
		"a count of 0":    append(slices.Clone(good), 0, 0),
		"a high index":    append(slices.Clone(good), 0xff, 0xff, 0x7f, 1),
		"a long number":   {1, 0x80, 0},
		"no buckets":      {1, 0, 5, 0},
		"a wrong minimum": {1, 0, 1, 0, 100, 1},
	} {
		s := sketchOf(1)
		if err := s.Decode(data); err == nil || s.Count() != 0 {
			t.Errorf("%s: error %v, count %d", name, err, s.Count())
		}
	}
}

// Whatever is stored, decoding ends without a panic, and what it accepts has one
// encoding.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(sketchOf()))
	f.Add(encoded(sketchOf(0)))
	f.Add(encoded(sketchOf(0, 1, 2, 7_010_000_000, math.MaxInt64)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sketch.Sketch
		if s.Decode(data) != nil {
			return
		}
		if got := encoded(&s); !bytes.Equal(got, data) {
			t.Fatalf("%x is encoded as %x", data, got)
		}
		former := 0.0
		for _, q := range []float64{0, .25, .5, .75, .95, .99, 1} {
			v := s.Quantile(q)
			if v < former || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("quantile %g is %g after %g", q, v, former)
			}
			former = v
		}
		s.Merge(&s)
	})
}

// A histogram with wide buckets is taken over with its own error.
func TestAddRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Int64Range(0, 1_000_000_000).Draw(t, "low")
		high := low + rapid.Int64Range(1, 1_000_000_000).Draw(t, "width")
		count := rapid.Uint64Range(1, 1_000_000).Draw(t, "count")
		var s sketch.Sketch
		s.AddRange(low, high, count)
		if s.Count() != count {
			t.Fatalf("count %d, want %d", s.Count(), count)
		}
		if least, most := s.Quantile(0), s.Quantile(1); least < float64(low) || most > float64(high) {
			t.Fatalf("from %g to %g, want values from %d to %d", least, most, low, high)
		}
		var again sketch.Sketch
		if err := again.Decode(encoded(&s)); err != nil {
			t.Fatal(err)
		}
	})
	var s sketch.Sketch
	s.AddRange(5_000_000_000, 10_000_000_000, 1000)
	if got := s.Quantile(.5); math.Abs(got-7_500_000_000) > .02*7_500_000_000 {
		t.Errorf("the middle of 5 s to 10 s is %g", got)
	}
}

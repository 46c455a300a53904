// Package sketch estimates quantiles, such as the p95 of latencies, from a summary
// that is much smaller than the values. The error of an estimate is at most 1 % of the
// value. Sketches of different tools, days or replicas can be merged, in any order and
// with the same result, so sums over any period have percentiles, too.
//
// A Sketch counts values in buckets whose bounds grow by a constant factor, as
// DDSketch does. It imports nothing of ours, so that every package that measures can
// use it; package history keeps one for each row of usage. Read sketch.go, then
// encode.go, which has the form in which a sketch is stored.
package sketch

import (
	"cmp"
	"math"
	"slices"
)

// MaxError is the maximum relative error of Quantile. It is slightly above the error
// that follows from growth, so that rounding cannot exceed it.
const MaxError = 0.01

// growth is the ratio between the bounds of a bucket. The estimate of a bucket is
// within (growth-1)/(growth+1), which is less than MaxError, of all values in it.
const growth = 1.02

// maxIndex is the highest index of a bucket: that of math.MaxInt64.
const maxIndex = 2206

// Sketch counts non-negative whole numbers, such as nanoseconds or bytes. The zero
// Sketch is empty and ready to use. It is not safe for concurrent use.
type Sketch struct {
	zeros uint64
	// In the order of their indexes; none has the count 0.
	buckets []bucket
	// The smallest and the largest value above 0; 0 if there is none.
	min, max int64
}

// bucket counts the values above growth^(index-1), up to growth^index.
type bucket struct {
	index int
	count uint64
}

// indexOf returns the index of the bucket of a value above 0.
func indexOf(value int64) int {
	return int(math.Ceil(math.Log(float64(value)) / math.Log(growth)))
}

// estimateOf returns the value whose relative distance to both bounds of a bucket is
// the same.
func estimateOf(index int) float64 {
	return 2 * math.Pow(growth, float64(index)) / (growth + 1)
}

// Add counts a value. A negative value counts as 0.
func (s *Sketch) Add(value int64) { s.AddCount(value, 1) }

// AddCount counts a value count times.
func (s *Sketch) AddCount(value int64, count uint64) {
	switch {
	case count == 0:
		return
	case value <= 0:
		s.zeros = addCounts(s.zeros, count)
		return
	}
	s.widen(value, value)
	s.addBucket(bucket{index: indexOf(value), count: count})
}

// AddRange counts count values that are spread evenly above low, up to high. It serves
// to take over histograms with wide buckets. The error then is that of the histogram.
func (s *Sketch) AddRange(low, high int64, count uint64) {
	low = max(low, 0)
	if high <= low+1 || count == 0 {
		s.AddCount(high, count)
		return
	}
	first, last := indexOf(low+1), indexOf(high)
	counted := uint64(0)
	for index := first; index <= last; index++ {
		upTo := count
		if index < last {
			share := (math.Pow(growth, float64(index)) - float64(low)) / float64(high-low)
			upTo = min(count, uint64(math.Round(max(0, share)*float64(count))))
		}
		if upTo > counted {
			s.AddCount(min(max(int64(estimateOf(index)), low+1), high), upTo-counted)
			counted = upTo
		}
	}
}

// widen extends the range from min to max by the range from low to high.
func (s *Sketch) widen(low, high int64) {
	if s.min == 0 || low < s.min {
		s.min = low
	}
	s.max = max(s.max, high)
}

// addBucket adds the count of a bucket.
func (s *Sketch) addBucket(b bucket) {
	i, found := slices.BinarySearchFunc(s.buckets, b.index, func(b bucket, index int) int { return cmp.Compare(b.index, index) })
	if !found {
		s.buckets = slices.Insert(s.buckets, i, bucket{index: b.index})
	}
	s.buckets[i].count = addCounts(s.buckets[i].count, b.count)
}

// addCounts adds counts. The largest count stands for every larger one, so that a sum
// never becomes small.
func addCounts(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// Merge adds everything that other has counted. The result does not depend on the order
// in which sketches are merged. other is not changed.
func (s *Sketch) Merge(other *Sketch) {
	s.zeros = addCounts(s.zeros, other.zeros)
	if len(other.buckets) == 0 {
		return
	}
	s.widen(other.min, other.max)
	if len(s.buckets) == 0 {
		s.buckets = append(s.buckets, other.buckets...)
		return
	}
	merged := make([]bucket, 0, len(s.buckets)+len(other.buckets))
	mine, theirs := s.buckets, other.buckets
	for len(mine) > 0 && len(theirs) > 0 {
		switch c := cmp.Compare(mine[0].index, theirs[0].index); {
		case c < 0:
			merged, mine = append(merged, mine[0]), mine[1:]
		case c > 0:
			merged, theirs = append(merged, theirs[0]), theirs[1:]
		default:
			merged = append(merged, bucket{index: mine[0].index, count: addCounts(mine[0].count, theirs[0].count)})
			mine, theirs = mine[1:], theirs[1:]
		}
	}
	s.buckets = append(append(merged, mine...), theirs...)
}

// Remove removes everything that other has counted, which Merge had added before. Then the
// smallest and the largest value are estimates, as those of other quantiles are. other is not
// changed.
func (s *Sketch) Remove(other *Sketch) {
	s.zeros -= min(s.zeros, other.zeros)
	left := s.buckets[:0:0]
	for _, b := range s.buckets {
		if i, found := slices.BinarySearchFunc(other.buckets, b.index, func(b bucket, index int) int { return cmp.Compare(b.index, index) }); found {
			b.count -= min(b.count, other.buckets[i].count)
		}
		if b.count > 0 {
			left = append(left, b)
		}
	}
	s.buckets = left
	if len(left) == 0 {
		s.min, s.max = 0, 0
		return
	}
	low, high := s.estimateWithin(left[0].index), s.estimateWithin(left[len(left)-1].index)
	s.min, s.max = low, high
}

// estimateWithin returns the estimate of a bucket as a whole number from min to max.
func (s *Sketch) estimateWithin(index int) int64 {
	estimate := math.Round(estimateOf(index))
	if estimate >= float64(s.max) {
		return s.max
	}
	return max(int64(estimate), s.min)
}

// Reset removes all values and keeps the memory for new ones.
func (s *Sketch) Reset() { *s = Sketch{buckets: s.buckets[:0]} }

// Count returns how many values were counted.
func (s *Sketch) Count() uint64 {
	count := s.zeros
	for _, b := range s.buckets {
		count = addCounts(count, b.count)
	}
	return count
}

// Quantile returns an estimate of the smallest value that at least the share q of all
// values does not exceed: 0.95 gives the p95. It differs from that value by at most
// MaxError of it, and is exact for 0, for the smallest and for the largest value. It is
// 0 if nothing was counted.
func (s *Sketch) Quantile(q float64) float64 {
	count := s.Count()
	if count == 0 {
		return 0
	}
	rank := uint64(1)
	if r := math.Ceil(q * float64(count)); r > 1 {
		rank = min(uint64(r), count)
	}
	if rank <= s.zeros {
		return 0
	}
	switch rank {
	case s.zeros + 1:
		return float64(s.min)
	case count:
		return float64(s.max)
	}
	before := s.zeros
	for _, b := range s.buckets {
		if before = addCounts(before, b.count); rank <= before {
			return min(max(estimateOf(b.index), float64(s.min)), float64(s.max))
		}
	}
	return float64(s.max)
}

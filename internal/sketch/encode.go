package sketch

import (
	"encoding/binary"
	"errors"
	"math"
)

// version is the first byte of an encoded sketch. A change of growth or of the layout
// needs another one.
const version = 1

// errEncoding is the error of Decode.
var errEncoding = errors.New("this is not an encoded sketch of a known version")

// AppendBinary appends the encoded sketch to b: the version, the count of zeros, and, if
// there are values above 0, the smallest, the largest less the smallest, and for each
// bucket how far its index is above the one before and its count. All numbers are
// unsigned varints, so a bucket takes two bytes or a few more.
func (s *Sketch) AppendBinary(b []byte) []byte {
	b = append(b, version)
	b = binary.AppendUvarint(b, s.zeros)
	if len(s.buckets) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(s.min))       //nolint:gosec // above 0
	b = binary.AppendUvarint(b, uint64(s.max-s.min)) //nolint:gosec // not below 0
	former := -1
	for _, bucket := range s.buckets {
		b = binary.AppendUvarint(b, uint64(bucket.index-former-1)) //nolint:gosec // indexes ascend
		b = binary.AppendUvarint(b, bucket.count)
		former = bucket.index
	}
	return b
}

// Decode replaces the sketch by an encoded one. It accepts exactly what AppendBinary
// writes; on an error the sketch is empty.
func (s *Sketch) Decode(data []byte) error {
	s.Reset()
	if err := s.decode(data); err != nil {
		s.Reset()
		return err
	}
	return nil
}

// decode is Decode, and leaves a part behind on an error.
func (s *Sketch) decode(data []byte) error {
	if len(data) == 0 || data[0] != version {
		return errEncoding
	}
	r := reader{data: data[1:]}
	s.zeros = r.next()
	if len(r.data) == 0 {
		return r.err
	}
	low, width := r.next(), r.next()
	if low == 0 || low > math.MaxInt64 || width > math.MaxInt64-low {
		return errEncoding
	}
	s.min, s.max = int64(low), int64(low+width) //nolint:gosec // both were compared with MaxInt64
	for index := -1; len(r.data) > 0; {
		step, count := r.next(), r.next()
		if r.err != nil || count == 0 || step > maxIndex || index+1+int(step) > maxIndex {
			return errEncoding
		}
		index += 1 + int(step)
		s.buckets = append(s.buckets, bucket{index: index, count: count})
	}
	if r.err != nil || len(s.buckets) == 0 || !isIndexOf(s.buckets[0].index, s.min) || !isIndexOf(s.buckets[len(s.buckets)-1].index, s.max) {
		return errEncoding
	}
	return nil
}

// isIndexOf reports whether a value belongs to a bucket. A value at a bound may belong
// to either of two buckets, because processors differ in how they round.
func isIndexOf(index int, value int64) bool {
	of := indexOf(value)
	return index >= of-1 && index <= of+1
}

// reader reads varints, and remembers the first error.
type reader struct {
	data []byte
	err  error
}

// next returns the next number; 0 after an error. A number that is longer than needed is
// an error, so that a sketch has one encoding only.
func (r *reader) next() uint64 {
	n, size := binary.Uvarint(r.data)
	if r.err != nil || size <= 0 || size > 1 && r.data[size-1] == 0 {
		r.err, r.data = errEncoding, nil
		return 0
	}
	r.data = r.data[size:]
	return n
}

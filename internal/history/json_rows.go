package history

import (
	"math"
	"strconv"
	"unsafe"
)

// maxListBytes is how many bytes of rows go into one statement, and a row more: as many
// as are written within a millisecond or two.
const maxListBytes = 32 << 10

// jsonRows gathers rows as JSON, lists in a list, that Dialect.SelectRows reads: one
// parameter for many rows, as one for every value costs more than the insert.
// Its buffer is used again.
type jsonRows struct {
	buf       []byte
	listStart int   // of the list that is being written
	listEnds  []int // of those before
	inRow     bool  // a row
}

// reset empties the rows. A buffer that grew far is given up.
func (r *jsonRows) reset() {
	if cap(r.buf) > 4*batchBytes {
		r.buf = nil
	}
	r.buf, r.listStart, r.listEnds, r.inRow = r.buf[:0], 0, r.listEnds[:0], false
}

// beginValue is where a value begins.
func (r *jsonRows) beginValue() {
	switch {
	case r.inRow:
		r.buf = append(r.buf, ',')
	case len(r.buf) > r.listStart:
		r.buf = append(r.buf, ',', '[')
	default:
		r.buf = append(r.buf, '[', '[')
	}
	r.inRow = true
}

func (r *jsonRows) addInt(n int64) {
	r.beginValue()
	r.buf = strconv.AppendInt(r.buf, n, 10)
}

func (r *jsonRows) addText(s string) {
	r.beginValue()
	r.buf, _ = appendQuoted(append(r.buf, '"'), s, math.MaxInt)
	r.buf = append(r.buf, '"')
}

func (r *jsonRows) addBytes(s []byte) {
	r.beginValue()
	r.buf, _ = appendQuoted(append(r.buf, '"'), s, math.MaxInt)
	r.buf = append(r.buf, '"')
}

// endRow ends a row.
func (r *jsonRows) endRow() {
	r.buf = append(r.buf, ']')
	r.inRow = false
	if len(r.buf)-r.listStart >= maxListBytes {
		r.closeList()
	}
}

// closeList ends the list, if there is any.
func (r *jsonRows) closeList() {
	if len(r.buf) > r.listStart {
		r.buf = append(r.buf, ']')
		r.listStart = len(r.buf)
		r.listEnds = append(r.listEnds, r.listStart)
	}
}

// eachList gives the lists, the last of which was closed, until one fails. They are
// not copied: use must keep nothing of them.
func (r *jsonRows) eachList(use func(list string) error) error {
	begin := 0
	for _, end := range r.listEnds {
		list := r.buf[begin:end]
		if err := use(unsafe.String(unsafe.SliceData(list), len(list))); err != nil { //nolint:gosec // it does not change before reset
			return err
		}
		begin = end
	}
	return nil
}

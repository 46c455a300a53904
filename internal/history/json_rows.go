package history

import (
	"math"
	"strconv"
	"unsafe"
)

// maxListBytes is how many bytes of rows go into one statement, plus one row: as
// many as are written within one or two milliseconds.
const maxListBytes = 32 << 10

// jsonRows collects rows as JSON, a list of lists, which Dialect.SelectRows
// reads. One parameter then holds many rows; one parameter per value would cost
// more than the insert itself. The buffer is reused.
type jsonRows struct {
	buf       []byte
	listStart int   // where the current list begins
	listEnds  []int // where the completed lists end
	inRow     bool  // a row is open
}

// reset removes all rows. It gives up a buffer that grew very large.
func (r *jsonRows) reset() {
	if cap(r.buf) > 4*batchBytes {
		r.buf = nil
	}
	r.buf, r.listStart, r.listEnds, r.inRow = r.buf[:0], 0, r.listEnds[:0], false
}

// beginValue writes the separators before a value. The first value of a row also
// opens it.
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

// addInt adds a whole number to the current row.
func (r *jsonRows) addInt(n int64) {
	r.beginValue()
	r.buf = strconv.AppendInt(r.buf, n, 10)
}

// addText adds a text to the current row.
func (r *jsonRows) addText(s string) {
	r.beginValue()
	r.buf, _ = appendQuoted(append(r.buf, '"'), s, math.MaxInt)
	r.buf = append(r.buf, '"')
}

// addBytes adds a text to the current row. It does not keep s.
func (r *jsonRows) addBytes(s []byte) {
	r.beginValue()
	r.buf, _ = appendQuoted(append(r.buf, '"'), s, math.MaxInt)
	r.buf = append(r.buf, '"')
}

// endRow ends a row, and the list if it is long enough.
func (r *jsonRows) endRow() {
	r.buf = append(r.buf, ']')
	r.inRow = false
	if len(r.buf)-r.listStart >= maxListBytes {
		r.closeList()
	}
}

// closeList ends the current list, if it has rows.
func (r *jsonRows) closeList() {
	if len(r.buf) > r.listStart {
		r.buf = append(r.buf, ']')
		r.listStart = len(r.buf)
		r.listEnds = append(r.listEnds, r.listStart)
	}
}

// eachList calls use with each completed list, until one fails. The lists are not
// copied: use must not keep them.
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

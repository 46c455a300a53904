package history

import (
	"math"
	"strconv"
	"unsafe"
)

// rowsSize is how many bytes of rows go into one statement, and a row more: as many
// as are written within a millisecond or two.
const rowsSize = 32 << 10

// rows gathers rows as JSON, lists in a list, that Dialect.SelectRows reads: one
// parameter for many rows, as one for every value costs more than the insert.
// Its buffer is used again.
type rows struct {
	b      []byte
	begin  int   // of the list that is being written
	ends   []int // of those before
	inside bool  // a row
}

// reset empties the rows. A buffer that grew far is given up.
func (r *rows) reset() {
	if cap(r.b) > 4*batchBytes {
		r.b = nil
	}
	r.b, r.begin, r.ends, r.inside = r.b[:0], 0, r.ends[:0], false
}

// next is where a value begins.
func (r *rows) next() {
	switch {
	case r.inside:
		r.b = append(r.b, ',')
	case len(r.b) > r.begin:
		r.b = append(r.b, ',', '[')
	default:
		r.b = append(r.b, '[', '[')
	}
	r.inside = true
}

func (r *rows) int(n int64) {
	r.next()
	r.b = strconv.AppendInt(r.b, n, 10)
}

func (r *rows) text(s string) {
	r.next()
	r.b, _ = quote(append(r.b, '"'), s, math.MaxInt)
	r.b = append(r.b, '"')
}

func (r *rows) bytes(s []byte) {
	r.next()
	r.b, _ = quote(append(r.b, '"'), s, math.MaxInt)
	r.b = append(r.b, '"')
}

// end ends a row.
func (r *rows) end() {
	r.b = append(r.b, ']')
	r.inside = false
	if len(r.b)-r.begin >= rowsSize {
		r.close()
	}
}

// close ends the list, if there is any.
func (r *rows) close() {
	if len(r.b) > r.begin {
		r.b = append(r.b, ']')
		r.begin = len(r.b)
		r.ends = append(r.ends, r.begin)
	}
}

// each gives the lists, the last of which was closed, until one fails. They are
// not copied: use must keep nothing of them.
func (r *rows) each(use func(list string) error) error {
	begin := 0
	for _, end := range r.ends {
		list := r.b[begin:end]
		if err := use(unsafe.String(unsafe.SliceData(list), len(list))); err != nil { //nolint:gosec // it does not change before reset
			return err
		}
		begin = end
	}
	return nil
}

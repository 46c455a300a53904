package store

import (
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// Rows gathers many rows as one JSON text, to be inserted by one statement with
// one parameter: a parameter for every value costs more than the insert itself.
// Dialect.SelectRows reads it.
type Rows struct {
	b     []byte
	start bool // of a row
}

// NewRows makes an empty list with room for size bytes.
func NewRows(size int) *Rows {
	r := &Rows{b: make([]byte, 0, size)}
	r.Reset()
	return r
}

// Reset empties the list, and uses its memory again: whatever was given by
// String must not be in use any more.
func (r *Rows) Reset() {
	r.b, r.start = append(r.b[:0], '[', '['), true
}

func (r *Rows) next() {
	if !r.start {
		r.b = append(r.b, ',')
	}
	r.start = false
}

// Int adds a number to the row.
func (r *Rows) Int(n int64) *Rows {
	r.next()
	r.b = strconv.AppendInt(r.b, n, 10)
	return r
}

// Text adds a text to the row. What is not UTF-8 in it is replaced.
func (r *Rows) Text(s string) *Rows {
	r.next()
	r.b = append(r.b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if ru, size := utf8.DecodeRuneInString(s[i:]); ru != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		r.b = append(r.b, s[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			r.b = append(r.b, "\ufffd"...)
		case c < ' ':
			const hex = "0123456789abcdef"
			r.b = append(r.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			r.b = append(r.b, '\\', c)
		}
		i++
		from = i
	}
	r.b = append(append(r.b, s[from:]...), '"')
	return r
}

// End ends a row.
func (r *Rows) End() {
	r.b = append(r.b, ']', ',', '[')
	r.start = true
}

// String is the whole list. It is not copied: add nothing before a Reset.
func (r *Rows) String() string {
	if len(r.b) == len("[[") {
		return "[]"
	}
	r.b = append(r.b[:len(r.b)-len(",[")], ']')
	return unsafe.String(unsafe.SliceData(r.b), len(r.b)) //nolint:gosec // r.b does not change before a Reset
}

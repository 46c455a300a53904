package history

import (
	"bytes"
	"unicode/utf8"
)

// reserve is the room that is kept for a marker.
const reserve = 64

// walk goes through JSON once, of which the end may be missing, and writes what
// may be kept of it: always whole JSON, of max bytes at most. Nothing is
// written before it was judged, and what is cut off at the end of the input is
// not written at all.
type walk struct {
	r      *redactor
	src    []byte
	pos    int
	size   int  // of the whole
	cut    bool // src is not the whole
	max    int
	nested int // how many strings this JSON lies in

	out     []byte
	open    int  // containers to be closed
	changed bool // something was redacted
	stopped bool // no more is read: out is full, or src at its end
	bad     bool // src is not JSON
	marked  bool // out says that it was cut
}

func (w *walk) space() {
	for w.pos < len(w.src) {
		switch w.src[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// fits says whether n more bytes have room beside what must still be written.
func (w *walk) fits(n int) bool { return len(w.out)+n <= w.max-reserve-w.open }

// end is where src ends too early: fine when it was cut, else it is not JSON.
func (w *walk) end() bool {
	w.stopped = true
	if !w.cut {
		w.bad = true
	}
	return false
}

func (w *walk) fail() bool {
	w.bad, w.stopped = true, true
	return false
}

func (w *walk) full() bool {
	w.stopped = true
	return false
}

// value copies the next value and says whether it wrote one.
func (w *walk) value(paths []path, depth int) bool {
	w.space()
	if w.pos >= len(w.src) {
		return w.end()
	}
	if arrived(paths) {
		return w.hide(false)
	}
	switch w.src[w.pos] {
	case '{', '[':
		if depth >= mostDepth {
			return w.full()
		}
		if !w.fits(1) {
			return w.full()
		}
		if w.src[w.pos] == '{' {
			w.object(paths, depth)
		} else {
			w.array(paths, depth)
		}
		return !w.bad
	case '"':
		raw, whole, ok := w.str()
		if !ok {
			return false
		}
		return w.stringValue(raw, whole, paths)
	}
	token, ok := w.token()
	if !ok {
		return false
	}
	if !w.fits(len(token)) {
		return w.full()
	}
	w.out = append(w.out, token...)
	return true
}

// stringValue writes a string that was read.
func (w *walk) stringValue(raw []byte, whole bool, paths []path) bool {
	if whole && len(raw) < 8 && len(w.r.known) == 0 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) { // too short to be a secret
		if !w.fits(len(raw) + 2) {
			return w.full()
		}
		w.out = append(append(append(w.out, '"'), raw...), '"')
		return true
	}
	defer w.r.release(len(w.r.scratch))
	s, ok := w.r.unquote(raw)
	if !ok {
		return w.fail()
	}
	if inner, is := w.inside(s, whole, paths); is {
		return w.put(inner, whole)
	}
	return w.text(s, whole)
}

// inside gives a string that holds JSON itself, redacted as such. It is good
// until the next one.
func (w *walk) inside(s []byte, whole bool, paths []path) ([]byte, bool) {
	if w.nested >= mostNested || !container(s) {
		return nil, false
	}
	out := &w.r.outs[w.nested+1]
	in := walk{r: w.r, src: s, size: len(s), cut: !whole, max: max(w.max-len(w.out), 2*reserve), nested: w.nested + 1, out: (*out)[:0]}
	in.value(paths, 0)
	*out = in.out
	if in.space(); in.bad || !in.stopped && in.pos < len(in.src) {
		return nil, false
	}
	if !in.changed && !in.stopped {
		return s, true // as it was written
	}
	w.changed = w.changed || in.changed
	return in.out, true
}

// container says that a text may be an object or an array.
func container(s []byte) bool {
	for _, c := range s {
		if !isSpace(c) {
			return c == '{' || c == '['
		}
	}
	return false
}

// text writes a string without what is secret in it, as much as fits.
func (w *walk) text(s []byte, whole bool) bool {
	if !whole {
		s = w.r.unfinished(s)
	}
	clean, changed := w.r.clean(s)
	w.changed = w.changed || changed
	return w.put(clean, whole)
}

// put writes a string that was judged.
func (w *walk) put(s []byte, whole bool) bool {
	room := w.max - reserve - w.open - len(w.out) - 2
	if room < 0 {
		return w.full()
	}
	w.out = append(w.out, '"')
	var fit bool
	w.out, fit = quote(w.out, s, room)
	if !fit || !whole {
		w.stopped = true
		w.mark("", "")
	}
	w.out = append(w.out, '"')
	return true
}

// mark says, once, that something is missing here.
func (w *walk) mark(before, after string) {
	if !w.marked {
		w.marked = true
		w.out = append(marker(append(w.out, before...), w.size), after...)
	}
}

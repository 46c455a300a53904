package history

import (
	"bytes"
	"unicode/utf8"
)

// markerReserve is the space that is kept free for a marker.
const markerReserve = 64

// jsonRedactor goes through JSON once and writes what may be kept: always valid
// JSON, of at most maxBytes. The end of the input may be missing. Nothing is
// written before it was judged, and a value that the end of the input cuts off is
// not written at all.
type jsonRedactor struct {
	redactor *redactor
	// The input; the position pos is the next byte to read.
	src       []byte
	pos       int
	totalSize int // of the complete payload
	// Src is only the beginning of the payload.
	isTruncated bool
	// Of out, with everything that closes it.
	maxBytes int
	// How many strings enclose this JSON.
	nesting int

	out []byte
	// Containers that must still be closed.
	openContainers int
	changed        bool // something was redacted
	// Reading has ended: out is full, or src is at its end.
	stopped bool
	notJSON bool // src is not JSON
	// Out already says that it was cut.
	hasMarker bool
}

// skipSpace moves the position past white space.
func (w *jsonRedactor) skipSpace() {
	for w.pos < len(w.src) {
		switch w.src[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// hasRoom reports whether n more bytes fit beside the marker and the closing
// brackets.
func (w *jsonRedactor) hasRoom(n int) bool {
	return len(w.out)+n <= w.maxBytes-markerReserve-w.openContainers
}

// endEarly handles the end of src inside a value. That is expected if src is
// truncated; otherwise it is not JSON. It always returns false, as failNotJSON
// and stopFull do, so that callers can return its result.
func (w *jsonRedactor) endEarly() bool {
	w.stopped = true
	if !w.isTruncated {
		w.notJSON = true
	}
	return false
}

// failNotJSON stops because src is not JSON.
func (w *jsonRedactor) failNotJSON() bool {
	w.notJSON, w.stopped = true, true
	return false
}

// stopFull stops because out is full.
func (w *jsonRedactor) stopFull() bool {
	w.stopped = true
	return false
}

// copyValue copies the next value and reports whether it wrote one.
func (w *jsonRedactor) copyValue(paths []jsonPath, depth int) bool {
	w.skipSpace()
	if w.pos >= len(w.src) {
		return w.endEarly()
	}
	if endsHere(paths) {
		return w.hideValue(false)
	}
	switch w.src[w.pos] {
	case '{', '[':
		if depth >= maxDepth {
			return w.stopFull()
		}
		if !w.hasRoom(1) {
			return w.stopFull()
		}
		if w.src[w.pos] == '{' {
			w.copyObject(paths, depth)
		} else {
			w.copyArray(paths, depth)
		}
		return !w.notJSON
	case '"':
		raw, whole, ok := w.readString()
		if !ok {
			return false
		}
		return w.copyString(raw, whole, paths)
	}
	token, ok := w.readToken()
	if !ok {
		return false
	}
	if !w.hasRoom(len(token)) {
		return w.stopFull()
	}
	w.out = append(w.out, token...)
	return true
}

// copyString writes a string that was read.
func (w *jsonRedactor) copyString(raw []byte, whole bool, paths []jsonPath) bool {
	if whole && len(raw) < 8 && len(w.redactor.knownSecrets) == 0 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) { // too short to be a secret
		if !w.hasRoom(len(raw) + 2) {
			return w.stopFull()
		}
		w.out = append(append(append(w.out, '"'), raw...), '"')
		return true
	}
	defer w.redactor.releaseScratch(len(w.redactor.scratch))
	s, ok := w.redactor.unquoteString(raw)
	if !ok {
		return w.failNotJSON()
	}
	if inner, is := w.redactNested(s, whole, paths); is {
		return w.writeString(inner, whole)
	}
	return w.writeText(s, whole)
}

// redactNested redacts a string that holds JSON itself; ok is false for any other
// string. The result is valid until the next call.
func (w *jsonRedactor) redactNested(s []byte, whole bool, paths []jsonPath) (text []byte, ok bool) {
	if w.nesting >= maxNesting || !mayBeContainer(s) {
		return nil, false
	}
	out := &w.redactor.outputs[w.nesting+1]
	in := jsonRedactor{redactor: w.redactor, src: s, totalSize: len(s), isTruncated: !whole, maxBytes: max(w.maxBytes-len(w.out), 2*markerReserve), nesting: w.nesting + 1, out: (*out)[:0]}
	in.copyValue(paths, 0)
	*out = in.out
	if in.skipSpace(); in.notJSON || !in.stopped && in.pos < len(in.src) {
		return nil, false
	}
	if !in.changed && !in.stopped {
		return s, true // unchanged, with its own white space
	}
	w.changed = w.changed || in.changed
	return in.out, true
}

// mayBeContainer reports whether a text begins like an object or an array.
func mayBeContainer(s []byte) bool {
	for _, c := range s {
		if !isSpace(c) {
			return c == '{' || c == '['
		}
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// writeText writes a string without its secrets, as far as it fits.
func (w *jsonRedactor) writeText(s []byte, whole bool) bool {
	if !whole {
		s = w.redactor.trimUnjudgeable(s)
	}
	clean, changed := w.redactor.cleanText(s)
	w.changed = w.changed || changed
	return w.writeString(clean, whole)
}

// writeString writes a string that was judged, as far as it fits.
func (w *jsonRedactor) writeString(s []byte, whole bool) bool {
	room := w.maxBytes - markerReserve - w.openContainers - len(w.out) - 2
	if room < 0 {
		return w.stopFull()
	}
	w.out = append(w.out, '"')
	var fit bool
	w.out, fit = appendQuoted(w.out, s, room)
	if !fit || !whole {
		w.stopped = true
		w.writeMarker("", "")
	}
	w.out = append(w.out, '"')
	return true
}

// writeMarker writes, once, that something is missing here.
func (w *jsonRedactor) writeMarker(before, after string) {
	if !w.hasMarker {
		w.hasMarker = true
		w.out = append(appendCutMarker(append(w.out, before...), w.totalSize), after...)
	}
}

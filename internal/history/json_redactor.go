package history

import (
	"bytes"
	"unicode/utf8"
)

// markerReserve is the room that is kept for a marker.
const markerReserve = 64

// jsonRedactor goes through JSON once, of which the end may be missing, and writes what
// may be kept of it: always whole JSON, of max bytes at most. Nothing is
// written before it was judged, and what is cut off at the end of the input is
// not written at all.
type jsonRedactor struct {
	redactor    *redactor
	src         []byte
	pos         int
	totalSize   int  // of the whole
	isTruncated bool // src is not the whole
	maxBytes    int
	nesting     int // how many strings this JSON lies in

	out            []byte
	openContainers int  // containers to be closed
	changed        bool // something was redacted
	stopped        bool // no more is read: out is full, or src at its end
	notJSON        bool // src is not JSON
	hasMarker      bool // out says that it was cut
}

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

// hasRoom says whether n more bytes have room beside what must still be written.
func (w *jsonRedactor) hasRoom(n int) bool {
	return len(w.out)+n <= w.maxBytes-markerReserve-w.openContainers
}

// endEarly is where src ends too early: fine when it was cut, else it is not JSON.
func (w *jsonRedactor) endEarly() bool {
	w.stopped = true
	if !w.isTruncated {
		w.notJSON = true
	}
	return false
}

func (w *jsonRedactor) failNotJSON() bool {
	w.notJSON, w.stopped = true, true
	return false
}

func (w *jsonRedactor) stopFull() bool {
	w.stopped = true
	return false
}

// copyValue copies the next value and says whether it wrote one.
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

// redactNested gives a string that holds JSON itself, redacted as such. It is good
// until the next one.
func (w *jsonRedactor) redactNested(s []byte, whole bool, paths []jsonPath) ([]byte, bool) {
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
		return s, true // as it was written
	}
	w.changed = w.changed || in.changed
	return in.out, true
}

// mayBeContainer says that a text may be an object or an array.
func mayBeContainer(s []byte) bool {
	for _, c := range s {
		if !isSpace(c) {
			return c == '{' || c == '['
		}
	}
	return false
}

// writeText writes a string without what is secret in it, as much as fits.
func (w *jsonRedactor) writeText(s []byte, whole bool) bool {
	if !whole {
		s = w.redactor.trimUnjudgeable(s)
	}
	clean, changed := w.redactor.cleanText(s)
	w.changed = w.changed || changed
	return w.writeString(clean, whole)
}

// writeString writes a string that was judged.
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

// writeMarker says, once, that something is missing here.
func (w *jsonRedactor) writeMarker(before, after string) {
	if !w.hasMarker {
		w.hasMarker = true
		w.out = append(appendCutMarker(append(w.out, before...), w.totalSize), after...)
	}
}

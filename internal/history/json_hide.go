package history

import "github.com/junctor-mcp/junctor/internal/redact"

// hideValue skips a value and writes the redaction mark instead. It keeps values
// that reveal nothing: null and booleans and, if keepNumbers is set, numbers.
func (w *jsonRedactor) hideValue(keepNumbers bool) bool {
	w.skipSpace()
	if w.pos >= len(w.src) {
		return w.endEarly()
	}
	if c := w.src[w.pos]; c != '"' && c != '{' && c != '[' {
		token, ok := w.readToken()
		if !ok {
			return false
		}
		if c == 't' || c == 'f' || c == 'n' || keepNumbers {
			if !w.hasRoom(len(token)) {
				return w.stopFull()
			}
			w.out = append(w.out, token...)
			return true
		}
		w.redactor.rememberSecret(token)
	} else {
		w.skipSecret()
		if w.notJSON {
			return false
		}
	}
	w.changed = true
	if len(w.out)+len(redact.Mark)+2 > w.maxBytes-w.openContainers-markerReserve {
		return w.stopFull()
	}
	w.out = append(w.out, `"`+redact.Mark+`"`...)
	return true
}

// skipSecret skips a string or container and remembers the texts in it as
// secrets.
func (w *jsonRedactor) skipSecret() {
	for depth := 0; ; {
		if w.skipSpace(); w.pos >= len(w.src) {
			w.endEarly()
			return
		}
		switch w.src[w.pos] {
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			depth--
			w.pos++
		case '"':
			raw, whole, ok := w.readString()
			if !ok {
				return
			}
			begin := len(w.redactor.scratch)
			if s, ok := w.redactor.unquoteString(raw); ok && whole && !w.isMemberName() {
				w.rememberAll(s)
			}
			w.redactor.releaseScratch(begin)
			w.stopped = w.stopped || !whole
		default:
			w.pos++
		}
		if depth <= 0 || w.stopped {
			return
		}
	}
}

// isMemberName reports whether a colon follows: the string before it was a
// member's name.
func (w *jsonRedactor) isMemberName() bool {
	w.skipSpace()
	return w.pos < len(w.src) && w.src[w.pos] == ':'
}

// rememberAll remembers a secret text and, if it is JSON, the texts in it.
func (w *jsonRedactor) rememberAll(s []byte) {
	w.redactor.rememberSecret(s)
	if w.nesting < maxNesting && mayBeContainer(s) {
		in := jsonRedactor{redactor: w.redactor, src: s, totalSize: len(s), nesting: w.nesting + 1}
		in.skipSecret()
	}
}

// skipValue skips a value without remembering anything. It returns false if the
// value does not end within the input.
func (w *jsonRedactor) skipValue() bool {
	for depth := 0; w.pos < len(w.src); {
		switch w.src[w.pos] {
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			if depth == 0 {
				return true
			}
			depth--
			w.pos++
		case '"':
			if _, whole, ok := w.readString(); !ok || !whole {
				return false
			}
		case ',':
			if depth == 0 {
				return true
			}
			w.pos++
		default:
			w.pos++
		}
	}
	return false
}

package history

import (
	"bytes"

	"github.com/junctor-mcp/junctor/internal/redact"
)

// copyArray copies an array, as far as it fits. The position is at its opening
// bracket.
func (w *jsonRedactor) copyArray(paths []jsonPath, depth int) {
	w.out = append(w.out, '[')
	w.pos++
	w.openContainers++
	for n := 0; ; n++ {
		if w.skipSpace(); w.pos >= len(w.src) {
			w.endEarly()
			break
		}
		if w.src[w.pos] == ']' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.failNotJSON()
				break
			}
			w.pos++
			w.out = append(w.out, ',')
		}
		if !w.copyChild(w.redactor.descendItem(paths, n), depth) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.closeContainer(']', `"`, `"`)
}

// closeContainer ends a container. If the rest of it is missing, it writes the
// marker first, between before and after.
func (w *jsonRedactor) closeContainer(bracket byte, before, after string) {
	w.openContainers--
	if w.stopped && !w.hasMarker {
		if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
			w.out = append(w.out, ',')
		}
		w.writeMarker(before, after)
	}
	w.out = append(w.out, bracket)
}

// copyObject copies an object, as far as it fits. The position is at its opening
// brace.
func (w *jsonRedactor) copyObject(paths []jsonPath, depth int) {
	start := w.pos
	w.out = append(w.out, '{')
	w.pos++
	w.openContainers++
	for n := 0; ; n++ {
		if w.skipSpace(); w.pos >= len(w.src) {
			w.endEarly()
			break
		}
		if w.src[w.pos] == '}' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.failNotJSON()
				break
			}
			w.pos++
			w.skipSpace()
			w.out = append(w.out, ',')
		}
		if !w.copyMember(start, paths, depth) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.closeContainer('}', `"…":"`, `"`)
}

// copyMember copies one member of the object that begins at start. It returns
// false if nothing of the member may stay in the output; the caller then removes
// it.
func (w *jsonRedactor) copyMember(start int, paths []jsonPath, depth int) bool {
	if w.pos >= len(w.src) {
		return w.endEarly()
	}
	if w.src[w.pos] != '"' {
		return w.failNotJSON()
	}
	raw, whole, ok := w.readString()
	if !ok {
		return false
	}
	if !whole {
		return w.endEarly()
	}
	defer w.redactor.releaseScratch(len(w.redactor.scratch))
	name, ok := w.redactor.unquoteString(raw)
	if !ok {
		return w.failNotJSON()
	}
	if w.skipSpace(); w.pos >= len(w.src) {
		return w.endEarly()
	}
	if w.src[w.pos] != ':' {
		return w.failNotJSON()
	}
	w.pos++
	shown, changed := w.redactor.cleanText(name)
	w.changed = w.changed || changed
	if !w.hasRoom(len(shown) + 3) {
		return w.stopFull()
	}
	var fit bool
	w.out = append(w.out, '"')
	if w.out, fit = appendQuoted(w.out, shown, w.maxBytes-markerReserve-w.openContainers-len(w.out)-2); !fit {
		return w.stopFull()
	}
	w.out = append(w.out, '"', ':')
	if how := w.redactor.classifyName(name); how != redact.NotSecret {
		return w.hideValue(how == redact.SecretText)
	}
	if isPairValueName(name) && w.hasSecretNameSibling(start) {
		return w.hideValue(false)
	}
	return w.copyChild(w.redactor.descendMember(paths, name), depth)
}

// copyChild copies a value of a container, and takes its paths from the stack.
func (w *jsonRedactor) copyChild(paths []jsonPath, depth int) bool {
	defer func(length int) { w.redactor.pathStack = w.redactor.pathStack[:length] }(len(w.redactor.pathStack) - len(paths))
	return w.copyValue(paths, depth+1)
}

// isPairValueName reports whether a name is the value side of a pair such as
// {"name": "Cookie", "value": "..."}.
func isPairValueName(name []byte) bool {
	return equalsAnyFold(name, "value", "values", "val", "content", "data")
}

// hasSecretNameSibling reports whether a sibling, in the object that begins at
// start, names a secret: the "name" of a pair, for its "value".
func (w *jsonRedactor) hasSecretNameSibling(start int) bool {
	defer w.redactor.releaseScratch(len(w.redactor.scratch))
	in := jsonRedactor{redactor: w.redactor, src: w.src, pos: start + 1, isTruncated: true}
	for !in.stopped {
		if in.skipSpace(); in.pos >= len(in.src) || in.src[in.pos] != '"' {
			return false
		}
		raw, whole, ok := in.readString()
		name, fine := w.redactor.unquoteString(raw)
		if in.skipSpace(); !ok || !whole || !fine || in.pos >= len(in.src) || in.src[in.pos] != ':' {
			return false
		}
		in.pos++
		in.skipSpace()
		if isPairKeyName(name) && in.pos < len(in.src) && in.src[in.pos] == '"' {
			raw, whole, ok := in.readString()
			if value, fine := w.redactor.unquoteString(raw); ok && whole && fine && w.redactor.classifyName(value) != redact.NotSecret {
				return true
			}
		} else if !in.skipValue() {
			return false
		}
		if in.skipSpace(); in.pos >= len(in.src) || in.src[in.pos] != ',' {
			return false
		}
		in.pos++
	}
	return false
}

// isPairKeyName reports whether a name is the key side of such a pair.
func isPairKeyName(name []byte) bool {
	return equalsAnyFold(name, "name", "key", "header", "field", "variable", "id", "label")
}

// equalsAnyFold reports whether a name equals one of some names, in upper or
// lower case.
func equalsAnyFold(name []byte, of ...string) bool {
	for _, n := range of {
		if len(n) == len(name) && bytes.EqualFold(name, []byte(n)) {
			return true
		}
	}
	return false
}

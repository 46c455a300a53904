package history

import (
	"bytes"
	"strconv"
	"strings"
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

// token reads a number, true, false or null.
func (w *walk) token() ([]byte, bool) {
	start := w.pos
	for w.pos < len(w.src) && strings.IndexByte(",]} \t\r\n:\"[{", w.src[w.pos]) < 0 {
		w.pos++
	}
	token := w.src[start:w.pos]
	if w.pos == len(w.src) && w.cut {
		return nil, w.end() // it may go on
	}
	switch string(token) {
	case "true", "false", "null":
		return token, true
	}
	if !number(token) {
		return nil, w.fail()
	}
	return token, true
}

// number says whether b is a number of JSON.
func number(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(b) == 0
}

// str reads a string: what lies between its quotes, and whether it is whole.
func (w *walk) str() (raw []byte, whole, ok bool) {
	w.pos++
	start := w.pos
	for w.pos < len(w.src) {
		switch c := w.src[w.pos]; {
		case c == '"':
			raw = w.src[start:w.pos]
			w.pos++
			return raw, true, true
		case c == '\\':
			w.pos += 2
		case c < 0x20:
			return nil, false, w.fail()
		default:
			w.pos++
		}
	}
	w.pos = len(w.src)
	if !w.cut {
		return nil, false, w.fail()
	}
	return w.src[start:], false, true
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
	s, ok := unquote(raw)
	if !ok {
		return w.fail()
	}
	if inner, is := w.inside(s, whole, paths); is {
		return w.put(inner, whole)
	}
	return w.text(s, whole)
}

// inside gives a string that holds JSON itself, redacted as such.
func (w *walk) inside(s string, whole bool, paths []path) (string, bool) {
	t := strings.TrimLeft(s, " \t\r\n")
	if w.nested >= mostNested || t == "" || t[0] != '{' && t[0] != '[' {
		return "", false
	}
	in := walk{r: w.r, src: []byte(s), size: len(s), cut: !whole, max: max(w.max-len(w.out), 2*reserve), nested: w.nested + 1}
	in.value(paths, 0)
	if in.space(); in.bad || !in.stopped && in.pos < len(in.src) {
		return "", false
	}
	if !in.changed && !in.stopped {
		return s, true // as it was written
	}
	w.changed = w.changed || in.changed
	return string(in.out), true
}

// text writes a string without what is secret in it, as much as fits.
func (w *walk) text(s string, whole bool) bool {
	if !whole {
		s = w.r.unfinished(s)
	}
	clean, changed := w.r.clean(s)
	w.changed = w.changed || changed
	return w.put(clean, whole)
}

// put writes a string that was judged.
func (w *walk) put(s string, whole bool) bool {
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
		w.out = append(append(append(w.out, before...), marker(w.size)...), after...)
	}
}

// hide passes over a value and writes that it was there. Values that say nothing
// stay: null and booleans, and numbers where the name is a weak reason.
func (w *walk) hide(soft bool) bool {
	w.space()
	if w.pos >= len(w.src) {
		return w.end()
	}
	if c := w.src[w.pos]; c != '"' && c != '{' && c != '[' {
		token, ok := w.token()
		if !ok {
			return false
		}
		if c == 't' || c == 'f' || c == 'n' || soft {
			if !w.fits(len(token)) {
				return w.full()
			}
			w.out = append(w.out, token...)
			return true
		}
		w.r.remember(string(token))
	} else {
		w.skip()
		if w.bad {
			return false
		}
	}
	w.changed = true
	if len(w.out)+len(redacted)+2 > w.max-w.open-reserve {
		return w.full()
	}
	w.out = append(w.out, `"`+redacted+`"`...)
	return true
}

// skip passes over a string or container and remembers the texts in it.
func (w *walk) skip() {
	for depth := 0; ; {
		if w.space(); w.pos >= len(w.src) {
			w.end()
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
			raw, whole, ok := w.str()
			if !ok {
				return
			}
			if s, ok := unquote(raw); ok && whole && !w.isName() {
				w.rememberAll(s)
			}
			w.stopped = w.stopped || !whole
		default:
			w.pos++
		}
		if depth <= 0 || w.stopped {
			return
		}
	}
}

// isName says that a colon follows: the string was a member's name.
func (w *walk) isName() bool {
	w.space()
	return w.pos < len(w.src) && w.src[w.pos] == ':'
}

// rememberAll notes a secret text, and where it is JSON the texts in it.
func (w *walk) rememberAll(s string) {
	w.r.remember(s)
	if t := strings.TrimLeft(s, " \t\r\n"); w.nested < mostNested && t != "" && (t[0] == '{' || t[0] == '[') {
		in := walk{r: w.r, src: []byte(s), size: len(s), nested: w.nested + 1}
		in.skip()
	}
}

func (w *walk) array(paths []path, depth int) {
	w.out = append(w.out, '[')
	w.pos++
	w.open++
	for n := 0; ; n++ {
		if w.space(); w.pos >= len(w.src) {
			w.end()
			break
		}
		if w.src[w.pos] == ']' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.fail()
				break
			}
			w.pos++
			w.out = append(w.out, ',')
		}
		if !w.value(into(paths, strconv.Itoa(n)), depth+1) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.close(']', `"`, `"`)
}

// close ends a container, and says so where it is not all.
func (w *walk) close(bracket byte, before, after string) {
	w.open--
	if w.stopped && !w.marked {
		if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
			before = "," + before
		}
		w.mark(before, after)
	}
	w.out = append(w.out, bracket)
}

func (w *walk) object(paths []path, depth int) {
	start := w.pos
	w.out = append(w.out, '{')
	w.pos++
	w.open++
	for n := 0; ; n++ {
		if w.space(); w.pos >= len(w.src) {
			w.end()
			break
		}
		if w.src[w.pos] == '}' {
			w.pos++
			break
		}
		begin := len(w.out)
		if n > 0 {
			if w.src[w.pos] != ',' {
				w.fail()
				break
			}
			w.pos++
			w.space()
			w.out = append(w.out, ',')
		}
		if !w.member(start, paths, depth) {
			w.out = w.out[:begin]
		}
		if w.stopped {
			break
		}
	}
	w.close('}', `"…":"`, `"`)
}

// member copies one member of the object that begins at start.
func (w *walk) member(start int, paths []path, depth int) bool {
	if w.pos >= len(w.src) {
		return w.end()
	}
	if w.src[w.pos] != '"' {
		return w.fail()
	}
	raw, whole, ok := w.str()
	if !ok {
		return false
	}
	if !whole {
		return w.end()
	}
	name, ok := unquote(raw)
	if !ok {
		return w.fail()
	}
	if w.space(); w.pos >= len(w.src) {
		return w.end()
	}
	if w.src[w.pos] != ':' {
		return w.fail()
	}
	w.pos++
	shown, changed := w.r.clean(name)
	w.changed = w.changed || changed
	if !w.fits(len(shown) + 3) {
		return w.full()
	}
	var fit bool
	w.out = append(w.out, '"')
	if w.out, fit = quote(w.out, shown, w.max-reserve-w.open-len(w.out)-2); !fit {
		return w.full()
	}
	w.out = append(w.out, '"', ':')
	if how := w.r.sensitive(name); how != plain {
		return w.hide(how == soft)
	}
	if isValue(name) && w.named(start) {
		return w.hide(false)
	}
	return w.value(into(paths, name), depth+1)
}

// isValue says that a member's name is of a pair such as {"name": "Cookie",
// "value": "..."}.
func isValue(name string) bool {
	switch strings.ToLower(name) {
	case "value", "values", "val", "content", "data":
		return true
	}
	return false
}

// named says that a sibling, in the object that begins at start, gives its
// value a secret's name.
func (w *walk) named(start int) bool {
	in := walk{r: w.r, src: w.src, pos: start + 1, cut: true}
	for !in.stopped {
		if in.space(); in.pos >= len(in.src) || in.src[in.pos] != '"' {
			return false
		}
		raw, whole, ok := in.str()
		name, fine := unquote(raw)
		if in.space(); !ok || !whole || !fine || in.pos >= len(in.src) || in.src[in.pos] != ':' {
			return false
		}
		in.pos++
		in.space()
		if isNaming(name) && in.pos < len(in.src) && in.src[in.pos] == '"' {
			raw, whole, ok := in.str()
			if value, fine := unquote(raw); ok && whole && fine && w.r.sensitive(value) != plain {
				return true
			}
		} else if !in.pass() {
			return false
		}
		if in.space(); in.pos >= len(in.src) || in.src[in.pos] != ',' {
			return false
		}
		in.pos++
	}
	return false
}

func isNaming(name string) bool {
	switch strings.ToLower(name) {
	case "name", "key", "header", "field", "variable", "id", "label":
		return true
	}
	return false
}

// pass passes over a value without remembering anything of it.
func (w *walk) pass() bool {
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
			if _, whole, ok := w.str(); !ok || !whole {
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

// unquote decodes what lies between the quotes of a string, of which the end
// may be missing.
func unquote(raw []byte) (string, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), true
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		if i++; i >= len(raw) {
			break
		}
		switch c := raw[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n, ok := escaped(raw[i-1:])
			if !ok {
				return string(out), false
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
		default:
			return "", false
		}
	}
	return string(out), true
}

// escaped decodes a \u at the beginning of b, with the one that follows where
// two make one character, and says how many bytes that were. Where b ends too
// early all of it is taken.
func escaped(b []byte) (r rune, n int, ok bool) {
	if len(b) < 6 {
		return utf8.RuneError, len(b), true
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil {
		return 0, 0, false
	}
	r, n = rune(v), 6
	if r >= 0xd800 && r < 0xdc00 && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, err := strconv.ParseUint(string(b[8:12]), 16, 32); err == nil && low >= 0xdc00 && low < 0xe000 {
			return (r-0xd800)<<10 + (rune(low) - 0xdc00) + 0x10000, 12, true
		}
	}
	if r >= 0xd800 && r < 0xe000 {
		r = utf8.RuneError
	}
	return r, n, true
}

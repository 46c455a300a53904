package redact

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// Limits of a walk.
const (
	maxDepth   = 200 // of nested containers
	maxNesting = 3   // of JSON in strings in JSON
	// No detector but a pattern finds a shorter text.
	minFind = 6
	// A word of the protocol, such as the value of type, is not longer.
	maxProtocolWord = 64
)

// place is what a value of a result is.
type place uint8

const (
	protocolPlace place = iota // a value of the protocol, whose members are known
	resultPlace                // the result itself
	metaPlace                  // _meta
	dataPlace                  // what the server chose: structured content, members of _meta, JSON in texts
	wordPlace                  // a word of the protocol, or a list of them
	opaquePlace                // what only the server understands, and has to get back unchanged
	uriPlace
	blobPlace // base64
)

// edit is a change of a JSON text: src[from:to] is replaced.
type edit struct {
	from, to int
	// What replaces it, as JSON. A text of structured content may be replaced in other
	// ways, too.
	with []byte
	// The text of a string, and whether all of it has to go; nil if with is the only way.
	text  []byte
	whole bool
	// It replaces a container. The edits of the texts in it follow; one or the others
	// apply.
	container bool
	inside    bool // it is one of these
}

// walk goes through one JSON value and collects what has to change.
type walk struct {
	redactor *Redactor
	buffers  *buffers
	src      []byte
	pos      int
	nesting  int
	hiding   bool // inside a container that has to go
	hasMeta  bool // the result has a member _meta
	edits    []edit
	// With a result: where its structured content is, and what has to change there.
	structured      [2]int
	structuredEdits []edit
}

// nestedWalk returns the edits of a text that is JSON; ok is false if it is none.
func (w *walk) nestedWalk(text []byte) (in walk, ok bool) {
	in = walk{redactor: w.redactor, buffers: w.buffers, src: text, nesting: w.nesting + 1}
	in.skipSpace()
	if !in.value(dataPlace, NotSecret, 0) {
		return in, false
	}
	in.skipSpace()
	return in, in.pos == len(text)
}

func (w *walk) skipSpace() {
	for w.pos < len(w.src) && isSpace(w.src[w.pos]) {
		w.pos++
	}
}

// value walks through the next value. hide says that its name announces a secret. It
// returns false if it is not JSON.
func (w *walk) value(in place, hide Secrecy, depth int) bool {
	if w.pos >= len(w.src) || depth > maxDepth {
		return false
	}
	switch w.src[w.pos] {
	case '{':
		return w.container(in, hide, depth, w.object)
	case '[':
		return w.container(in, hide, depth, w.array)
	case '"':
		begin := w.pos
		end := wire.SkipString(w.src, begin)
		if end < 0 {
			return false
		}
		w.pos = end
		return w.text(in, hide, begin, end)
	}
	return w.scalar(in, hide)
}

// container walks through a container. If all of it has to go, there are two ways: as
// a whole, or each text in it.
func (w *walk) container(in place, hide Secrecy, depth int, read func(place, Secrecy, int) bool) bool {
	if in == wordPlace && w.src[w.pos] == '{' || in == opaquePlace || in == uriPlace || in == blobPlace {
		in = protocolPlace // it is not what its name says
	}
	if hide == NotSecret || w.hiding {
		return read(in, hide, depth)
	}
	at := len(w.edits)
	w.edits = append(w.edits, edit{from: w.pos, container: true, with: quotedMark()})
	w.hiding = true
	if !read(in, hide, depth) {
		return false
	}
	w.hiding = false
	if len(w.edits) == at+1 { // it has no texts
		w.edits = w.edits[:at]
		return true
	}
	w.edits[at].to = w.pos
	for i := range w.edits[at+1:] {
		w.edits[at+1+i].inside = true
	}
	return true
}

func quotedMark() []byte { return []byte(`"` + Mark + `"`) }

// array walks through an array.
func (w *walk) array(in place, hide Secrecy, depth int) bool {
	w.pos++
	for n := 0; ; n++ {
		if w.skipSpace(); w.pos >= len(w.src) {
			return false
		}
		if w.src[w.pos] == ']' && n == 0 {
			break
		}
		if !w.value(in, hide, depth+1) {
			return false
		}
		if w.skipSpace(); w.pos >= len(w.src) || w.src[w.pos] != ',' && w.src[w.pos] != ']' {
			return false
		}
		if w.src[w.pos] == ']' {
			break
		}
		w.pos++
	}
	w.pos++
	return true
}

// object walks through an object.
func (w *walk) object(in place, hide Secrecy, depth int) bool {
	start := w.pos
	w.pos++
	var renamed []int // edits of names
	for n := 0; ; n++ {
		if w.skipSpace(); w.pos >= len(w.src) {
			return false
		}
		if w.src[w.pos] == '}' && n == 0 {
			break
		}
		if w.src[w.pos] != '"' {
			return false
		}
		begin := w.pos
		end := wire.SkipString(w.src, begin)
		if end < 0 {
			return false
		}
		w.pos = end
		if w.skipSpace(); w.pos >= len(w.src) || w.src[w.pos] != ':' {
			return false
		}
		w.pos++
		w.skipSpace()
		name, ok := w.unescape(w.src[begin+1 : end-1])
		if !ok {
			return false
		}
		if clean, changed := w.cleanName(in, name); changed {
			renamed = append(renamed, len(w.edits))
			w.edits = append(w.edits, edit{from: begin, to: end, with: wire.AppendString(nil, string(clean))})
		}
		if !w.member(in, hide, depth, start, name) {
			return false
		}
		if w.skipSpace(); w.pos >= len(w.src) || w.src[w.pos] != ',' && w.src[w.pos] != '}' {
			return false
		}
		if w.src[w.pos] == '}' {
			break
		}
		w.pos++
	}
	w.pos++
	if len(renamed) > 0 {
		w.separateNames(w.src[start:w.pos], start, renamed)
	}
	return true
}

// separateNames numbers new names that their object has already.
func (w *walk) separateNames(object []byte, start int, renamed []int) {
	taken := map[string]bool{}
	for key := range wire.Members(object) {
		at := start + wire.Offset(object, key) - 1
		if !slices.ContainsFunc(renamed, func(i int) bool { return w.edits[i].from == at }) {
			taken[wire.Unescape(key)] = true
		}
	}
	for _, i := range renamed {
		name, _ := wire.String(w.edits[i].with)
		unique := name
		for n := 2; taken[unique]; n++ {
			unique = name + " " + strconv.Itoa(n)
		}
		taken[unique] = true
		w.edits[i].with = wire.AppendString(nil, unique)
	}
}

// cleanName cleans the name of a member.
func (w *walk) cleanName(in place, name []byte) ([]byte, bool) {
	known := in == protocolPlace || in == resultPlace || in == wordPlace
	if known && isProtocolWord(name) || in == metaPlace && isKnownMeta(name) || w.isTooShort(name) {
		return name, false
	}
	return w.redactor.clean(w.buffers, name, appendMark)
}

// isTooShort reports whether no detector can find anything in a text.
func (w *walk) isTooShort(text []byte) bool {
	return len(text) < minFind && len(w.redactor.patterns) == 0
}

// isKnownMeta reports whether a name of _meta belongs to the protocol or to Junctor.
func isKnownMeta(name []byte) bool {
	return bytes.HasPrefix(name, []byte(wire.MetaPrefix)) || bytes.HasPrefix(name, []byte("junctor/")) || string(name) == wire.MetaProgressToken
}

// isProtocolWord reports whether a text has only letters and the punctuation of the
// protocol's own words, so that it tells nothing.
func isProtocolWord(text []byte) bool {
	for _, c := range text {
		if !isLetter(c) && c != '_' && c != '-' && c != '/' {
			return false
		}
	}
	return len(text) <= maxProtocolWord
}

// member walks through the value of a member of the object that begins at start.
func (w *walk) member(in place, hide Secrecy, depth, start int, name []byte) bool {
	child := dataPlace
	switch in {
	case resultPlace:
		child = protocolPlace
		switch string(name) {
		case "structuredContent":
			return w.structuredContent(depth)
		case "requestState", "taskId", "nextCursor":
			child = opaquePlace
		case "resultType":
			child = wordPlace
		case "_meta":
			child, w.hasMeta = metaPlace, true
		}
	case protocolPlace, wordPlace:
		child = w.protocolMember(start, string(name))
	case metaPlace:
		if string(name) == wire.MetaProgressToken || string(name) == wire.MetaRelatedTask {
			child = opaquePlace
		} else if w.redactor.secrets != nil && !isKnownMeta(name) {
			hide = w.buffers.classifyName(name)
		}
	case dataPlace, opaquePlace, uriPlace, blobPlace:
		if w.redactor.secrets != nil && hide == NotSecret {
			if hide = w.buffers.classifyName(name); hide == NotSecret && isPairValueName(name) && hasSecretName(w.src[start:], w.buffers.classifyName) {
				hide = SecretValue
			}
		}
	}
	return w.value(child, hide, depth+1)
}

// protocolMember returns what a member of an object of the protocol is.
func (w *walk) protocolMember(start int, name string) place {
	switch name {
	case "_meta":
		return metaPlace
	case "type", "role", "method", "status", "audience", "theme":
		return wordPlace
	case "taskId":
		return opaquePlace
	case "uri", "src":
		return uriPlace
	case "blob":
		return blobPlace
	case "data":
		if kind, _ := wire.String(wire.Get(w.src[start:], "type")); kind == "image" || kind == "audio" {
			return blobPlace
		}
	}
	return protocolPlace
}

// structuredContent walks through the structured content of a result. Its edits are
// kept apart, since its schema may forbid them.
func (w *walk) structuredContent(depth int) bool {
	begin, outer := w.pos, w.edits
	w.edits = nil
	ok := w.value(dataPlace, NotSecret, depth+1)
	w.structured, w.structuredEdits = [2]int{begin, w.pos}, w.edits
	w.edits = outer
	return ok
}

// isPairValueName reports whether a name is the value side of a pair such as
// {"name": "Cookie", "value": "..."}.
func isPairValueName(name []byte) bool {
	return equalsAnyFold(name, "value", "values", "val", "content", "data")
}

// equalsAnyFold reports whether a name equals one of some names, in upper or lower
// case.
func equalsAnyFold(name []byte, names ...string) bool {
	for _, n := range names {
		if len(n) == len(name) && bytes.EqualFold(name, []byte(n)) {
			return true
		}
	}
	return false
}

// hasSecretName reports whether an object names a secret: it is a pair, and its name
// announces one.
func hasSecretName(object []byte, classify func([]byte) Secrecy) bool {
	for key, value := range wire.Members(object) {
		if equalsAnyFold(key, "name", "key", "header", "field", "variable", "id", "label") {
			if text, ok := wire.String(value); ok && classify([]byte(text)) != NotSecret {
				return true
			}
		}
	}
	return false
}

// unescape returns the text of a string without its quotes; ok is false if it has an
// escape that JSON does not know.
func (w *walk) unescape(raw []byte) (text []byte, ok bool) {
	at := bytes.IndexByte(raw, '\\')
	if at < 0 {
		return raw, true
	}
	if w.nesting > 0 { // the outer JSON was checked
		for ; at >= 0; at = nextEscape(raw, at+2) {
			if at+1 >= len(raw) || bytes.IndexByte([]byte(`"\/bfnrtu`), raw[at+1]) < 0 {
				return nil, false
			}
		}
	}
	return wire.AppendUnescaped(make([]byte, 0, len(raw)), raw), true
}

// nextEscape returns the index of the next backslash at or after i, or -1.
func nextEscape(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	if n := bytes.IndexByte(raw[i:], '\\'); n >= 0 {
		return i + n
	}
	return -1
}

// text judges the string src[begin:end].
func (w *walk) text(in place, hide Secrecy, begin, end int) bool {
	if in == opaquePlace {
		return true
	}
	text, ok := w.unescape(w.src[begin+1 : end-1])
	if !ok {
		return false
	}
	switch {
	case in == wordPlace && isProtocolWord(text):
		return true
	case hide != NotSecret:
		if len(text) > 0 && string(text) != Mark {
			w.edits = append(w.edits, edit{from: begin, to: end, with: quotedMark(), text: text, whole: true})
		}
		return true
	case w.isTooShort(text):
		return true
	case in == uriPlace:
		w.uri(text, begin, end)
		return true
	case in == blobPlace && w.blob(text, begin, end):
		return true
	}
	if w.nesting < maxNesting && mayBeContainer(text) {
		if nested, ok := w.nestedWalk(text); ok {
			if len(nested.edits) > 0 {
				w.edits = append(w.edits, edit{from: begin, to: end, with: wire.AppendString(nil, string(render(text, nested.edits, wholeStyle, nil)))})
			}
			return true
		}
	}
	if clean, changed := w.redactor.clean(w.buffers, text, appendMark); changed {
		w.edits = append(w.edits, edit{from: begin, to: end, with: wire.AppendString(make([]byte, 0, len(clean)+len(clean)/8+2), string(clean)), text: text})
	}
	return true
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

// scalar judges a number, true, false or null.
func (w *walk) scalar(in place, hide Secrecy) bool {
	begin := w.pos
	for w.pos < len(w.src) && !isSpace(w.src[w.pos]) && w.src[w.pos] != ',' && w.src[w.pos] != ']' && w.src[w.pos] != '}' {
		w.pos++
	}
	token := w.src[begin:w.pos]
	switch string(token) {
	case "true", "false", "null":
		return true
	}
	if len(token) == 0 || token[0] != '-' && !isDigit(token[0]) || bytes.ContainsAny(token, "\"{[:") {
		return false
	}
	if hide == SecretValue || in == dataPlace && w.redactor.findsNumber(token) {
		w.edits = append(w.edits, edit{from: begin, to: w.pos, with: quotedMark()})
	}
	return true
}

// findsNumber reports whether a detector finds a JSON number.
func (r *Redactor) findsNumber(token []byte) bool {
	if r.numbers&cardNumbers != 0 && (len(token) >= 13 || bytes.ContainsAny(token, "eE")) {
		if digits := integerDigits(token); len(digits) >= 13 && cardEnd(digits, 0) == len(digits) {
			return true
		}
	}
	for _, p := range r.patterns {
		if p.Match(token) {
			return true
		}
	}
	return false
}

// integerDigits returns the digits of a JSON number that is an integer, however it is
// written;
// nil if it is none, or is longer than a card number.
func integerDigits(token []byte) []byte {
	token = bytes.TrimPrefix(token, []byte("-"))
	if !bytes.ContainsAny(token, ".eE") {
		return token
	}
	mantissa, exponent := token, 0
	if at := bytes.IndexAny(token, "eE"); at >= 0 {
		n, err := strconv.Atoi(string(token[at+1:]))
		if err != nil || n > 40 || n < -40 {
			return nil
		}
		mantissa, exponent = token[:at], n
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	if len(whole)+len(fraction) > 64 {
		return nil
	}
	digits := slices.Concat(whole, fraction)
	point := len(whole) + exponent
	for len(digits) < point {
		digits = append(digits, '0')
	}
	if point < 0 || len(bytes.Trim(digits[point:], "0")) > 0 {
		return nil
	}
	return bytes.TrimLeft(digits[:point], "0")
}

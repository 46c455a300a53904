package doc

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// maxDepth bounds how deep values are nested. It keeps the recursive parser
// from using up the stack. Real documents have some twenty levels.
const maxDepth = 1000

// maxNodes bounds the number of values in a text: each takes more memory than
// its text. GitHub's document has half a million values.
const maxNodes = 5 << 19

// parseJSON parses a JSON text and records the position of every value. If the
// text breaks off or breaks the syntax, it returns the values before the fault
// and a problem at the fault. It accepts trailing commas with a warning.
func parseJSON(file, source string) (*Node, []Problem) {
	r := jsonReader{file: file, text: source, line: 1}
	r.skipSpace()
	n := r.parseValue(0)
	if r.fault == nil {
		if r.skipSpace(); r.pos < len(r.text) {
			r.setFault("there is text after the end of the document")
		}
	}
	if r.fault != nil {
		r.problems = append(r.problems, *r.fault)
	}
	return n, r.problems
}

// jsonReader is the state of one parse. encoding/json is not used because it
// reports no positions and returns nothing of a broken text.
type jsonReader struct {
	file, text string
	pos        int
	line       int32
	// lineStart is the offset at which the current line begins.
	lineStart int
	// continuationBytes counts the bytes of the current line that continue a
	// UTF-8 character, so that columns count characters.
	continuationBytes int
	// freeNodes is the unused rest of the last allocated slab of nodes.
	freeNodes []Node
	nodeCount int
	// fault is the first syntax error. Parsing ends there.
	fault    *Problem
	problems []Problem
}

// currentPosition returns the position of the next byte to parse.
func (r *jsonReader) currentPosition() Position {
	return Position{File: r.file, Line: r.line, Column: int32(r.pos-r.lineStart-r.continuationBytes) + 1} //nolint:gosec // a document has at most 32 MB
}

// setFault records a syntax error at the current position. Later errors are
// consequences of the first and are dropped.
func (r *jsonReader) setFault(message string) {
	if r.fault == nil {
		r.fault = &Problem{
			At: r.currentPosition(), Severity: Error, Code: Syntax, Message: "Invalid JSON: " + message + ".",
			Remedy: "Correct the text here. The text before it was read, the text after it was not.",
		}
	}
}

// newNode returns a node at the current position. It allocates nodes in slabs,
// because documents have hundreds of thousands of them.
func (r *jsonReader) newNode(kind Kind) *Node {
	if len(r.freeNodes) == 0 {
		r.freeNodes = make([]Node, 256)
	}
	n := &r.freeNodes[0]
	r.freeNodes = r.freeNodes[1:]
	n.Kind, n.At = kind, r.currentPosition()
	return n
}

// skipSpace skips white space and counts lines.
func (r *jsonReader) skipSpace() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case '\n':
			r.pos++
			r.line, r.lineStart, r.continuationBytes = r.line+1, r.pos, 0
		case ' ', '\t', '\r':
			r.pos++
		default:
			return
		}
	}
}

// parseValue parses the value at the current position. It returns nil, with a
// fault, if none is there or a limit is reached.
func (r *jsonReader) parseValue(depth int) *Node {
	if depth > maxDepth {
		r.setFault("values are nested more than " + strconv.Itoa(maxDepth) + " deep")
		return nil
	}
	if r.pos >= len(r.text) {
		r.setFault("the text ends where a value is expected")
		return nil
	}
	if r.nodeCount++; r.nodeCount > maxNodes {
		r.setFault("it has more values than can be read")
		r.fault.Code = TooLarge
		return nil
	}
	switch r.text[r.pos] {
	case '{':
		return r.parseObject(depth)
	case '[':
		return r.parseArray(depth)
	case '"':
		n := r.newNode(String)
		n.Text = r.parseString()
		return n
	default:
		return r.parseLiteral()
	}
}

// parseObject parses an object. Of a broken one it returns the members before
// the fault, marked as broken.
func (r *jsonReader) parseObject(depth int) *Node {
	n := r.newNode(Object)
	r.pos++
	var members []Member
	for {
		if r.skipSpace(); r.consumeSeparatorOrEnd('}', len(members) > 0) || r.fault != nil {
			break
		}
		if r.pos >= len(r.text) || r.text[r.pos] != '"' {
			r.setFault("the name of a member is expected, in double quotes")
			break
		}
		m := Member{At: r.currentPosition(), Key: r.parseString()}
		if r.skipSpace(); r.fault == nil && (r.pos >= len(r.text) || r.text[r.pos] != ':') {
			r.setFault("a colon is expected after " + strconv.Quote(m.Key))
		}
		if r.fault != nil {
			break
		}
		r.pos++
		r.skipSpace()
		if m.Value = r.parseValue(depth + 1); m.Value != nil {
			members = append(members, m)
		}
		if r.fault != nil {
			break
		}
	}
	n.Members = append(make([]Member, 0, len(members)), members...)
	n.broken = r.fault != nil
	return n
}

// parseArray parses an array. Of a broken one it returns the elements before
// the fault, marked as broken.
func (r *jsonReader) parseArray(depth int) *Node {
	n := r.newNode(Array)
	r.pos++
	var items []*Node
	for {
		if r.skipSpace(); r.consumeSeparatorOrEnd(']', len(items) > 0) || r.fault != nil {
			break
		}
		if v := r.parseValue(depth + 1); v != nil {
			items = append(items, v)
		}
		if r.fault != nil {
			break
		}
	}
	n.Items = append(make([]*Node, 0, len(items)), items...)
	n.broken = r.fault != nil
	return n
}

// consumeSeparatorOrEnd consumes the comma before the next member or element,
// or the closing bracket. It reports whether the container ended. after says
// that a member or element came before, so that a comma is required.
func (r *jsonReader) consumeSeparatorOrEnd(bracket byte, after bool) bool {
	if r.pos >= len(r.text) {
		r.setFault("the text ends before a " + string(bracket))
		return true
	}
	if after && r.text[r.pos] == ',' {
		comma := r.currentPosition()
		r.pos++
		if r.skipSpace(); r.pos < len(r.text) && r.text[r.pos] == bracket {
			r.problems = append(r.problems, Problem{At: comma, Severity: Warning, Code: Repaired, Message: "A comma before a " + string(bracket) + " was ignored.", Remedy: "Remove the comma."})
		} else {
			return false
		}
	}
	if r.text[r.pos] == bracket {
		r.pos++
		return true
	}
	if after {
		r.setFault("a comma or a " + string(bracket) + " is expected")
	}
	return false
}

// parseString parses a string. Most strings have no escapes; these are slices
// of the text and need no copy.
func (r *jsonReader) parseString() string {
	r.pos++
	begin := r.pos
	for r.pos < len(r.text) {
		switch c := r.text[r.pos]; c {
		case '"':
			s := r.text[begin:r.pos]
			r.pos++
			return s
		case '\\':
			return r.parseEscapedString(begin)
		case '\n':
			r.setFault("a string is not closed at the end of its line")
			return r.text[begin:r.pos]
		default:
			if c&0xC0 == 0x80 {
				r.continuationBytes++
			}
			r.pos++
		}
	}
	r.setFault("the text ends inside a string")
	return r.text[begin:]
}

// parseEscapedString continues a string at its first backslash; begin is the
// offset of its first character.
func (r *jsonReader) parseEscapedString(begin int) string {
	var b strings.Builder
	b.WriteString(r.text[begin:r.pos])
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		switch {
		case c == '"':
			r.pos++
			return b.String()
		case c == '\n':
			r.setFault("a string is not closed at the end of its line")
			return b.String()
		case c != '\\':
			if c&0xC0 == 0x80 {
				r.continuationBytes++
			}
			b.WriteByte(c)
			r.pos++
		case r.pos+1 >= len(r.text):
			r.setFault("the text ends inside a string")
			return b.String()
		default:
			r.pos++
			r.decodeEscape(&b)
		}
		if r.fault != nil {
			return b.String()
		}
	}
	r.setFault("the text ends inside a string")
	return b.String()
}

// decodeEscape decodes the escape after a backslash into b. A surrogate without
// its partner becomes U+FFFD, as encoding/json does it.
func (r *jsonReader) decodeEscape(b *strings.Builder) {
	c := r.text[r.pos]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		r.pos++
		return
	}
	one, ok := r.decodeHex()
	if c != 'u' || !ok {
		r.setFault("\\" + string(rune(c)) + " is not an escape of JSON")
		return
	}
	r.pos += 5
	if utf16.IsSurrogate(one) {
		two := rune(utf8.RuneError)
		if strings.HasPrefix(r.text[r.pos:], `\u`) {
			r.pos++
			if second, ok := r.decodeHex(); ok {
				two = second
			}
			r.pos--
		}
		if one = utf16.DecodeRune(one, two); one != utf8.RuneError {
			r.pos += 6
		}
	}
	b.WriteRune(one)
}

// decodeHex decodes the four digits after a u, without consuming them.
func (r *jsonReader) decodeHex() (rune, bool) {
	if r.pos+5 > len(r.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.text[r.pos+1:r.pos+5], 16, 32)
	return rune(n), err == nil //nolint:gosec // four hexadecimal digits
}

// parseLiteral parses a number, true, false or null.
func (r *jsonReader) parseLiteral() *Node {
	end := r.pos
	for end < len(r.text) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", r.text[end]) >= 0 {
		end++
	}
	word, kind := r.text[r.pos:end], Number
	switch word {
	case "true", "false":
		kind = Bool
	case "null":
		kind = Null
	default:
		if !isNumber(word) {
			r.setFault("a value is expected, not " + strconv.Quote(junctor.ShortenText(r.text[r.pos:], 20)))
			return nil
		}
	}
	n := r.newNode(kind)
	n.Text = word
	r.pos = end
	return n
}

// isNumber reports whether s is a number in the notation of JSON. YAML has more
// notations.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() (n int) {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	leading := strings.HasPrefix(s, "0")
	if n := digits(); n == 0 || n > 1 && leading {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		if s = rest; digits() == 0 {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Some clients allow comments and trailing commas in their files. What is not
// ours in a file stays as it is, to the byte, so edits are cut into the text.

// Some clients allow comments and trailing commas in their files (JSON with comments).
// An edit must not lose them. So the functions here do not decode and encode the file;
// they find the bytes to change and leave all others as they are.
//
// errNotJSON is returned for a file that is not JSON even without comments.
var errNotJSON = errors.New("it is not valid JSON")

// blankComments returns a copy of the text in which comments, trailing commas and a
// byte order mark are blanks. The copy has the same length, so an offset into it is an
// offset into the text. The result is valid JSON if the text is valid JSON with
// comments.
func blankComments(text []byte) []byte {
	out := append([]byte{}, text...)
	if bytes.HasPrefix(out, []byte("\xef\xbb\xbf")) { // some editors begin with it
		copy(out, "   ")
	}
	// comma is the position of the last comma that has only blanks and comments after
	// it, or -1.
	comma := -1
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			i++
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := i + 2
			for end+1 < len(out) && (out[end] != '*' || out[end+1] != '/') {
				end++
			}
			for ; i < min(end+2, len(out)); i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
		case c == ',':
			comma = i
			i++
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}

// span is the part of a text from offset from up to, and without, offset to.
type span struct{ from, to int }

// memberSpan is the position of one member of a JSON object. The span of the key
// includes its quotes.
type memberSpan struct {
	name       string
	key, value span
}

// scanObject returns the members of the object that begins at from, in their order, and
// the span of the object with its braces. The text must be valid JSON without comments.
// Anything but an object is errNotJSON.
func scanObject(text []byte, from int) ([]memberSpan, span, error) {
	i := skipBlank(text, from)
	if i >= len(text) || text[i] != '{' {
		return nil, span{}, errNotJSON
	}
	whole := span{from: i}
	var members []memberSpan
	i = skipBlank(text, i+1)
	for i < len(text) && text[i] != '}' {
		var m memberSpan
		m.key = span{i, skipValue(text, i)}
		if json.Unmarshal(text[m.key.from:m.key.to], &m.name) != nil {
			return nil, span{}, errNotJSON
		}
		i = skipBlank(text, skipBlank(text, m.key.to)+1)
		m.value = span{i, skipValue(text, i)}
		members = append(members, m)
		if i = skipBlank(text, m.value.to); i < len(text) && text[i] == ',' {
			i = skipBlank(text, i+1)
		}
	}
	if i >= len(text) {
		return nil, span{}, errNotJSON
	}
	whole.to = i + 1
	return members, whole, nil
}

// skipBlank returns the offset of the first byte from i on that is no white space, or
// the length of the text.
func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the offset after the JSON value that begins at i. The text must be
// valid JSON.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
		if depth == 0 && (text[i-1] == '"' || text[i-1] == '}' || text[i-1] == ']') {
			return i
		}
	}
	return len(text)
}

// findMember returns the first member with a name, or nil.
func findMember(members []memberSpan, name string) *memberSpan {
	for i := range members {
		if members[i].name == name {
			return &members[i]
		}
	}
	return nil
}

// setMember returns the text with value at a path of member names. It replaces an
// existing value, and adds the objects on the way that are missing. Blank text counts as
// an empty object. value is JSON with the indentation of a member at that depth.
func setMember(text []byte, path []string, value []byte) ([]byte, error) {
	clean := blankComments(text)
	if skipBlank(clean, 0) == len(clean) {
		text = []byte("{}\n")
		clean = text
	}
	if !json.Valid(clean) {
		return nil, errNotJSON
	}
	from := 0
	for depth, name := range path {
		members, whole, err := scanObject(clean, from)
		if err != nil {
			return nil, err
		}
		at := findMember(members, name)
		switch {
		case at == nil:
			indent := strings.Repeat("  ", depth+1)
			return insertMember(text, clean, whole.from, nestMember(path[depth:], value, indent), indent, len(members) > 0), nil
		case depth == len(path)-1:
			return replaceSpan(text, at.value, string(value)), nil
		}
		from = at.value.from
	}
	return nil, errNotJSON
}

// nestMember returns a member at a path of new objects, for a place with an indentation.
func nestMember(path []string, value []byte, indent string) string {
	if len(path) == 1 {
		return quoteJSON(path[0]) + ": " + string(value)
	}
	return quoteJSON(path[0]) + ": {\n" + indent + "  " + nestMember(path[1:], value, indent+"  ") + "\n" + indent + "}"
}

// findValue returns the span of the value at a path of member names. The result is false
// if a member is missing, or if something on the way is no object. The text must be valid
// JSON without comments.
func findValue(clean []byte, path []string) (m memberSpan, found bool, err error) {
	from := 0
	for depth, name := range path {
		members, _, err := scanObject(clean, from)
		if err != nil {
			if depth == 0 {
				return m, false, err
			}
			return m, false, nil
		}
		at := findMember(members, name)
		if at == nil {
			return m, false, nil
		}
		m, from = *at, at.value.from
	}
	return m, true, nil
}

// insertMember inserts a member as the first one of the object that begins at from. The
// first place needs no look at the comments after the last member. more means that the
// object has other members, which then need a comma before them.
func insertMember(text, clean []byte, from int, member, indent string, more bool) []byte {
	tail := "\n" + indent[:len(indent)-2]
	if more {
		tail = ","
	} else if next := skipBlank(clean, from+1); next > from+1 && clean[next] == '}' {
		tail = ""
	}
	return replaceSpan(text, span{from + 1, from + 1}, "\n"+indent+member+tail)
}

// removeMember returns the text without the member at a path, its line and one comma. value
// is the text of its value; it is nil if there is no such member.
func removeMember(text []byte, path []string) (next, value []byte, err error) {
	clean := blankComments(text)
	if !json.Valid(clean) {
		return nil, nil, errNotJSON
	}
	has, found, err := findValue(clean, path)
	if err != nil || !found {
		return text, nil, err
	}
	value = text[has.value.from:has.value.to]
	cut := span{has.key.from, has.value.to}
	if next := skipBlank(clean, cut.to); clean[next] == ',' {
		cut.to = next + 1
	} else {
		// The member is the last one. The comma before it would become a trailing
		// comma, which not every client accepts.
		for i := cut.from - 1; i >= 0 && clean[i] != '{'; i-- {
			if clean[i] == ',' {
				cut.from = i
				break
			}
		}
	}
	for cut.from > 0 && (text[cut.from-1] == ' ' || text[cut.from-1] == '\t') {
		cut.from--
	}
	if cut.from > 0 && text[cut.from-1] == '\n' {
		cut.from--
	}
	return replaceSpan(text, cut, ""), value, nil
}

// replaceSpan returns a copy of the text in which a span is replaced.
func replaceSpan(text []byte, at span, with string) []byte {
	out := append([]byte{}, text[:at.from]...)
	out = append(out, with...)
	return append(out, text[at.to:]...)
}

// quoteJSON returns s as a JSON string. TOML reads the same form.
func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Some clients allow comments and trailing commas in their files. What is not
// ours in a file stays as it is, to the byte, so edits are cut into the text.

var errSyntax = errors.New("it is not JSON")

// plain gives the text without comments and trailing commas, as long as before:
// offsets into one are offsets into the other.
func plain(text []byte) []byte {
	out := append([]byte{}, text...)
	if bytes.HasPrefix(out, []byte("\xef\xbb\xbf")) { // some editors begin with it
		copy(out, "   ")
	}
	comma := -1 // the last comma with nothing but blanks behind it
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

// span is a part of a text.
type span struct{ from, to int }

// memberSpan is where a member of an object stands.
type memberSpan struct {
	name       string
	key, value span
}

// object reads the members of the object that begins at from, in text without
// comments that is valid JSON.
func object(text []byte, from int) ([]memberSpan, span, error) {
	i := skipBlank(text, from)
	if i >= len(text) || text[i] != '{' {
		return nil, span{}, errSyntax
	}
	whole := span{from: i}
	var members []memberSpan
	i = skipBlank(text, i+1)
	for i < len(text) && text[i] != '}' {
		var m memberSpan
		m.key = span{i, skipValue(text, i)}
		if json.Unmarshal(text[m.key.from:m.key.to], &m.name) != nil {
			return nil, span{}, errSyntax
		}
		i = skipBlank(text, skipBlank(text, m.key.to)+1)
		m.value = span{i, skipValue(text, i)}
		members = append(members, m)
		if i = skipBlank(text, m.value.to); i < len(text) && text[i] == ',' {
			i = skipBlank(text, i+1)
		}
	}
	if i >= len(text) {
		return nil, span{}, errSyntax
	}
	whole.to = i + 1
	return members, whole, nil
}

func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue is where the value that begins at i ends, in valid JSON.
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

func find(members []memberSpan, name string) *memberSpan {
	for i := range members {
		if members[i].name == name {
			return &members[i]
		}
	}
	return nil
}

// setMember puts value at container.name, in place of what is there.
func setMember(text []byte, container, name string, value []byte) ([]byte, error) {
	if len(plain(text)) == 0 || skipBlank(plain(text), 0) == len(text) {
		text = []byte("{}\n")
	}
	clean := plain(text)
	if !json.Valid(clean) {
		return nil, errSyntax
	}
	root, rootSpan, err := object(clean, 0)
	if err != nil {
		return nil, err
	}
	entry := quote(name) + ": " + string(value)
	at := find(root, container)
	if at == nil {
		return insert(text, clean, rootSpan.from, quote(container)+": {\n    "+entry+"\n  }", "  ", len(root) > 0), nil
	}
	inside, insideSpan, err := object(clean, at.value.from)
	if err != nil {
		return nil, err
	}
	if has := find(inside, name); has != nil {
		return splice(text, has.value, string(value)), nil
	}
	return insert(text, clean, insideSpan.from, entry, "    ", len(inside) > 0), nil
}

// insert puts a member first into the object that begins at from.
func insert(text, clean []byte, from int, member, indent string, more bool) []byte {
	tail := "\n" + indent[:len(indent)-2]
	if more {
		tail = ","
	} else if next := skipBlank(clean, from+1); next > from+1 && clean[next] == '}' {
		tail = ""
	}
	return splice(text, span{from + 1, from + 1}, "\n"+indent+member+tail)
}

// removeMember takes container.name out; false when it is not there.
func removeMember(text []byte, container, name string) ([]byte, bool, error) {
	clean := plain(text)
	if !json.Valid(clean) {
		return nil, false, errSyntax
	}
	root, _, err := object(clean, 0)
	if err != nil {
		return nil, false, err
	}
	at := find(root, container)
	if at == nil {
		return text, false, nil
	}
	inside, _, err := object(clean, at.value.from)
	if err != nil {
		return nil, false, err
	}
	has := find(inside, name)
	if has == nil {
		return text, false, nil
	}
	cut := span{has.key.from, has.value.to}
	if next := skipBlank(clean, cut.to); clean[next] == ',' {
		cut.to = next + 1
	} else { // the last one: the comma before it goes
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
	return splice(text, cut, ""), true, nil
}

func splice(text []byte, at span, with string) []byte {
	out := append([]byte{}, text[:at.from]...)
	out = append(out, with...)
	return append(out, text[at.to:]...)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// kind is what a JSON value is to a parameter.
type kind uint8

const (
	absent kind = iota // null is the same as not given
	primitive
	array
	object
)

func kindOf(raw []byte) kind {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0 || wire.IsNull(raw):
		return absent
	case raw[0] == '[':
		return array
	case raw[0] == '{':
		return object
	}
	return primitive
}

// text is a value as one text: a string without its quotes, a number or boolean
// as it stands, and what has parts as JSON.
func text(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if s, ok := wire.String(raw); ok {
		return s
	}
	return string(raw)
}

// escape encodes a text for its place in a request. What stays as it is can
// never end that place: no & + # in a query, no / ? # in a path, even where the
// document allows reserved characters.
type escape func(string) string

func strict(s string) string        { return percent(s, "", false) }
func reservedQuery(s string) string { return percent(s, ":/?[]@!$'()*,;=", true) }
func reservedPath(s string) string  { return percent(s, ":[]@!$&'()*+,;=", false) }
func verbatim(s string) string      { return s }

const hexDigits = "0123456789ABCDEF"

// percent encodes all but letters, digits, -._~ and what is to be kept; where
// triples is set, %XX stays too.
func percent(s, keep string, triples bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case unreserved(c) || strings.IndexByte(keep, c) >= 0,
			c == '%' && triples && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// pair is a name and a value, encoded.
type pair struct{ key, value string }

// items are the elements of an array, encoded; those that are null are none.
func (e escape) items(raw []byte) (out []string) {
	for item := range wire.Elements(raw) {
		if kindOf(item) != absent {
			out = append(out, e(text(item)))
		}
	}
	return out
}

// members are the members of an object in their order, encoded; those that are
// null are none.
func (e escape) members(raw []byte) (out []pair) {
	for key, value := range wire.Members(raw) {
		if kindOf(value) != absent {
			out = append(out, pair{e(wire.Unescape(key)), e(text(value))})
		}
	}
	return out
}

// flat joins pairs to R,100,G,200 with sep between.
func flat(pairs []pair, sep string) string {
	out := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, p.key, p.value)
	}
	return strings.Join(out, sep)
}

// exploded joins pairs to R=100,G=200 with sep between.
func exploded(pairs []pair, sep string) string {
	out := make([]string, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p.key+"="+p.value)
	}
	return strings.Join(out, sep)
}

// compact writes JSON without white space.
func compact(b *bytes.Buffer, raw []byte) bool { return json.Compact(b, raw) == nil }

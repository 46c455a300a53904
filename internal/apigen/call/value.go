package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// valueKind is what a JSON value is to a parameter.
type valueKind uint8

const (
	kindAbsent valueKind = iota // null is the same as not given
	kindPrimitive
	kindArray
	kindObject
)

func kindOf(raw []byte) valueKind {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0 || wire.IsNull(raw):
		return kindAbsent
	case raw[0] == '[':
		return kindArray
	case raw[0] == '{':
		return kindObject
	}
	return kindPrimitive
}

// plainText is a value as one text: a string without its quotes, a number or boolean
// as it stands, and what has parts as JSON.
func plainText(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if s, ok := wire.String(raw); ok {
		return s
	}
	return string(raw)
}

// escapeFunc encodes a text for its place in a request. What stays as it is can
// never end that place: no & + # in a query, no / ? # in a path, even where the
// document allows reserved characters.
type escapeFunc func(string) string

func escapeAll(s string) string   { return percentEncode(s, "", false) }
func escapeQuery(s string) string { return percentEncode(s, ":/?[]@!$'()*,;=", true) }
func escapePath(s string) string  { return percentEncode(s, ":[]@!$&'()*+,;=", false) }
func keepText(s string) string    { return s }

const hexDigits = "0123456789ABCDEF"

// percentEncode encodes all but letters, digits, -._~ and what is to be kept; where
// triples is set, %XX stays too.
func percentEncode(s, keep string, triples bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case isUnreserved(c) || strings.IndexByte(keep, c) >= 0,
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

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// encodedPair is a name and a value, encoded.
type encodedPair struct{ key, value string }

// escapeItems are the elements of an array, encoded; those that are null are none.
func (e escapeFunc) escapeItems(raw []byte) (out []string) {
	for item := range wire.Elements(raw) {
		if kindOf(item) != kindAbsent {
			out = append(out, e(plainText(item)))
		}
	}
	return out
}

// escapeMembers are the members of an object in their order, encoded; those that are
// null are none.
func (e escapeFunc) escapeMembers(raw []byte) (out []encodedPair) {
	for key, value := range wire.Members(raw) {
		if kindOf(value) != kindAbsent {
			out = append(out, encodedPair{e(wire.Unescape(key)), e(plainText(value))})
		}
	}
	return out
}

// joinFlat joins pairs to R,100,G,200 with sep between.
func joinFlat(pairs []encodedPair, sep string) string {
	out := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, p.key, p.value)
	}
	return strings.Join(out, sep)
}

// joinExploded joins pairs to R=100,G=200 with sep between.
func joinExploded(pairs []encodedPair, sep string) string {
	out := make([]string, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p.key+"="+p.value)
	}
	return strings.Join(out, sep)
}

// compactJSON writes JSON without white space.
func compactJSON(b *bytes.Buffer, raw []byte) bool { return json.Compact(b, raw) == nil }

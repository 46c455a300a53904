package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// valueKind is the kind of a JSON value as far as the styles of parameters
// distinguish them.
type valueKind uint8

const (
	// kindAbsent is a missing value. null is the same as missing.
	kindAbsent valueKind = iota
	kindPrimitive
	kindArray
	kindObject
)

// kindOf returns the kind of a raw JSON value by its first byte.
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

// plainText returns a value as one text: a string without its quotes, a number
// or boolean unchanged, and everything else as JSON.
func plainText(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if s, ok := wire.String(raw); ok {
		return s
	}
	return string(raw)
}

// escapeFunc encodes a text for its place in a request. The characters that it
// keeps can never end that place: no "&", "+" or "#" in a query, no "/", "?" or
// "#" in a path, even if the document allows reserved characters.
type escapeFunc func(string) string

// escapeAll encodes everything except unreserved characters.
func escapeAll(s string) string { return percentEncode(s, "", false) }

// escapeQuery keeps the reserved characters that cannot end a query parameter,
// and existing %XX.
func escapeQuery(s string) string { return percentEncode(s, ":/?[]@!$'()*,;=", true) }

// escapePath keeps the reserved characters that cannot end a segment of a path.
func escapePath(s string) string { return percentEncode(s, ":[]@!$&'()*+,;=", false) }

// keepText encodes nothing. It is for headers and cookies, whose text is
// checked instead.
func keepText(s string) string { return s }

const hexDigits = "0123456789ABCDEF"

// percentEncode encodes all bytes except letters, digits, "-._~" and those in
// keep. If triples is set, existing %XX stay.
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

// isUnreserved reports whether RFC 3986 calls a byte unreserved.
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// isHex reports whether a byte is a hexadecimal digit.
func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// encodedPair is a name and a value, both encoded.
type encodedPair struct{ key, value string }

// escapeItems returns the encoded elements of an array, without nulls.
func (e escapeFunc) escapeItems(raw []byte) (out []string) {
	for item := range wire.Elements(raw) {
		if kindOf(item) != kindAbsent {
			out = append(out, e(plainText(item)))
		}
	}
	return out
}

// escapeMembers returns the encoded members of an object in their order,
// without nulls.
func (e escapeFunc) escapeMembers(raw []byte) (out []encodedPair) {
	for key, value := range wire.Members(raw) {
		if kindOf(value) != kindAbsent {
			out = append(out, encodedPair{e(wire.Unescape(key)), e(plainText(value))})
		}
	}
	return out
}

// joinFlat joins pairs to R,100,G,200 with sep in between.
func joinFlat(pairs []encodedPair, sep string) string {
	out := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, p.key, p.value)
	}
	return strings.Join(out, sep)
}

// joinExploded joins pairs to R=100,G=200 with sep in between.
func joinExploded(pairs []encodedPair, sep string) string {
	out := make([]string, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p.key+"="+p.value)
	}
	return strings.Join(out, sep)
}

// compactJSON appends raw without white space to b. It reports whether raw is
// valid JSON.
func compactJSON(b *bytes.Buffer, raw []byte) bool { return json.Compact(b, raw) == nil }

package httpfast

import (
	"bytes"
	"strings"
)

// The functions of this file read the parts of HTTP/1.1 syntax that requests and
// responses have in common. They accept less than RFC 9112 allows a lenient parser:
// a caller that gets false leaves the message to net/http or refuses it.

// crlf ends each line of a head.
const crlf = "\r\n"

// firstBufferSize is the read buffer that each connection starts with: enough for
// a call of the usual size with its head, small enough for many idle connections.
const firstBufferSize = 4 << 10

// maxDecimalDigits and maxHexDigits keep lengths so small that the sum of a few of
// them does not overflow an int64.
const (
	maxDecimalDigits = 18
	maxHexDigits     = 15
)

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isTokenByte reports whether c may stand in the name of a header field.
func isTokenByte(c byte) bool {
	return isAlphanumeric(c) || c == '-' || strings.IndexByte("!#$%&'*+.^_`|~", c) >= 0
}

// isFieldText reports whether b may stand in the value of a header field. Control
// characters may not: a bare CR, LF or NUL ends the value for some parsers.
func isFieldText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// trimBlanks removes the optional whitespace around a field value.
func trimBlanks(b []byte) []byte { return bytes.Trim(b, " \t") }

// parseDecimal reads a Content-Length: digits alone, without sign or list.
func parseDecimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > maxDecimalDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// parseHex reads the length of a chunk: hexadecimal digits alone, without prefix.
func parseHex(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > maxHexDigits {
		return 0, false
	}
	var n int64
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			d = d | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, true
}

// equalFoldASCII compares without regard to case. Unlike bytes.EqualFold it knows
// ASCII alone, so no other letter passes for one of a header's name.
func equalFoldASCII(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if toLowerASCII(b[i]) != toLowerASCII(s[i]) {
			return false
		}
	}
	return true
}

func toLowerASCII(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnescaped appends the text of a JSON string without its quotes. The string was
// checked before; in other input, a broken escape is copied as it is.
func AppendUnescaped(dst, inside []byte) []byte {
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 || i+1 >= len(inside) {
			return append(dst, inside...)
		}
		dst = append(dst, inside[:i]...)
		c := inside[i+1]
		rest := inside[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		// A pair of surrogates stands for one character outside the basic plane.
		case 'u':
			r, ok := parseHex4(rest, 0)
			if !ok {
				return append(dst, rest...)
			}
			rest = rest[4:]
			if utf16.IsSurrogate(r) && len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				if low, ok := parseHex4(rest, 2); ok {
					r = utf16.DecodeRune(r, low)
					rest = rest[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
			inside = rest
			continue
		}
		dst = append(dst, c)
		inside = rest
	}
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0 // start of the bytes that are not copied yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[from:i]...)
				dst = append(dst, "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

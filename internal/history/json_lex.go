package history

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readToken reads a number, true, false or null.
func (w *jsonRedactor) readToken() ([]byte, bool) {
	start := w.pos
	for w.pos < len(w.src) && strings.IndexByte(",]} \t\r\n:\"[{", w.src[w.pos]) < 0 {
		w.pos++
	}
	token := w.src[start:w.pos]
	if w.pos == len(w.src) && w.isTruncated {
		return nil, w.endEarly() // the token may continue after the cut
	}
	switch string(token) {
	case "true", "false", "null":
		return token, true
	}
	if !isJSONNumber(token) {
		return nil, w.failNotJSON()
	}
	return token, true
}

// isJSONNumber reports whether b is a number in the grammar of JSON.
func isJSONNumber(b []byte) bool {
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

// readString reads a string. raw is the text between the quotes, still escaped.
// whole is false if the input ends inside the string.
func (w *jsonRedactor) readString() (raw []byte, whole, ok bool) {
	w.pos++
	start := w.pos
	for {
		n := bytes.IndexByte(w.src[w.pos:], '"')
		if n < 0 {
			break
		}
		end := w.pos + n
		w.pos = end + 1
		if raw = w.src[start:end]; (len(raw)-len(bytes.TrimRight(raw, `\`)))%2 == 0 { // else the quote is escaped
			return raw, true, true
		}
	}
	w.pos = len(w.src)
	if !w.isTruncated {
		return nil, false, w.failNotJSON()
	}
	return w.src[start:], false, true
}

// unquoteString decodes the text between the quotes of a string, whose end may be
// missing. The result is valid until its place in the scratch is released.
func (r *redactor) unquoteString(raw []byte) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	begin, out := len(r.scratch), r.scratch
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
			char, n, ok := decodeUnicodeEscape(raw[i-1:])
			if !ok {
				return nil, false
			}
			out = utf8.AppendRune(out, char)
			i += n - 2
		default:
			return nil, false
		}
	}
	r.scratch = out
	return out[begin:], true
}

// decodeUnicodeEscape decodes a \u escape at the beginning of b, together with
// the next one if they are a surrogate pair. n is the number of bytes that it
// read. If b ends too early, it consumes all of it.
func decodeUnicodeEscape(b []byte) (r rune, n int, ok bool) {
	if len(b) < 6 {
		return utf8.RuneError, len(b), true
	}
	v, err := strconv.ParseInt(string(b[2:6]), 16, 32)
	if err != nil {
		return 0, 0, false
	}
	r, n = rune(v), 6
	if r >= 0xd800 && r < 0xdc00 && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, err := strconv.ParseInt(string(b[8:12]), 16, 32); err == nil && low >= 0xdc00 && low < 0xe000 {
			return (r-0xd800)<<10 + (rune(low) - 0xdc00) + 0x10000, 12, true
		}
	}
	if r >= 0xd800 && r < 0xe000 {
		r = utf8.RuneError
	}
	return r, n, true
}

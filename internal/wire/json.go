package wire

import (
	"bytes"
	"iter"
	"strconv"
)

// CheckJSON returns nil if b is one JSON value as this package accepts it:
//
//   - RFC 8259 in UTF-8, without byte-order mark and lone surrogates
//   - no key twice in an object, after unescaping
//   - nested at most MaxDepth deep
//   - nothing but white space around it
//
// The error is an *Error with CodeParse that names the place.
func CheckJSON(b []byte) error {
	var s scanner
	s.reset(b)
	s.skipSpace()
	s.scanValue(0)
	s.expectEnd()
	if s.err != nil {
		return s.err
	}
	return nil
}

// The functions below read JSON that Parse or CheckJSON has accepted. Given other
// bytes, they end early or find nothing, and never panic.

// Members iterates over the members of an object in their order. The key is raw: without
// its quotes but with its escapes (see Unescape). Key and value point into obj.
func Members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := skipOpening(obj, '{')
		for {
			from, to, next := findMember(obj, i)
			if next < 0 {
				return
			}
			end := skipValue(obj, next)
			if end < 0 || !yield(obj[from:to], obj[next:end]) {
				return
			}
			i = end
		}
	}
}

// findMember finds the next member at or after i. Its key is obj[from:to] and its value
// begins at value. value is -1 if there is no further member.
func findMember(obj []byte, i int) (from, to, value int) {
	i = skipSpace(obj, i)
	if i < len(obj) && obj[i] == ',' {
		i = skipSpace(obj, i+1)
	}
	if i >= len(obj) || obj[i] != '"' {
		return 0, 0, -1
	}
	end := SkipString(obj, i)
	if end < 0 {
		return 0, 0, -1
	}
	colon := skipSpace(obj, end)
	if colon >= len(obj) || obj[colon] != ':' {
		return 0, 0, -1
	}
	return i + 1, end - 1, skipSpace(obj, colon+1)
}

// Get returns the raw value of the member with that key, or nil. It points into obj.
func Get(obj []byte, key string) []byte {
	i := skipOpening(obj, '{')
	for {
		from, to, value := findMember(obj, i)
		if value < 0 {
			return nil
		}
		end := skipValue(obj, value)
		if end < 0 {
			return nil
		}
		if matchesKey(obj[from:to], key) {
			return obj[value:end]
		}
		i = end
	}
}

// MentionsAny reports whether any quote in b is directly followed by one of these words. A
// false result proves that no key or string in b begins with one, so that callers can
// skip the expensive look. It goes from quote to quote: a long text has few quotes, and a
// search for the words would look at every byte.
func MentionsAny(b []byte, words ...string) bool {
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			return false
		}
		b = b[i+1:]
		for _, w := range words {
			if len(b) >= len(w) && string(b[:len(w)]) == w {
				return true
			}
		}
	}
}

// matchesKey reports whether a raw key, as Members gives it, stands for key.
func matchesKey(raw []byte, key string) bool {
	// Equal bytes with a backslash are no match: the raw key stands for other text.
	if string(raw) == key {
		return bytes.IndexByte(raw, '\\') < 0
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	var buf [64]byte
	return string(AppendUnescaped(buf[:0], raw)) == key
}

// Elements iterates over the raw elements of an array in their order.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(arr, skipOpening(arr, '['))
		for i < len(arr) && arr[i] != ']' {
			end := skipValue(arr, i)
			if end < 0 || !yield(arr[i:end]) {
				return
			}
			i = skipSpace(arr, end)
			if i < len(arr) && arr[i] == ',' {
				i = skipSpace(arr, i+1)
			}
		}
	}
}

// String returns the text of a raw JSON string. ok is false for any other value.
func String(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	return Unescape(raw[1 : len(raw)-1]), true
}

// Unescape returns the text of a raw JSON string without its quotes.
func Unescape(inside []byte) string {
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	return string(AppendUnescaped(make([]byte, 0, len(inside)), inside))
}

// internString is String for a raw value that is known to be a string. It does not
// allocate for known words.
func internString(raw []byte) string {
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return internWord(inside)
	}
	var buf [64]byte
	return internWord(AppendUnescaped(buf[:0], inside))
}

// equalString reports whether raw is a JSON string with the text want.
func equalString(raw []byte, want string) bool {
	return len(raw) >= 2 && raw[0] == '"' && matchesKey(raw[1:len(raw)-1], want)
}

// Int returns the value of a raw JSON number that is written as an integer and fits into
// an int64.
func Int(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > 20 || raw[0] == '"' || !isID(raw) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// IsNull reports whether raw is null.
func IsNull(raw []byte) bool { return string(raw) == "null" }

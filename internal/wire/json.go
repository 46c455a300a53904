package wire

import (
	"bytes"
	"iter"
	"strconv"
)

// Check says whether b is one JSON value as this package takes it: RFC 8259 in
// UTF-8, no byte-order mark, no lone surrogates, no key twice in an object
// after unescaping, nested at most MaxDepth deep, nothing but white space around
// it. The error is an *Error with CodeParse that names the place.
func Check(b []byte) error {
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

// The functions below read JSON that Parse or Check has found good. Given
// anything else they end early or find nothing, and never panic.

// Members gives the members of an object in their order: the key as it stands
// there, escapes and all but without its quotes (see Unescape), and the value.
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

// findMember finds the next member at or after i: its key from..to and where its
// value begins; value is -1 when there is none.
func findMember(obj []byte, i int) (from, to, value int) {
	i = skipSpace(obj, i)
	if i < len(obj) && obj[i] == ',' {
		i = skipSpace(obj, i+1)
	}
	if i >= len(obj) || obj[i] != '"' {
		return 0, 0, -1
	}
	end := skipString(obj, i)
	if end < 0 {
		return 0, 0, -1
	}
	colon := skipSpace(obj, end)
	if colon >= len(obj) || obj[colon] != ':' {
		return 0, 0, -1
	}
	return i + 1, end - 1, skipSpace(obj, colon+1)
}

// Get gives the value of the member with that key, nil if there is none.
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

// Mentions says whether a quote in b is followed by one of these words, so that
// what cannot be of interest is passed over unread. It goes from quote to quote:
// a long text has few of them, and a search for the words would look at all of it.
func Mentions(b []byte, words ...string) bool {
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

// matchesKey says whether the raw key, as Members gives it, means key.
func matchesKey(raw []byte, key string) bool {
	if string(raw) == key {
		return bytes.IndexByte(raw, '\\') < 0
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	var buf [64]byte
	return string(appendUnescaped(buf[:0], raw)) == key
}

// Elements gives the elements of an array in their order.
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

// String gives what a JSON string means, and false for anything else.
func String(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	return Unescape(raw[1 : len(raw)-1]), true
}

// Unescape gives what the inside of a JSON string means.
func Unescape(inside []byte) string {
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	return string(appendUnescaped(make([]byte, 0, len(inside)), inside))
}

// internString is String for a raw that is known to be one, without a copy for
// known words.
func internString(raw []byte) string {
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return internWord(inside)
	}
	var buf [64]byte
	return internWord(appendUnescaped(buf[:0], inside))
}

// equalString says whether raw is a JSON string that means want.
func equalString(raw []byte, want string) bool {
	return len(raw) >= 2 && raw[0] == '"' && matchesKey(raw[1:len(raw)-1], want)
}

// Int gives a JSON number that is written as an integer and fits.
func Int(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > 20 || raw[0] == '"' || !isID(raw) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// IsNull says whether raw is null.
func IsNull(raw []byte) bool { return string(raw) == "null" }

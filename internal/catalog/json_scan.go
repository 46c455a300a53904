package catalog

import "bytes"

// The functions below move through JSON text that wire has validated. Given other
// bytes they end early and never panic. None of them allocates.

// skipSpace returns the index of the first byte at or after i that is not white
// space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipComma moves from the end of an element to the next element or to the
// closing bracket; undecided if neither follows.
func skipComma(b []byte, i int) int {
	i = skipSpace(b, i)
	if i >= len(b) {
		return undecided
	}
	switch b[i] {
	case ',':
		return skipSpace(b, i+1)
	case '}', ']':
		return i
	}
	return undecided
}

// findStringEnd returns the index after the string that begins at i, or -1.
func findStringEnd(b []byte, i int) int {
	i++
	for i <= len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		// The quote ends the string unless an odd number of backslashes stands
		// before it.
		end := i + n
		slashes := 0
		for end-slashes > i && b[end-slashes-1] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

// findNumberEnd returns the index after the number or literal that begins at i.
func findNumberEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\n', '\r', '\t', ',', '}', ']', '"', '{', '[', ':':
			return i
		}
		i++
	}
	return i
}

// findValueEnd returns the index after the value that begins at i, or
// undecided.
func findValueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = findStringEnd(b, i); i < 0 {
				return undecided
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\n', '\r', '\t', ',', ':':
			if depth == 0 {
				return undecided
			}
			i++
			continue
		default:
			i = findNumberEnd(b, i)
		}
		if depth <= 0 {
			if depth < 0 {
				return undecided
			}
			return i
		}
	}
	return undecided
}

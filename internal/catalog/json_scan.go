package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

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
			if i = wire.SkipString(b, i); i < 0 {
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

package catalog

import "bytes"

// The functions below find their way in JSON that wire has judged. Given
// anything else they end early and never panic.

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// comma moves from the end of an element to the next one or to the closing
// bracket.
func comma(b []byte, i int) int {
	i = space(b, i)
	if i >= len(b) {
		return ask
	}
	switch b[i] {
	case ',':
		return space(b, i+1)
	case '}', ']':
		return i
	}
	return ask
}

// stringEnd gives the index after the string that begins at i, or -1.
func stringEnd(b []byte, i int) int {
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

// numberEnd gives the index after the number, or the word, that begins at i.
func numberEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\n', '\r', '\t', ',', '}', ']', '"', '{', '[', ':':
			return i
		}
		i++
	}
	return i
}

// valueEnd gives the index after the value that begins at i, or ask.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return ask
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\n', '\r', '\t', ',', ':':
			if depth == 0 {
				return ask
			}
			i++
			continue
		default:
			i = numberEnd(b, i)
		}
		if depth <= 0 {
			if depth < 0 {
				return ask
			}
			return i
		}
	}
	return ask
}

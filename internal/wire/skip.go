package wire

import "bytes"

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipOpening gives the index after the opening bracket, or len(b) if b does not
// begin with it.
func skipOpening(b []byte, bracket byte) int {
	i := skipSpace(b, 0)
	if i < len(b) && b[i] == bracket {
		return i + 1
	}
	return len(b)
}

// skipString gives the index after the string that begins at i, or -1.
func skipString(b []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		// The quote ends the string unless an odd number of backslashes is
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
}

// skipValue gives the index after the value that begins at i, or -1. It counts
// brackets and does not look at what is between them.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
	default:
		start := i
		for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

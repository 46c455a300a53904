package bench

import (
	"bytes"
	"errors"
)

var errNotObject = errors.New("not a JSON object")

// scanMembers calls yield with the raw members of a JSON object, keys without
// their quotes, until yield returns false. It finds where values end and checks
// little else, because the yardsticks must cost almost nothing.
func scanMembers(b []byte, yield func(key, value []byte) bool) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errNotObject
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}'; {
		end := findStringEnd(b, i)
		if end < 0 {
			return errNotObject
		}
		key := b[i+1 : end-1]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return errNotObject
		}
		i = skipSpace(b, i+1)
		if end = findValueEnd(b, i); end < 0 {
			return errNotObject
		}
		if !yield(key, b[i:end]) {
			return nil
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		} else if i < len(b) && b[i] != '}' {
			return errNotObject
		}
	}
	if i >= len(b) {
		return errNotObject
	}
	return nil
}

// findMember returns the value of one member; nil if there is none.
func findMember(b []byte, name string) (value []byte) {
	_ = scanMembers(b, func(k, v []byte) bool {
		if string(k) == name {
			value = v
			return false
		}
		return true
	})
	return value
}

// skipSpace returns the position of the next byte that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// findStringEnd returns where the string that begins at i ends; -1 if it does
// not.
func findStringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := 0
		for b[i-1-back] == '\\' { // stops at the opening quote
			back++
		}
		if back%2 == 0 {
			return i + 1
		}
	}
}

// findValueEnd returns where the value that begins at i ends; -1 if it does not.
func findValueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return findStringEnd(b, i)
	case '{', '[':
		return findNestEnd(b, i)
	}
	end := i
	for end < len(b) && b[end] > ' ' && b[end] != ',' && b[end] != '}' && b[end] != ']' {
		end++
	}
	if end == i {
		return -1
	}
	return end
}

// findNestEnd returns where the object or array that begins at i ends; -1 if it
// does not.
func findNestEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			end := findStringEnd(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		}
	}
	return -1
}

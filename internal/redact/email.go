package redact

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// findEmail returns the bounds of the first e-mail address at or after a place.
func findEmail(s []byte, at int) (from, to int) {
	return findAddress(s, at, []byte("@"))
}

// findEscapedEmail is findEmail for addresses in URLs, whose sign is escaped.
func findEscapedEmail(s []byte, at int) (from, to int) {
	return findAddress(s, at, []byte("%40"))
}

// findAddress finds a name, the sign, and a domain with at least two labels.
func findAddress(s []byte, at int, sign []byte) (from, to int) {
	for search := at; ; {
		n := bytes.Index(s[search:], sign)
		if n < 0 {
			return 0, 0
		}
		middle := search + n
		search = middle + len(sign)
		from, to = nameStart(s, at, middle), domainEnd(s, search)
		if from < middle && to > search {
			return from, to
		}
	}
}

// nameStart returns the start of the name of an address that ends at an index.
func nameStart(s []byte, least, end int) int {
	start := end
	for start > least {
		c := s[start-1]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeLastRune(s[least:start])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			start -= size
			continue
		}
		quote := c == '\'' && start-1 > least && isWordByte(s[start-2]) // as in o'brien
		if !isWordByte(c) && c != '.' && c != '+' && c != '%' && !quote {
			break
		}
		start--
	}
	for start < end && (s[start] == '.' || s[start] == '\'') {
		start++
	}
	return start
}

// domainEnd returns the end of the domain that begins at an index; the index itself
// if there is none.
func domainEnd(s []byte, begin int) int {
	end, labelStart, labels := begin, begin, 0
	for i := begin; ; {
		size := 1
		label := false
		if i < len(s) {
			if s[i] >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRune(s[i:])
				label = unicode.IsLetter(r) || unicode.IsDigit(r)
			} else {
				label = isWordByte(s[i]) && s[i] != '_'
			}
		}
		if label {
			i += size
			continue
		}
		if i == labelStart {
			return end
		}
		if labels++; labels >= 2 && isTopLevel(s[labelStart:i]) {
			end = i
			for end > labelStart && s[end-1] == '-' {
				end--
			}
		}
		if i >= len(s) || s[i] != '.' {
			return end
		}
		i++
		labelStart = i
	}
}

// isTopLevel reports whether a label may be the last of a domain.
func isTopLevel(label []byte) bool {
	return len(label) >= 2 && (label[0]|0x20 >= 'a' && label[0]|0x20 <= 'z' || label[0] >= utf8.RuneSelf)
}

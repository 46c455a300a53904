package catalog

import (
	"bytes"
	"iter"
)

// splitWords yields the words of a text in lower case. A word consists of ASCII
// letters and digits; a capital letter begins another, as in listPullRequests.
// The slice is valid until the next word.
func splitWords(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		text = text[:min(len(text), maxTextBytes)]
		word := make([]byte, 0, 32)
		for i := range len(text) {
			c := text[i]
			capital := c >= 'A' && c <= 'Z'
			letter := capital || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
			begins := capital && i > 0 && (isLower(text[i-1]) || i+1 < len(text) && isLower(text[i+1]) && isUpper(text[i-1]))
			if len(word) > 0 && (!letter || begins) {
				if !yield(word) {
					return
				}
				word = word[:0]
			}
			if capital {
				c += 'a' - 'A'
			}
			if letter {
				word = append(word, c)
			}
		}
		if len(word) > 0 {
			yield(word)
		}
	}
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// trimPlural removes the ending of an English plural, in place.
func trimPlural(w []byte) []byte {
	switch {
	case len(w) < 4 || w[len(w)-1] != 's':
		return w
	case bytes.HasSuffix(w, []byte("ies")):
		return append(w[:len(w)-3], 'y')
	case bytes.HasSuffix(w, []byte("ches")), bytes.HasSuffix(w, []byte("shes")), bytes.HasSuffix(w, []byte("sses")), bytes.HasSuffix(w, []byte("xes")):
		return w[:len(w)-2]
	case bytes.HasSuffix(w, []byte("ss")), bytes.HasSuffix(w, []byte("us")), bytes.HasSuffix(w, []byte("is")):
		return w
	}
	return w[:len(w)-1]
}

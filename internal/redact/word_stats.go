package redact

import "math"

// minRandom is the length of the shortest word that can look random.
const minRandom = 32

// wordStats are the statistics of a word of base64. A path has many words, each of
// which extends to its end: the statistics of the next one are those of the former
// without the bytes before it, so that a path costs as much as it is long.
type wordStats struct {
	from, to int
	seen     [256]int32
	kinds    [kindsOfBytes]int
	turns    int // places where the kind changes, and the first byte
}

// The kinds of bytes in a word.
const (
	lowerCase = iota
	upperCase
	digit
	otherByte
	kindsOfBytes
)

// kindOf returns the kind of a byte.
func kindOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return lowerCase
	case c >= 'A' && c <= 'Z':
		return upperCase
	case c >= '0' && c <= '9':
		return digit
	}
	return otherByte
}

// seek makes the statistics those of the word that begins at i, of which s[i:j] is
// known, and returns its end. Base64 has two bytes more than other words.
func (w *wordStats) seek(s []byte, i, j int) int {
	if i < w.from || j > w.to || i >= w.to {
		end := j
		for end < len(s) && (isWordByte(s[end]) || s[end] == '+' || s[end] == '/') {
			end++
		}
		if end-i < minRandom { // no statistics are needed
			w.from, w.to = end, end
			return end
		}
		*w = wordStats{from: i, to: end}
		last := -1
		for _, c := range s[i:end] {
			kind := kindOf(c)
			w.seen[c]++
			w.kinds[kind]++
			if kind != last {
				w.turns++
				last = kind
			}
		}
		return end
	}
	for ; w.from < i; w.from++ {
		c := s[w.from]
		kind := kindOf(c)
		w.seen[c]--
		w.kinds[kind]--
		if w.from+1 < w.to && kindOf(s[w.from+1]) != kind {
			w.turns--
		}
	}
	return w.to
}

// looksRandom reports whether the word looks generated rather than written: long,
// with lower-case letters, upper-case letters and digits in no order. Hexadecimal
// digests, UUIDs, paths and names in any style do not match.
func (w *wordStats) looksRandom() bool {
	length := w.to - w.from
	if length < minRandom || w.kinds[lowerCase] < 3 || w.kinds[upperCase] < 3 || w.kinds[digit] < 2 || w.turns*100 < 35*length {
		return false
	}
	entropy := 0.0
	for _, n := range w.seen {
		if n > 0 {
			p := float64(n) / float64(length)
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= 4
}

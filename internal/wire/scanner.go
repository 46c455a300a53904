package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest. It bounds the recursion of every
// scan. No MCP message comes near it.
const MaxDepth = 128

// scanner walks over one JSON text and checks it. It accepts exactly RFC 8259 in UTF-8,
// without byte-order mark, lone surrogates and duplicate keys. The first error is kept in
// err and moves the scanner to the end, so that every method returns quickly from then on
// and callers may check err late.
type scanner struct {
	b   []byte // the text
	i   int    // index of the next byte
	err *Error

	openKeys        keyStack // keys of the objects that are open
	largeKeys       keySet   // keys of the objects that have many
	objectCount     uint32   // number of objects opened so far
	allowDuplicates bool     // accept duplicate keys
}

// reset starts the scan of a text. It refuses texts whose positions do not fit a keySpan.
func (s *scanner) reset(b []byte) {
	s.b, s.i, s.err = b, 0, nil
	if len(b) > math.MaxInt32 {
		s.failAt(0, "the text is longer than 2 GiB")
	}
}

// failAt sets the error, unless there is one, and moves to the end of the text.
func (s *scanner) failAt(at int, what string) {
	if s.err == nil {
		s.err = &Error{Code: CodeParse, Message: "not valid JSON at byte " + strconv.Itoa(at) + ": " + what}
		s.i = len(s.b)
	}
}

// failUnexpected fails because the current byte, or the end of the text, is not wanted.
func (s *scanner) failUnexpected(wanted string) {
	if s.i >= len(s.b) {
		s.failAt(len(s.b), "it ends where "+wanted+" should be")
		return
	}
	if s.i == 0 && s.b[0] == 0xEF {
		s.failAt(0, "it begins with a byte-order mark or another stray byte; send plain UTF-8")
		return
	}
	s.failAt(s.i, strconv.QuoteToASCII(string(s.b[s.i:s.i+1]))+" where "+wanted+" should be")
}

// skipSpace moves behind white space.
func (s *scanner) skipSpace() {
	i := s.i
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	s.i = i
}

// isSpace reports whether c is white space between JSON tokens.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// expectEnd fails if anything but white space follows the value.
func (s *scanner) expectEnd() {
	s.skipSpace()
	if s.err == nil && s.i < len(s.b) {
		s.failUnexpected("the end")
	}
}

// scanValue scans one value. depth is the number of arrays and objects around it.
func (s *scanner) scanValue(depth int) {
	if s.i >= len(s.b) {
		s.failUnexpected("a value")
		return
	}
	switch c := s.b[s.i]; c {
	case '"':
		s.scanString()
	case '{':
		o := s.beginObject(depth)
		for s.nextMember(&o) {
			s.scanValue(depth + 1)
		}
	case '[':
		first := true
		if !s.enterContainer(depth) {
			return
		}
		for s.nextElement(&first) {
			s.scanValue(depth + 1)
		}
	case 't':
		s.scanLiteral("true")
	case 'f':
		s.scanLiteral("false")
	case 'n':
		s.scanLiteral("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			s.scanNumber()
			return
		}
		s.failUnexpected("a value")
	}
}

// scanLiteral scans true, false or null.
func (s *scanner) scanLiteral(word string) {
	if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
		s.i += len(word)
		return
	}
	s.failUnexpected("a value")
}

// enterContainer moves behind an opening bracket. It fails if the nesting is too deep.
func (s *scanner) enterContainer(depth int) bool {
	if depth >= MaxDepth {
		s.failAt(s.i, "arrays and objects nest deeper than "+strconv.Itoa(MaxDepth))
		return false
	}
	s.i++
	return s.err == nil
}

// nextElement moves to the next element of an array, which the caller must scan. first
// must be true before the first element. It returns false at the end of the array and
// after an error.
func (s *scanner) nextElement(first *bool) bool {
	s.skipSpace()
	if s.i >= len(s.b) {
		s.failUnexpected("',' or ']'")
		return false
	}
	c := s.b[s.i]
	if c == ']' {
		s.i++
		return false
	}
	if *first {
		*first = false
		return true
	}
	if c != ',' {
		s.failUnexpected("',' or ']'")
		return false
	}
	s.i++
	s.skipSpace()
	return s.err == nil
}

// scanNumber scans a number. It rounds nothing: all digits are kept in the text.
func (s *scanner) scanNumber() {
	i := s.i
	if s.b[i] == '-' {
		i++
	}
	switch {
	case i < len(s.b) && s.b[i] == '0':
		i++
	case i < len(s.b) && s.b[i] >= '1' && s.b[i] <= '9':
		i = skipDigits(s.b, i)
	default:
		s.i = i
		s.failUnexpected("a digit")
		return
	}
	if i < len(s.b) && s.b[i] == '.' {
		j := skipDigits(s.b, i+1)
		if j == i+1 {
			s.i = j
			s.failUnexpected("a digit")
			return
		}
		i = j
	}
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		i++
		if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		j := skipDigits(s.b, i)
		if j == i {
			s.i = j
			s.failUnexpected("a digit")
			return
		}
		i = j
	}
	s.i = i
}

// skipDigits returns the index of the first byte at or after i that is no digit.
func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

const (
	// lowBits and highBits have the lowest and the highest bit of each byte set.
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// findSpecial returns the index of the first byte at or after i that needs attention
// inside a string: a quote, a backslash, a control character, or a byte outside ASCII. It
// returns len(b) if there is none. It looks at eight bytes at a time, because the scan of
// strings dominates the cost of large messages.
func findSpecial(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 { // long texts in larger steps
		four := b[i : i+32]
		if (markSpecial(binary.LittleEndian.Uint64(four))|markSpecial(binary.LittleEndian.Uint64(four[8:]))|
			markSpecial(binary.LittleEndian.Uint64(four[16:]))|markSpecial(binary.LittleEndian.Uint64(four[24:])))&highBits != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if mark := markSpecial(binary.LittleEndian.Uint64(b[i:])) & highBits; mark != 0 {
			return i + bits.TrailingZeros64(mark)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// markSpecial sets the top bit of each of eight bytes that is special. Its four terms
// mark:
//
//   - bytes outside ASCII, which have the top bit set themselves
//   - control characters, for which the subtraction of 0x20 borrows
//   - quotes, which the xor turns into 0, so that the subtraction of 1 borrows
//   - backslashes, likewise
//
// A subtraction borrows only from bytes above a marked one. So the lowest mark is exact,
// and a higher one may be wrong.
func markSpecial(x uint64) uint64 {
	return x | (x - lowBits*0x20) | (x ^ lowBits*'"' - lowBits) | (x ^ lowBits*'\\' - lowBits)
}

// scanString scans the string at the current position and reports whether it has escapes.
func (s *scanner) scanString() (escaped bool) {
	start, i := s.i, s.i+1
	for {
		i = findSpecial(s.b, i)
		if i >= len(s.b) {
			s.failAt(start, "this string has no end")
			return escaped
		}
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			return escaped
		case c == '\\':
			escaped = true
			if i = s.scanEscape(i); i < 0 {
				return escaped
			}
		case c < 0x20:
			// RFC 8259 forbids it, and some readers would end a line here.
			s.failAt(i, "a control character in a string; escape it")
			return escaped
		default:
			// Other scripts come in runs: stay here until ASCII follows.
			for i < len(s.b) && s.b[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(s.b[i:])
				if r == utf8.RuneError && n == 1 {
					s.failAt(i, "this is not UTF-8")
					return escaped
				}
				i += n
			}
		}
	}
}

// scanEscape checks the escape at i and returns the index behind it, or -1. It refuses
// surrogates that are not part of a pair, which readers decode in different ways.
func (s *scanner) scanEscape(i int) int {
	if i+1 >= len(s.b) {
		s.failAt(i, "this escape has no end")
		return -1
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		s.failAt(i, "there is no such escape")
		return -1
	}
	r, ok := parseHex4(s.b, i+2)
	if !ok {
		s.failAt(i, "\\u wants four hexadecimal digits")
		return -1
	}
	if r < surrogateMin || r > surrogateMax {
		return i + 6
	}
	// The first half of a pair must be followed by the second one. Readers
	// replace, drop or keep a lone half, so they would see different strings.
	low, ok := rune(0), false
	if r < surrogateLow && i+7 < len(s.b) && s.b[i+6] == '\\' && s.b[i+7] == 'u' {
		low, ok = parseHex4(s.b, i+8)
	}
	if !ok || low < surrogateLow || low > surrogateMax {
		s.failAt(i, "a surrogate without its other half")
		return -1
	}
	return i + 12
}

// The range of UTF-16 surrogates. Second halves begin at surrogateLow.
const (
	surrogateMin = 0xD800
	surrogateLow = 0xDC00
	surrogateMax = 0xDFFF
)

// parseHex4 returns the value of the four hexadecimal digits at i.
func parseHex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

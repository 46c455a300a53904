package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest. It bounds the recursion of
// every scan; no MCP message comes near it.
const MaxDepth = 128

// scanner walks one JSON text and judges it. It accepts exactly RFC 8259 in
// UTF-8, without byte-order mark, lone surrogates and duplicate keys. The first
// fault sticks in err, and every method returns at once from then on.
type scanner struct {
	b   []byte
	i   int
	err *Error

	openKeys        keyStack // of the objects that are open
	largeKeys       keySet   // of the objects that have many
	objectCount     uint32   // number of objects opened so far
	allowDuplicates bool     // let duplicate keys pass
}

func (s *scanner) reset(b []byte) {
	s.b, s.i, s.err = b, 0, nil
	if len(b) > math.MaxInt32 {
		s.failAt(0, "the text is longer than 2 GiB")
	}
}

func (s *scanner) failAt(at int, what string) {
	if s.err == nil {
		s.err = &Error{Code: CodeParse, Message: "not valid JSON at byte " + strconv.Itoa(at) + ": " + what}
		s.i = len(s.b)
	}
}

// failUnexpected fails at the current byte, or because there is none.
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

func (s *scanner) skipSpace() {
	i := s.i
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	s.i = i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// expectEnd refuses anything but white space after the value.
func (s *scanner) expectEnd() {
	s.skipSpace()
	if s.err == nil && s.i < len(s.b) {
		s.failUnexpected("the end")
	}
}

// scanValue scans one value. depth counts the arrays and objects around it.
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

func (s *scanner) scanLiteral(word string) {
	if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
		s.i += len(word)
		return
	}
	s.failUnexpected("a value")
}

func (s *scanner) enterContainer(depth int) bool {
	if depth >= MaxDepth {
		s.failAt(s.i, "arrays and objects nest deeper than "+strconv.Itoa(MaxDepth))
		return false
	}
	s.i++
	return s.err == nil
}

// nextElement moves to the next element of an array whose bracket has been
// read, and says false at its end or at a fault.
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

// scanNumber scans a number. All digits count: nothing is rounded here.
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

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// findSpecial gives the index of the first byte from i on that is not a plain
// character of a string: a quote, a backslash, a control character or a byte
// outside ASCII; len(b) if there is none. It looks at eight bytes at a time.
func findSpecial(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 { // long texts go by in larger steps
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

// markSpecial says in the top bit of each of eight bytes whether it is not plain. A
// subtraction borrows only from a byte above one that is marked, so the lowest mark
// is exact.
func markSpecial(x uint64) uint64 {
	return x | (x - lowBits*0x20) | (x ^ lowBits*'"' - lowBits) | (x ^ lowBits*'\\' - lowBits)
}

// scanString scans a string, which begins here, and says whether it holds escapes.
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
			s.failAt(i, "a control character in a string; escape it")
			return escaped
		default:
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

// scanEscape judges the escape at i and gives the index after it, or -1.
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

const (
	surrogateMin = 0xD800
	surrogateLow = 0xDC00
	surrogateMax = 0xDFFF
)

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

package redact

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// numberKinds are the kinds of numbers that are looked for.
type numberKinds uint8

const (
	cardNumbers numberKinds = 1 << iota
	ibanNumbers
	phoneNumbers
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isAlphanumeric(c byte) bool { return isDigit(c) || isLetter(c) }

// nextDigit returns the index of the first digit at or after i; len(s) if there is
// none. It looks at eight bytes at once.
func nextDigit(s []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		v := binary.LittleEndian.Uint64(s[i:]) ^ ones*'0' // a digit becomes less than ten
		if m := (v - ones*10) & ^v & high; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && !isDigit(s[i]) {
		i++
	}
	return i
}

// find returns the bounds of the first number of these kinds at or after a place.
func (k numberKinds) find(s []byte, at int) (from, to int) {
	for i := at; ; {
		i = nextDigit(s, i)
		if i >= len(s) {
			return 0, 0
		}
		if k&ibanNumbers != 0 && i >= at+2 {
			if end := ibanEnd(s, at, i-2); end > 0 {
				return i - 2, end
			}
		}
		if i == 0 || !isDigit(s[i-1]) {
			if k&cardNumbers != 0 {
				if end := cardEnd(s, i); end > 0 {
					return i, end
				}
			}
			if k&phoneNumbers != 0 {
				if begin, end := phoneBounds(s, at, i); end > begin {
					return begin, end
				}
			}
		}
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
}

// digitGroups are groups of digits with separators between them.
type digitGroups struct {
	bounds [16][2]int
	n      int
}

// readGroups reads the groups from i on: at most as many digits, and between them at
// most as many separators.
func readGroups(s []byte, i, maxDigits, maxSeparators int, separators string) (g digitGroups) {
	digits := 0
	for g.n < len(g.bounds) {
		begin := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == begin {
			return g
		}
		if digits += i - begin; digits > maxDigits {
			return g
		}
		g.bounds[g.n] = [2]int{begin, i}
		g.n++
		for n := 0; n < maxSeparators && i < len(s); n++ {
			size := separatorSize(s[i:], separators)
			if size == 0 {
				break
			}
			i += size
		}
	}
	return g
}

// separatorSize returns the length of the separator at the beginning of s; 0 if there
// is none. A space may be one that does not break.
func separatorSize(s []byte, separators string) int {
	if len(s) >= 2 && s[0] == 0xc2 && s[1] == 0xa0 {
		return 2
	}
	for i := range len(separators) {
		if s[0] == separators[i] {
			return 1
		}
	}
	return 0
}

// length returns the number of digits of a group.
func (g *digitGroups) length(i int) int { return g.bounds[i][1] - g.bounds[i][0] }

// cardEnd returns the end of the card number whose digits begin at i; 0 if there is
// none. It has 13 to 19 digits and the check digit of Luhn, without separators or in
// groups of at least four.
func cardEnd(s []byte, i int) int {
	if s[i] == '0' || i > 1 && s[i-1] == '.' && isDigit(s[i-2]) { // the fraction of a number
		return 0
	}
	g := readGroups(s, i, 40, 1, " -")
	digits, found := 0, 0
	for n := range g.n {
		length := g.length(n)
		if n > 0 && n < g.n && g.length(n-1) < 4 {
			break
		}
		if digits += length; digits > 19 {
			break
		}
		// Numbers that begin with 1 are mostly times. Cards with 1 have 15 digits.
		if digits < 13 || s[i] == '1' && digits != 15 || n > 0 && g.length(0) > 6 {
			continue
		}
		if end := g.bounds[n][1]; luhn(s[i:end]) && !inHexadecimal(s, i, end) {
			found = end
		}
	}
	return found
}

// luhn reports whether the last digit is the check digit of the others.
func luhn(s []byte) bool {
	sum, double := 0, false
	for _, c := range slices.Backward(s) {
		if !isDigit(c) {
			continue
		}
		d := int(c - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		double = !double
	}
	return sum%10 == 0
}

// inHexadecimal reports whether digits are part of a longer hexadecimal word, such as
// a digest.
func inHexadecimal(s []byte, from, to int) bool {
	isHex := func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
	begin, end := from, to
	for begin > 0 && from-begin < 64 && isAlphanumeric(s[begin-1]) {
		if begin--; !isHex(s[begin]) {
			return false
		}
	}
	for end < len(s) && end-to < 64 && isAlphanumeric(s[end]) {
		if end++; !isHex(s[end-1]) {
			return false
		}
	}
	return begin < from || end > to
}

// phoneBounds returns the bounds of the phone number whose first digit is at i: an
// international number with + or 00, a national one that begins with 0, or one in
// the form of North America.
func phoneBounds(s []byte, least, i int) (from, to int) {
	from = i
	if i > least && s[i-1] == '(' {
		from--
	}
	plus := from > least && s[from-1] == '+'
	if plus {
		from--
	}
	if from > 0 {
		c := s[from-1]
		if isAlphanumeric(c) || c == '_' || !plus && from > 1 && (c == '.' || c == '-' || c == '/' || c == ',') && isAlphanumeric(s[from-2]) {
			return 0, 0
		}
	}
	g := readGroups(s, i, 17, 3, " -./()")
	if g.n == 0 {
		return 0, 0
	}
	switch {
	case plus:
		to = g.endWithin(s, 7, 15)
		if s[i] == '0' {
			to = 0
		}
	case s[i] == '0' && i+2 < len(s) && s[i+1] == '0' && s[i+2] >= '1' && s[i+2] <= '9' && g.length(0) > 2:
		to = g.endWithin(s, 10, 17)
	case s[i] == '0' && i+1 < len(s) && s[i+1] >= '1' && s[i+1] <= '9' && !g.beginsWithDate():
		to = g.endWithin(s, 9, 12)
		if g.n == 1 && g.length(0) < 10 {
			to = 0
		}
	default:
		to = g.northAmericanEnd(s)
	}
	if to == 0 || to < len(s) && (isAlphanumeric(s[to]) || s[to] == '_') {
		return 0, 0
	}
	return from, to
}

// endWithin returns the end of the most groups that have a number of digits together;
// 0 if there are none.
func (g *digitGroups) endWithin(s []byte, least, most int) (end int) {
	digits := 0
	for n := range g.n {
		if digits += g.length(n); digits > most {
			break
		}
		if digits >= least {
			end = g.bounds[n][1]
		}
	}
	if end > 0 && end < len(s) && isDigit(s[end]) {
		return 0
	}
	return end
}

// beginsWithDate reports whether the groups begin with a day, a month and a year.
func (g *digitGroups) beginsWithDate() bool {
	return g.n >= 3 && g.length(0) <= 2 && g.length(1) <= 2 && g.length(2) == 4
}

// northAmericanEnd returns the end of a number such as (555) 123-4567; 0 if it is
// none.
func (g *digitGroups) northAmericanEnd(s []byte) int {
	first := 0
	if g.n >= 4 && g.length(0) == 1 && s[g.bounds[0][0]] == '1' {
		first = 1
	}
	if g.n < first+3 || g.length(first) != 3 || g.length(first+1) != 3 || g.length(first+2) != 4 {
		return 0
	}
	area, exchange, line := g.bounds[first], g.bounds[first+1], g.bounds[first+2]
	between := s[exchange[1]]
	parenthesis := s[area[1]] == ')'
	if line[0]-exchange[1] != 1 || between == '/' || between == '(' || between == ')' || !parenthesis && (exchange[0]-area[1] != 1 || s[area[1]] != between) {
		return 0
	}
	if between == ' ' && (s[area[0]] < '2' || s[exchange[0]] < '2') {
		return 0
	}
	if g.n > first+3 && g.bounds[first+3][0]-line[1] == 1 && s[line[1]] == between { // it goes on
		return 0
	}
	return line[1]
}

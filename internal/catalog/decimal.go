package catalog

import (
	"cmp"
	"math/bits"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// Limits of numbers. Beyond them an exact comparison, as JSON Schema requires it,
// would take seconds, and no program uses such a number.
const (
	maxNumberLength = 1000
	maxExponent     = 1000
)

// decimal is a JSON number exactly as it is written: mantissa times ten to the
// power of exp. The mantissa does not end in zero. So an integer never has a
// negative exp, and equal numbers are equal decimals. Zero is the zero decimal.
type decimal struct {
	negative bool
	mantissa uint64
	exp      int
}

// parseDecimal reads a JSON number. ok is false if the number has more digits
// than a decimal holds, or too large an exponent.
func parseDecimal(raw []byte) (d decimal, ok bool) {
	i := 0
	if i < len(raw) && raw[i] == '-' {
		d.negative = true
		i++
	}
	zeros, fraction := 0, false // zeros that count only if a digit follows
digits:
	for ; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '.' && !fraction:
			fraction = true
			continue
		case c < '0' || c > '9':
			break digits
		case c == '0':
			zeros++
		default:
			for ; zeros >= 0; zeros-- {
				if d.mantissa > (1<<64-10)/10 {
					return decimal{}, false
				}
				d.mantissa *= 10
			}
			zeros = 0
			d.mantissa += uint64(c - '0')
		}
		if fraction {
			d.exp--
		}
	}
	if d.mantissa == 0 {
		zeros = 0
	}
	d.exp += zeros
	e, ok := parseExponent(raw[i:])
	if d.mantissa == 0 {
		return decimal{}, ok
	}
	d.exp += e
	return d, ok
}

// parseExponent reads the exponent that follows the digits of a number; none is
// 0.
func parseExponent(raw []byte) (int, bool) {
	if len(raw) == 0 {
		return 0, true
	}
	if raw[0] != 'e' && raw[0] != 'E' {
		return 0, false
	}
	raw = raw[1:]
	sign := 1
	if len(raw) > 0 && (raw[0] == '-' || raw[0] == '+') {
		if raw[0] == '-' {
			sign = -1
		}
		raw = raw[1:]
	}
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > maxExponent {
			return 0, false
		}
	}
	return sign * n, len(raw) > 0
}

// isInteger reports whether the number has no fraction. 1.0 and 1e2 are
// integers too, as JSON Schema defines it.
func (d decimal) isInteger() bool { return d.exp >= 0 }

// compareTo orders two decimals exactly. The result is like that of
// cmp.Compare.
func (d decimal) compareTo(e decimal) int {
	switch {
	case d.negative != e.negative:
		if d.negative {
			return -1
		}
		return 1
	case d.negative:
		return compareScaled(e.mantissa, e.exp, d.mantissa, d.exp)
	default:
		return compareScaled(d.mantissa, d.exp, e.mantissa, e.exp)
	}
}

// compareScaled compares a*10^aExp with b*10^bExp without overflow.
func compareScaled(a uint64, aExp int, b uint64, bExp int) int {
	if aExp < bExp {
		return -compareScaled(b, bExp, a, aExp)
	}
	diff := aExp - bExp
	if a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	if diff > 19 {
		return 1 // 10^20 is more than any mantissa
	}
	scale := uint64(1)
	for range diff {
		scale *= 10
	}
	high, low := bits.Mul64(a, scale)
	if high > 0 {
		return 1
	}
	return cmp.Compare(low, b)
}

// findOversizedNumber returns the first number of a JSON text that is beyond
// the limits above.
func findOversizedNumber(raw []byte) (number []byte, found bool) {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			if i = wire.SkipString(raw, i); i < 0 {
				return nil, false
			}
		case c == '-' || c >= '0' && c <= '9':
			end := findNumberEnd(raw, i)
			if !isComparableNumber(raw[i:end]) {
				return raw[i:end], true
			}
			i = end
		default:
			i++
		}
	}
	return nil, false
}

// isComparableNumber reports whether a number is within the limits above.
func isComparableNumber(number []byte) bool {
	if len(number) > maxNumberLength {
		return false
	}
	for i, c := range number {
		if c == 'e' || c == 'E' {
			_, ok := parseExponent(number[i:])
			return ok
		}
	}
	return true
}

package catalog

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// patternChecker checks the patterns and anchors of one schema. It compiles its
// own expressions once.
type patternChecker struct {
	counted *regexp.Regexp // {2}, {2,} and {2,3}
	escape  *regexp.Regexp // escapes that have the same meaning in every dialect
	anchor  *regexp.Regexp // the name of an anchor
}

// newPatternChecker makes a patternChecker. Its expression for escapes leaves
// out surrogates, since they form a pair with the escape that follows.
func newPatternChecker() *patternChecker {
	return &patternChecker{
		counted: regexp.MustCompile(`^\{(\d{1,6})(,(\d{0,6}))?\}`),
		escape:  regexp.MustCompile(`^\\(?:[dDwWsStnrvf]|x[0-9A-Fa-f]{2}|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2})|[pP]\{(?:L[ulotm]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?)\})`),
		anchor:  regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`),
	}
}

// validInUnicodeMode reports whether a pattern certainly compiles in JavaScript
// with the flag u. That flag refuses much that other dialects accept: needless
// escapes, a lone brace, a class in a range, inline flags. Constructs that the
// parser does not know count as invalid: back references, and property names
// beyond the general categories.
func (r *patternChecker) validInUnicodeMode(pattern string) bool {
	if !utf8.ValidString(pattern) {
		return false
	}
	p := unicodePatternParser{patternChecker: r, rest: pattern}
	return p.parseAlternatives(0) && p.rest == ""
}

// unicodePatternParser is a recursive-descent parser of such patterns. Each
// parse method consumes its construct from rest, and reports whether it is
// valid.
type unicodePatternParser struct {
	*patternChecker
	rest string
}

// patternDepth bounds how deep groups may nest, and with that the recursion.
const patternDepth = 100

// parseAlternatives reads up to the end of the pattern or of the group.
func (p *unicodePatternParser) parseAlternatives(depth int) bool {
	if depth > patternDepth {
		return false
	}
	for p.rest != "" && p.rest[0] != ')' {
		repeats, ok := p.parseTerm(depth)
		if !ok || !p.parseQuantifier(repeats) {
			return false
		}
	}
	return true
}

// parseTerm reads one atom or assertion, and reports whether a quantifier may
// follow.
func (p *unicodePatternParser) parseTerm(depth int) (repeats, ok bool) {
	switch c := p.rest[0]; c {
	case '|', '^', '$':
		p.rest = p.rest[1:]
		return false, true
	case '*', '+', '?', '{', '}', ']':
		return false, false
	case '(':
		return p.parseGroup(depth)
	case '[':
		return true, p.parseClass()
	case '\\':
		if strings.HasPrefix(p.rest, `\b`) || strings.HasPrefix(p.rest, `\B`) {
			p.rest = p.rest[2:]
			return false, true
		}
		_, ok := p.parseEscape(false)
		return true, ok
	default:
		_, size := utf8.DecodeRuneInString(p.rest)
		p.rest = p.rest[size:]
		return true, true
	}
}

// parseGroup reads a group or a lookaround, with its closing parenthesis.
func (p *unicodePatternParser) parseGroup(depth int) (repeats, ok bool) {
	p.rest = p.rest[1:]
	repeats = true
	switch {
	case strings.HasPrefix(p.rest, "?:"):
		p.rest = p.rest[2:]
	case strings.HasPrefix(p.rest, "?=") || strings.HasPrefix(p.rest, "?!"):
		p.rest, repeats = p.rest[2:], false
	case strings.HasPrefix(p.rest, "?<=") || strings.HasPrefix(p.rest, "?<!"):
		p.rest, repeats = p.rest[3:], false
	case strings.HasPrefix(p.rest, "?"):
		return false, false // a named group, whose name must be unique, or flags
	}
	if !p.parseAlternatives(depth+1) || p.rest == "" {
		return false, false
	}
	p.rest = p.rest[1:]
	return repeats, true
}

// parseQuantifier reads a quantifier, if there is one.
func (p *unicodePatternParser) parseQuantifier(repeats bool) bool {
	if p.rest == "" {
		return true
	}
	var length int
	switch p.rest[0] {
	case '*', '+', '?':
		length = 1
	case '{':
		found := p.counted.FindStringSubmatch(p.rest)
		if found == nil || len(found[3]) > 0 && (len(found[1]) > len(found[3]) || len(found[1]) == len(found[3]) && found[1] > found[3]) {
			return false
		}
		length = len(found[0])
	default:
		return true
	}
	if !repeats {
		return false
	}
	p.rest = strings.TrimPrefix(p.rest[length:], "?")
	return true
}

// parseClass reads a character class in brackets.
func (p *unicodePatternParser) parseClass() bool {
	p.rest = strings.TrimPrefix(p.rest[1:], "^")
	for p.rest != "" && p.rest[0] != ']' {
		low, ok := p.parseClassMember()
		if !ok {
			return false
		}
		if strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.rest = p.rest[1:]
			high, ok := p.parseClassMember()
			if !ok || low < 0 || high < low {
				return false
			}
		}
	}
	if p.rest == "" {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// parseClassMember reads one character of a class. A negative rune stands for a
// class escape such as \d, which must not bound a range.
func (p *unicodePatternParser) parseClassMember() (rune, bool) {
	if p.rest == "" || p.rest[0] == ']' {
		return 0, false
	}
	if p.rest[0] == '\\' {
		return p.parseEscape(true)
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return r, true
}

// parseEscape reads an escape. A negative rune stands for a class of
// characters.
func (p *unicodePatternParser) parseEscape(inClass bool) (rune, bool) {
	if len(p.rest) < 2 {
		return 0, false
	}
	c := p.rest[1]
	if found := p.escape.FindString(p.rest); found != "" {
		p.rest = p.rest[len(found):]
		if strings.ContainsAny(found[1:2], "dDwWsSpP") {
			return -1, true
		}
		return decodeEscape(found), true
	}
	if strings.IndexByte(`^$\.*+?()[]{}|/`, c) >= 0 || inClass && c == '-' {
		p.rest = p.rest[2:]
		return rune(c), true
	}
	if inClass && c == 'b' {
		p.rest = p.rest[2:]
		return '\b', true
	}
	return 0, false
}

// decodeEscape returns the character of a control or hexadecimal escape.
func decodeEscape(escape string) rune {
	switch escape[1] {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'v':
		return '\v'
	case 'f':
		return '\f'
	}
	n, _ := strconv.ParseUint(escape[2:], 16, 16) // two or four hexadecimal digits
	return rune(n)
}

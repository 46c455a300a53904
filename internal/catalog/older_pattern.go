package catalog

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// patternReader reads patterns of one schema.
type patternReader struct {
	counted *regexp.Regexp // {2}, {2,} and {2,3}
	escape  *regexp.Regexp // escapes that mean the same everywhere
	anchor  *regexp.Regexp // the name of an anchor
}

// newPatternReader makes one. Of surrogates, no escape is taken: they pair with
// what follows.
func newPatternReader() *patternReader {
	return &patternReader{
		counted: regexp.MustCompile(`^\{(\d{1,6})(,(\d{0,6}))?\}`),
		escape:  regexp.MustCompile(`^\\(?:[dDwWsStnrvf]|x[0-9A-Fa-f]{2}|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2})|[pP]\{(?:L[ulotm]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?)\})`),
		anchor:  regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`),
	}
}

// validInUnicodeMode says whether a pattern surely compiles in JavaScript with the
// flag u, which refuses much that other dialects take: needless escapes, a lone
// brace, a class in a range, inline flags. What it does not know counts as not
// valid: back references and names of properties beyond the general categories.
func (r *patternReader) validInUnicodeMode(pattern string) bool {
	if !utf8.ValidString(pattern) {
		return false
	}
	p := unicodePattern{patternReader: r, rest: pattern}
	return p.alternatives(0) && p.rest == ""
}

type unicodePattern struct {
	*patternReader
	rest string
}

const patternDepth = 100

// alternatives reads up to the end of the pattern or a group.
func (p *unicodePattern) alternatives(depth int) bool {
	if depth > patternDepth {
		return false
	}
	for p.rest != "" && p.rest[0] != ')' {
		repeats, ok := p.term(depth)
		if !ok || !p.quantifier(repeats) {
			return false
		}
	}
	return true
}

// term reads one atom or assertion, and says whether it may be repeated.
func (p *unicodePattern) term(depth int) (repeats, ok bool) {
	switch c := p.rest[0]; c {
	case '|', '^', '$':
		p.rest = p.rest[1:]
		return false, true
	case '*', '+', '?', '{', '}', ']':
		return false, false
	case '(':
		return p.group(depth)
	case '[':
		return true, p.class()
	case '\\':
		if strings.HasPrefix(p.rest, `\b`) || strings.HasPrefix(p.rest, `\B`) {
			p.rest = p.rest[2:]
			return false, true
		}
		_, ok := p.escaped(false)
		return true, ok
	default:
		_, size := utf8.DecodeRuneInString(p.rest)
		p.rest = p.rest[size:]
		return true, true
	}
}

func (p *unicodePattern) group(depth int) (repeats, ok bool) {
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
		return false, false // a named group, which must not be there twice, or flags
	}
	if !p.alternatives(depth+1) || p.rest == "" {
		return false, false
	}
	p.rest = p.rest[1:]
	return repeats, true
}

// quantifier reads how often the last term may come, if that is said.
func (p *unicodePattern) quantifier(repeats bool) bool {
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

// class reads a set of characters.
func (p *unicodePattern) class() bool {
	p.rest = strings.TrimPrefix(p.rest[1:], "^")
	for p.rest != "" && p.rest[0] != ']' {
		low, ok := p.member()
		if !ok {
			return false
		}
		if strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.rest = p.rest[1:]
			high, ok := p.member()
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

// member reads one character of a set; below zero it is a class of them.
func (p *unicodePattern) member() (rune, bool) {
	if p.rest == "" || p.rest[0] == ']' {
		return 0, false
	}
	if p.rest[0] == '\\' {
		return p.escaped(true)
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return r, true
}

// escaped reads what begins with a backslash: a character, or below zero a class.
func (p *unicodePattern) escaped(inClass bool) (rune, bool) {
	if len(p.rest) < 2 {
		return 0, false
	}
	c := p.rest[1]
	if found := p.escape.FindString(p.rest); found != "" {
		p.rest = p.rest[len(found):]
		if strings.ContainsAny(found[1:2], "dDwWsSpP") {
			return -1, true
		}
		return escapedRune(found), true
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

func escapedRune(escape string) rune {
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

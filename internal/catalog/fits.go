package catalog

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// shape is a schema of common keywords alone, in a form that is checked while
// the arguments are scanned: no value is built and nothing is allocated. It
// knows one answer, that a value fits. For every other one the library is
// asked, which names all that is wrong.
type shape struct {
	types   types
	allowed []*constants // enum and const
	low     *bound
	high    *bound

	minLength, maxLength int
	pattern              *pattern

	items              *shape // nil: anything
	minItems, maxItems int

	properties         map[string]property // and those that are only required
	additional         *shape              // of properties that are not named; nil: anything
	required           uint64              // one bit for each
	minNames, maxNames int

	anything bool // no keyword constrains it
}

// types is a set of JSON types.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeNumber
	typeInteger
	typeString
	typeArray
	typeObject
	allTypes = typeNull | typeBoolean | typeNumber | typeString | typeArray | typeObject
)

type property struct {
	shape    *shape // nil: not named under properties
	required uint64 // its bit, or 0
}

// bound is minimum, exclusiveMinimum or their counterparts.
type bound struct {
	at        decimal
	exclusive bool
}

// constants are the scalars that enum or const allows.
type constants struct {
	types   types
	strings map[string]struct{}
	numbers []decimal
	bools   [2]bool
}

// ask is the answer to whatever is not known to fit.
const ask = -1

// accepts says whether the whole text is a value that fits. Whoever calls it has
// had the text judged by wire: what does not matter to the schema is not looked
// at here.
func (s *shape) accepts(b []byte) bool {
	i := s.fits(b, space(b, 0))
	return i != ask && space(b, i) == len(b)
}

// fits gives the index after the value that begins at i, or ask.
func (s *shape) fits(b []byte, i int) int {
	if i >= len(b) {
		return ask
	}
	if s.anything {
		return valueEnd(b, i)
	}
	switch b[i] {
	case '"':
		return s.fitsString(b, i)
	case '{':
		return s.fitsObject(b, i)
	case '[':
		return s.fitsArray(b, i)
	case 't', 'f':
		return s.fitsBoolean(b, i)
	case 'n':
		for _, c := range s.allowed {
			if c.types&typeNull == 0 {
				return ask
			}
		}
		return s.literal(b, i, typeNull)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.fitsNumber(b, i)
	default:
		return ask
	}
}

func (s *shape) literal(b []byte, i int, t types) int {
	end := numberEnd(b, i)
	if s.types&t == 0 || end == i {
		return ask
	}
	return end
}

func (s *shape) fitsBoolean(b []byte, i int) int {
	which := 0
	if b[i] == 't' {
		which = 1
	}
	for _, c := range s.allowed {
		if !c.bools[which] {
			return ask
		}
	}
	return s.literal(b, i, typeBoolean)
}

func (s *shape) fitsNumber(b []byte, i int) int {
	end := numberEnd(b, i)
	if s.types&(typeNumber|typeInteger) == 0 || end == i || end-i > maxNumberLength {
		return ask
	}
	if s.low == nil && s.high == nil && s.allowed == nil && (s.types&typeNumber != 0 || digitsOnly(b[i:end])) {
		return end
	}
	d, ok := parseDecimal(b[i:end])
	if !ok || s.types&typeNumber == 0 && !d.isInteger() {
		return ask
	}
	if s.low != nil {
		if order := d.compare(s.low.at); order < 0 || order == 0 && s.low.exclusive {
			return ask
		}
	}
	if s.high != nil {
		if order := d.compare(s.high.at); order > 0 || order == 0 && s.high.exclusive {
			return ask
		}
	}
	for _, c := range s.allowed {
		if !slices.Contains(c.numbers, d) {
			return ask
		}
	}
	return end
}

func digitsOnly(number []byte) bool {
	for i, c := range number {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}

func (s *shape) fitsString(b []byte, i int) int {
	end := stringEnd(b, i)
	if end < 0 || s.types&typeString == 0 {
		return ask
	}
	inside := b[i+1 : end-1]
	if s.allowed == nil && s.pattern == nil && len(inside) <= s.maxLength && s.minLength <= 1 {
		if s.minLength == 1 && len(inside) == 0 {
			return ask
		}
		return end
	}
	return s.fitsText(inside, end)
}

// fitsText checks what a string means, and gives end or ask.
func (s *shape) fitsText(inside []byte, end int) int {
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside = []byte(wire.Unescape(inside))
	}
	if s.minLength > 0 || len(inside) > s.maxLength {
		if n := utf8.RuneCount(inside); n < s.minLength || n > s.maxLength {
			return ask
		}
	}
	for _, c := range s.allowed {
		if _, ok := c.strings[string(inside)]; !ok {
			return ask
		}
	}
	if s.pattern != nil && (!s.pattern.isQuick(len(inside)) || !s.pattern.Match(inside)) {
		return ask
	}
	return end
}

func (s *shape) fitsArray(b []byte, i int) int {
	if s.types&typeArray == 0 || s.allowed != nil {
		return ask
	}
	n := 0
	for i = space(b, i+1); i < len(b) && b[i] != ']'; n++ {
		if s.items != nil {
			i = s.items.fits(b, i)
		} else {
			i = valueEnd(b, i)
		}
		if i == ask {
			return ask
		}
		if i = comma(b, i); i == ask {
			return ask
		}
	}
	if i >= len(b) || n < s.minItems || n > s.maxItems {
		return ask
	}
	return i + 1
}

func (s *shape) fitsObject(b []byte, i int) int {
	if s.types&typeObject == 0 || s.allowed != nil {
		return ask
	}
	n, seen := 0, uint64(0)
	for i = space(b, i+1); i < len(b) && b[i] != '}'; n++ {
		end := stringEnd(b, i)
		if b[i] != '"' || end < 0 {
			return ask
		}
		p := s.property(b[i+1 : end-1])
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return ask
		}
		i = space(b, i+1)
		seen |= p.required
		of := p.shape
		if of == nil {
			of = s.additional
		}
		if of != nil {
			i = of.fits(b, i)
		} else {
			i = valueEnd(b, i)
		}
		if i == ask {
			return ask
		}
		if i = comma(b, i); i == ask {
			return ask
		}
	}
	if i >= len(b) || seen != s.required || n < s.minNames || n > s.maxNames {
		return ask
	}
	return i + 1
}

func (s *shape) property(key []byte) property {
	if p, ok := s.properties[string(key)]; ok && bytes.IndexByte(key, '\\') < 0 {
		return p
	}
	if bytes.IndexByte(key, '\\') < 0 {
		return property{}
	}
	return s.properties[wire.Unescape(key)]
}

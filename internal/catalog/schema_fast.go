package catalog

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// fastSchema is a schema that uses common keywords alone, in a form that is
// checked while the arguments are scanned: no value is decoded and nothing is
// allocated. It gives one certain answer, that a value fits. In every other
// case the library is asked, which also lists the violations.
type fastSchema struct {
	types   typeSet
	allowed []*allowedScalars // of enum and of const; a value must be in each
	lower   *bound
	upper   *bound

	minLength, maxLength int
	pattern              *pattern

	items              *fastSchema // nil: any items
	minItems, maxItems int

	properties                   map[string]propertyRule // properties that are named, or only required
	additional                   *fastSchema             // for all other properties; nil: any value
	requiredBits                 uint64                  // the bits of all required properties
	minProperties, maxProperties int

	acceptsAnything bool // no keyword constrains the value
}

// typeSet is a set of JSON types. typeNumber includes integers; typeInteger
// alone excludes fractions.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeNumber
	typeInteger
	typeString
	typeArray
	typeObject
	allTypes = typeNull | typeBoolean | typeNumber | typeString | typeArray | typeObject
)

// propertyRule is what a schema says about one property.
type propertyRule struct {
	schema      *fastSchema // nil: not named under properties
	requiredBit uint64      // its bit in fastSchema.requiredBits; 0 if it is optional
}

// bound is minimum, exclusiveMinimum, maximum or exclusiveMaximum.
type bound struct {
	limit     decimal
	exclusive bool
}

// allowedScalars are the scalars that enum or const allows.
type allowedScalars struct {
	types   typeSet
	strings map[string]struct{}
	numbers []decimal
	bools   [2]bool // false and true
}

// undecided is the result of the match functions for a value that is not known
// to fit. Otherwise they return the index after the value.
const undecided = -1

// acceptsText reports whether the whole text is one value that fits. The caller
// must have checked the text with wire: syntax that does not matter to the
// schema is not checked again here.
func (s *fastSchema) acceptsText(b []byte) bool {
	i := s.matchValue(b, skipSpace(b, 0))
	return i != undecided && skipSpace(b, i) == len(b)
}

// matchValue returns the index after the value that begins at i, or undecided.
func (s *fastSchema) matchValue(b []byte, i int) int {
	if i >= len(b) {
		return undecided
	}
	if s.acceptsAnything {
		return findValueEnd(b, i)
	}
	switch b[i] {
	case '"':
		return s.matchString(b, i)
	case '{':
		return s.matchObject(b, i)
	case '[':
		return s.matchArray(b, i)
	case 't', 'f':
		return s.matchBoolean(b, i)
	case 'n':
		for _, c := range s.allowed {
			if c.types&typeNull == 0 {
				return undecided
			}
		}
		return s.matchLiteral(b, i, typeNull)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.matchNumber(b, i)
	default:
		return undecided
	}
}

// matchLiteral matches null, true or false by its type alone.
func (s *fastSchema) matchLiteral(b []byte, i int, t typeSet) int {
	end := findNumberEnd(b, i)
	if s.types&t == 0 || end == i {
		return undecided
	}
	return end
}

// matchBoolean matches true or false.
func (s *fastSchema) matchBoolean(b []byte, i int) int {
	which := 0
	if b[i] == 't' {
		which = 1
	}
	for _, c := range s.allowed {
		if !c.bools[which] {
			return undecided
		}
	}
	return s.matchLiteral(b, i, typeBoolean)
}

// matchNumber matches a number. It parses the number only if a bound, an enum
// or the type integer requires its value.
func (s *fastSchema) matchNumber(b []byte, i int) int {
	end := findNumberEnd(b, i)
	if s.types&(typeNumber|typeInteger) == 0 || end == i || end-i > maxNumberLength {
		return undecided
	}
	if s.lower == nil && s.upper == nil && s.allowed == nil && (s.types&typeNumber != 0 || isDigitsOnly(b[i:end])) {
		return end
	}
	d, ok := parseDecimal(b[i:end])
	if !ok || s.types&typeNumber == 0 && !d.isInteger() {
		return undecided
	}
	if s.lower != nil {
		if order := d.compareTo(s.lower.limit); order < 0 || order == 0 && s.lower.exclusive {
			return undecided
		}
	}
	if s.upper != nil {
		if order := d.compareTo(s.upper.limit); order > 0 || order == 0 && s.upper.exclusive {
			return undecided
		}
	}
	for _, c := range s.allowed {
		if !slices.Contains(c.numbers, d) {
			return undecided
		}
	}
	return end
}

// isDigitsOnly reports whether a number has neither fraction nor exponent.
func isDigitsOnly(number []byte) bool {
	for i, c := range number {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}

// matchString matches a string. If only small length limits apply, it does not
// decode the string.
func (s *fastSchema) matchString(b []byte, i int) int {
	end := wire.SkipString(b, i)
	if end < 0 || s.types&typeString == 0 {
		return undecided
	}
	inside := b[i+1 : end-1]
	if s.allowed == nil && s.pattern == nil && len(inside) <= s.maxLength && s.minLength <= 1 {
		if s.minLength == 1 && len(inside) == 0 {
			return undecided
		}
		return end
	}
	return s.matchText(inside, end)
}

// matchText checks the decoded text of a string, and returns end or undecided.
func (s *fastSchema) matchText(inside []byte, end int) int {
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside = []byte(wire.Unescape(inside))
	}
	if s.minLength > 0 || len(inside) > s.maxLength {
		if n := utf8.RuneCount(inside); n < s.minLength || n > s.maxLength {
			return undecided
		}
	}
	for _, c := range s.allowed {
		if _, ok := c.strings[string(inside)]; !ok {
			return undecided
		}
	}
	if s.pattern != nil && (!s.pattern.isQuick(len(inside)) || !s.pattern.Match(inside)) {
		return undecided
	}
	return end
}

// matchArray matches an array and its items. Arrays in enum or const are left
// to the library.
func (s *fastSchema) matchArray(b []byte, i int) int {
	if s.types&typeArray == 0 || s.allowed != nil {
		return undecided
	}
	n := 0
	for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; n++ {
		if s.items != nil {
			i = s.items.matchValue(b, i)
		} else {
			i = findValueEnd(b, i)
		}
		if i == undecided {
			return undecided
		}
		if i = skipComma(b, i); i == undecided {
			return undecided
		}
	}
	if i >= len(b) || n < s.minItems || n > s.maxItems {
		return undecided
	}
	return i + 1
}

// matchObject matches an object and its members. A missing required property
// leaves its bit unset.
func (s *fastSchema) matchObject(b []byte, i int) int {
	if s.types&typeObject == 0 || s.allowed != nil {
		return undecided
	}
	n, seen := 0, uint64(0)
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}'; n++ {
		end := wire.SkipString(b, i)
		if b[i] != '"' || end < 0 {
			return undecided
		}
		p := s.findProperty(b[i+1 : end-1])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return undecided
		}
		i = skipSpace(b, i+1)
		seen |= p.requiredBit
		of := p.schema
		if of == nil {
			of = s.additional
		}
		if of != nil {
			i = of.matchValue(b, i)
		} else {
			i = findValueEnd(b, i)
		}
		if i == undecided {
			return undecided
		}
		if i = skipComma(b, i); i == undecided {
			return undecided
		}
	}
	if i >= len(b) || seen != s.requiredBits || n < s.minProperties || n > s.maxProperties {
		return undecided
	}
	return i + 1
}

// findProperty returns the rule of a property by its key as it stands in the
// JSON. Only a key with escapes is decoded.
func (s *fastSchema) findProperty(key []byte) propertyRule {
	if p, ok := s.properties[string(key)]; ok && bytes.IndexByte(key, '\\') < 0 {
		return p
	}
	if bytes.IndexByte(key, '\\') < 0 {
		return propertyRule{}
	}
	return s.properties[wire.Unescape(key)]
}

package catalog

import (
	"encoding/json"
	"math"
	"strings"
)

// newShape makes the shape of a schema that the library has compiled, or nil
// where the schema uses anything beyond the common keywords.
func newShape(doc any) *shape {
	c := shaper{}
	if root, ok := doc.(map[string]any); ok {
		if dialect, named := root["$schema"]; named {
			switch dialect {
			case "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
				"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2019-09/schema#":
			case "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#":
				c.formats = true
			default:
				return nil
			}
		}
	}
	return c.shape(doc, true)
}

type shaper struct {
	formats bool // this dialect asserts formats
}

// shape translates one schema; nil means that it cannot.
func (c *shaper) shape(doc any, root bool) *shape {
	if b, ok := doc.(bool); ok {
		if b {
			return &shape{anything: true}
		}
		return open() // with no type, nothing fits
	}
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	s := open()
	s.types, s.anything = allTypes, true
	for key, value := range obj {
		switch known, constrains := c.keyword(s, key, value, root); {
		case !known:
			return nil
		case constrains:
			s.anything = false
		}
	}
	return s
}

// open is a shape without bounds and without types.
func open() *shape {
	return &shape{maxLength: math.MaxInt, maxItems: math.MaxInt, maxNames: math.MaxInt}
}

// keyword takes one keyword into s, and says whether it is one that we know and
// whether values can fail it.
func (c *shaper) keyword(s *shape, key string, value any, root bool) (known, constrains bool) {
	switch key {
	case "type":
		return s.setTypes(value), true
	case "enum":
		list, ok := value.([]any)
		return ok && s.allow(list), true
	case "const":
		return s.allow([]any{value}), true
	case "minimum", "exclusiveMinimum":
		return setBound(&s.low, value, key != "minimum"), true
	case "maximum", "exclusiveMaximum":
		return setBound(&s.high, value, key != "maximum"), true
	case "minLength":
		return setCount(&s.minLength, value), true
	case "maxLength":
		return setCount(&s.maxLength, value), true
	case "minItems":
		return setCount(&s.minItems, value), true
	case "maxItems":
		return setCount(&s.maxItems, value), true
	case "minProperties":
		return setCount(&s.minNames, value), true
	case "maxProperties":
		return setCount(&s.maxNames, value), true
	case "uniqueItems":
		return value == false, false
	case "pattern":
		return s.setPattern(value), true
	case "items":
		s.items = c.shape(value, false)
		return s.items != nil, true
	case "properties":
		return c.properties(s, value), true
	case "required":
		return s.require(value), true
	case "additionalProperties":
		s.additional = c.shape(value, false)
		return s.additional != nil, true
	case "format":
		return !c.formats, false
	case "$schema":
		return root, false
	}
	return annotates(key), false
}

// annotates says whether a keyword only speaks to people and programs, or holds
// definitions, which nobody can name without a keyword that we do not know.
func annotates(key string) bool {
	switch key {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
		"contentEncoding", "contentMediaType", "contentSchema", "$defs", "definitions", "example", "nullable":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

func (s *shape) setTypes(value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	s.types = 0
	for _, name := range list {
		switch name {
		case "null":
			s.types |= typeNull
		case "boolean":
			s.types |= typeBoolean
		case "number":
			s.types |= typeNumber
		case "integer":
			s.types |= typeInteger
		case "string":
			s.types |= typeString
		case "array":
			s.types |= typeArray
		case "object":
			s.types |= typeObject
		default:
			return false
		}
	}
	return s.types != 0
}

// allow takes a list of scalars.
func (s *shape) allow(list []any) bool {
	c := &constants{strings: map[string]struct{}{}}
	for _, item := range list {
		switch v := item.(type) {
		case nil:
			c.types |= typeNull
		case bool:
			if v {
				c.bools[1] = true
			} else {
				c.bools[0] = true
			}
		case string:
			c.strings[v] = struct{}{}
		case json.Number:
			d, ok := parseDecimal([]byte(v))
			if !ok {
				return false
			}
			c.numbers = append(c.numbers, d)
		default:
			return false
		}
	}
	s.allowed = append(s.allowed, c)
	return true
}

// setBound takes a bound; one that is beside another of the same side is left
// to the library.
func setBound(to **bound, value any, exclusive bool) bool {
	n, ok := value.(json.Number)
	if !ok || *to != nil {
		return false
	}
	d, ok := parseDecimal([]byte(n))
	*to = &bound{at: d, exclusive: exclusive}
	return ok
}

func setCount(to *int, value any) bool {
	n, ok := value.(json.Number)
	if !ok {
		return false
	}
	d, ok := parseDecimal([]byte(n))
	if !ok || d.negative || !d.isInteger() || d.exp > 9 || d.mantissa > math.MaxInt32 {
		return false
	}
	count := int64(d.mantissa)
	for range d.exp {
		count *= 10
	}
	if count > math.MaxInt32 {
		return false
	}
	*to = int(count)
	return true
}

func (s *shape) setPattern(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	var err error
	s.pattern, err = compilePattern(text) // as the library does
	return err == nil
}

func (c *shaper) properties(s *shape, value any) bool {
	obj, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, schema := range obj {
		of := c.shape(schema, false)
		if of == nil {
			return false
		}
		s.setProperty(name, func(p *property) { p.shape = of })
	}
	return true
}

func (s *shape) require(value any) bool {
	list, ok := value.([]any)
	if !ok || len(list) > 64 {
		return false
	}
	for i, item := range list {
		name, ok := item.(string)
		if !ok {
			return false
		}
		bit := uint64(1) << i
		s.setProperty(name, func(p *property) { p.required |= bit })
		s.required |= bit
	}
	return true
}

func (s *shape) setProperty(name string, edit func(*property)) {
	if s.properties == nil {
		s.properties = map[string]property{}
	}
	p := s.properties[name]
	edit(&p)
	s.properties[name] = p
}

package catalog

import (
	"encoding/json"
	"math"
	"strings"
)

// newFastSchema translates a schema that the library has compiled. It returns
// nil if the schema uses anything beyond the common keywords, or a dialect in
// which they mean something else.
func newFastSchema(doc any) *fastSchema {
	c := fastSchemaCompiler{}
	if root, ok := doc.(map[string]any); ok {
		if dialect, named := root["$schema"]; named {
			switch dialect {
			case "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
				"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2019-09/schema#":
			case "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#":
				c.assertsFormats = true
			default:
				return nil
			}
		}
	}
	return c.translateSchema(doc, true)
}

// fastSchemaCompiler translates the schemas of one document.
type fastSchemaCompiler struct {
	assertsFormats bool // the dialect (draft-07) makes format an assertion
}

// translateSchema translates one schema; nil if it cannot. root is true for the
// document itself, where $schema is allowed.
func (c *fastSchemaCompiler) translateSchema(doc any, root bool) *fastSchema {
	if b, ok := doc.(bool); ok {
		if b {
			return &fastSchema{acceptsAnything: true}
		}
		return newUnboundedSchema() // without a type, nothing fits
	}
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	s := newUnboundedSchema()
	s.types, s.acceptsAnything = allTypes, true
	for key, value := range obj {
		switch known, constrains := c.translateKeyword(s, key, value, root); {
		case !known:
			return nil
		case constrains:
			s.acceptsAnything = false
		}
	}
	return s
}

// newUnboundedSchema returns a schema without limits and without types: the
// caller adds types.
func newUnboundedSchema() *fastSchema {
	return &fastSchema{maxLength: math.MaxInt, maxItems: math.MaxInt, maxProperties: math.MaxInt}
}

// translateKeyword adds one keyword to s. known is false for a keyword that
// only the library supports; constrains says whether a value can fail it.
func (c *fastSchemaCompiler) translateKeyword(s *fastSchema, key string, value any, root bool) (known, constrains bool) {
	switch key {
	case "type":
		return s.setTypes(value), true
	case "enum":
		list, ok := value.([]any)
		return ok && s.allowScalars(list), true
	case "const":
		return s.allowScalars([]any{value}), true
	case "minimum", "exclusiveMinimum":
		return setBound(&s.lower, value, key != "minimum"), true
	case "maximum", "exclusiveMaximum":
		return setBound(&s.upper, value, key != "maximum"), true
	case "minLength":
		return setCount(&s.minLength, value), true
	case "maxLength":
		return setCount(&s.maxLength, value), true
	case "minItems":
		return setCount(&s.minItems, value), true
	case "maxItems":
		return setCount(&s.maxItems, value), true
	case "minProperties":
		return setCount(&s.minProperties, value), true
	case "maxProperties":
		return setCount(&s.maxProperties, value), true
	case "uniqueItems":
		return value == false, false
	case "pattern":
		return s.setPattern(value), true
	case "items":
		s.items = c.translateSchema(value, false)
		return s.items != nil, true
	case "properties":
		return c.translateProperties(s, value), true
	case "required":
		return s.setRequired(value), true
	case "additionalProperties":
		s.additional = c.translateSchema(value, false)
		return s.additional != nil, true
	case "format":
		return !c.assertsFormats, false
	case "$schema":
		return root, false
	}
	return isAnnotation(key), false
}

// isAnnotation reports whether a keyword never fails a value: it documents, or
// it holds definitions. Definitions are harmless because every keyword that
// refers to them is unknown here.
func isAnnotation(key string) bool {
	switch key {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
		"contentEncoding", "contentMediaType", "contentSchema", "$defs", "definitions", "example", "nullable":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

// setTypes takes the keyword type; false if it names an unknown type.
func (s *fastSchema) setTypes(value any) bool {
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

// allowScalars takes the values of enum or const; false if one is an array or
// an object.
func (s *fastSchema) allowScalars(list []any) bool {
	c := &allowedScalars{strings: map[string]struct{}{}}
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

// setBound takes a bound. Two bounds of the same side, such as minimum beside
// exclusiveMinimum, are left to the library.
func setBound(to **bound, value any, exclusive bool) bool {
	n, ok := value.(json.Number)
	if !ok || *to != nil {
		return false
	}
	d, ok := parseDecimal([]byte(n))
	*to = &bound{limit: d, exclusive: exclusive}
	return ok
}

// setCount takes a length limit; false if it is not a number that an int32
// holds.
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

// setPattern compiles a pattern with the engine that the library uses too.
func (s *fastSchema) setPattern(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	var err error
	s.pattern, err = compilePattern(text)
	return err == nil
}

// translateProperties takes the keyword properties; false if one of its schemas
// cannot be translated.
func (c *fastSchemaCompiler) translateProperties(s *fastSchema, value any) bool {
	obj, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, schema := range obj {
		of := c.translateSchema(schema, false)
		if of == nil {
			return false
		}
		s.setProperty(name, func(p *propertyRule) { p.schema = of })
	}
	return true
}

// setRequired takes the keyword required. More than 64 names do not fit into
// the bits and are left to the library.
func (s *fastSchema) setRequired(value any) bool {
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
		s.setProperty(name, func(p *propertyRule) { p.requiredBit |= bit })
		s.requiredBits |= bit
	}
	return true
}

// setProperty changes the rule of one property: properties and required may
// name it in either order.
func (s *fastSchema) setProperty(name string, edit func(*propertyRule)) {
	if s.properties == nil {
		s.properties = map[string]propertyRule{}
	}
	p := s.properties[name]
	edit(&p)
	s.properties[name] = p
}

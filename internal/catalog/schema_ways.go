package catalog

import (
	"iter"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// innerValue is a value inside of another, and a subschema that it has to fit.
type innerValue struct {
	name   string
	value  any
	schema *jsonschema.Schema // nil: additionalProperties or additionalItems forbids it
	regexp *pattern           // of patternProperties: it may not match the name
	only   string             // contains, propertyNames and unevaluated are judged in another way
}

// dynamicTarget is where $dynamicRef leads: newSchemaGraph has refused schemas
// in which that depends on more than the reference.
func (c *compiled) dynamicTarget(s *jsonschema.Schema) *jsonschema.Schema {
	to := s.DynamicRef.Ref
	if s.DynamicRef.Anchor == "meta" && to.DynamicAnchor == "meta" && strings.HasPrefix(to.Location, dialect2020) && c.meta2020 != nil {
		return c.meta2020
	}
	return to
}

// recursiveTarget is where $recursiveRef leads.
func (c *compiled) recursiveTarget(s *jsonschema.Schema) *jsonschema.Schema {
	to := s.RecursiveRef
	switch {
	case !to.RecursiveAnchor:
		return to
	case c.full.RecursiveAnchor:
		return c.full
	case strings.HasPrefix(to.Location, dialect2019) && c.meta2019 != nil:
		return c.meta2019
	}
	return to
}

const (
	dialect2019 = "https://json-schema.org/draft/2019-09/"
	dialect2020 = "https://json-schema.org/draft/2020-12/"
)

// forSameValue gives the subschemas that may be asked about the same value.
func (c *compiled) forSameValue(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		if s.Ref != nil && !yield(s.Ref) {
			return
		}
		if s.DynamicRef != nil && !yield(c.dynamicTarget(s)) {
			return
		}
		if s.RecursiveRef != nil && !yield(c.recursiveTarget(s)) {
			return
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Then, s.Else}} {
			for _, one := range list {
				if one != nil && !yield(one) {
					return
				}
			}
		}
		for _, one := range s.DependentSchemas {
			if !yield(one) {
				return
			}
		}
		for _, one := range s.Dependencies {
			if one, ok := one.(*jsonschema.Schema); ok && !yield(one) {
				return
			}
		}
	}
}

// forInnerValues gives the values inside of v with the subschemas that they
// have to fit. match says whether a name fits a pattern; without it every name
// fits, and what other properties would be judged by is given too.
func (c *compiled) forInnerValues(s *jsonschema.Schema, v any, match func(*pattern, string) bool) iter.Seq[innerValue] {
	return func(yield func(innerValue) bool) {
		if innerCount(s, v) == 0 {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				if !c.forProperty(s, name, value, match, yield) {
					return
				}
			}
		case []any:
			for i, value := range v {
				if !forItem(s, i, value, yield) {
					return
				}
			}
		}
	}
}

// innerCount is how many inner values a subschema looks at: none where it has no
// keyword for them.
func innerCount(s *jsonschema.Schema, v any) int {
	switch v := v.(type) {
	case map[string]any:
		if len(s.Properties) > 0 || len(s.PatternProperties) > 0 || s.AdditionalProperties != nil || s.PropertyNames != nil || s.UnevaluatedProperties != nil {
			return len(v)
		}
	case []any:
		if s.Items != nil || len(s.PrefixItems) > 0 || s.Items2020 != nil || s.Contains != nil || s.UnevaluatedItems != nil {
			return len(v)
		}
	}
	return 0
}

func (c *compiled) forProperty(s *jsonschema.Schema, name string, value any, match func(*pattern, string) bool, yield func(innerValue) bool) bool {
	named := false
	if one, ok := s.Properties[name]; ok {
		named = true
		if !yield(innerValue{name: name, value: value, schema: one}) {
			return false
		}
	}
	for re, one := range s.PatternProperties {
		p, _ := re.(*pattern)
		if match != nil && !match(p, name) {
			continue
		}
		named = true
		if !yield(innerValue{name: name, value: value, schema: one, regexp: p}) {
			return false
		}
	}
	if !named || match == nil {
		switch one := s.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			if !yield(innerValue{name: name, value: value, schema: one}) {
				return false
			}
		case bool:
			if !one && match != nil && !yield(innerValue{name: name, value: value, only: "additionalProperties"}) {
				return false
			}
		}
	}
	if s.PropertyNames != nil && !yield(innerValue{name: name, value: name, schema: s.PropertyNames, only: "propertyNames"}) {
		return false
	}
	return s.UnevaluatedProperties == nil || yield(innerValue{name: name, value: value, schema: s.UnevaluatedProperties, only: "unevaluated"})
}

func forItem(s *jsonschema.Schema, i int, value any, yield func(innerValue) bool) bool {
	name := strconv.Itoa(i)
	one := innerValue{name: name, value: value}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		one.schema = items
	case []*jsonschema.Schema:
		if i < len(items) {
			one.schema = items[i]
			break
		}
		switch rest := s.AdditionalItems.(type) {
		case *jsonschema.Schema:
			one.schema = rest
		case bool:
			if !rest {
				one.only = "additionalItems"
			}
		}
	case nil:
		if i < len(s.PrefixItems) {
			one.schema = s.PrefixItems[i]
		} else {
			one.schema = s.Items2020
		}
	}
	if (one.schema != nil || one.only != "") && !yield(one) {
		return false
	}
	if s.Contains != nil && !yield(innerValue{name: name, value: value, schema: s.Contains, only: "contains"}) {
		return false
	}
	return s.UnevaluatedItems == nil || yield(innerValue{name: name, value: value, schema: s.UnevaluatedItems, only: "unevaluated"})
}

package catalog

import (
	"iter"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// innerValue is a member or an item of a value, with a subschema that it has to
// fit.
type innerValue struct {
	name        string
	value       any
	schema      *jsonschema.Schema // nil: additionalProperties or additionalItems forbids it
	namePattern *pattern           // of patternProperties; if match was nil, it may not match the name
	keyword     string             // set for keywords that callers treat in their own way: contains, propertyNames, unevaluated, additionalProperties, additionalItems
}

// dynamicTarget returns the target of $dynamicRef. newSchemaGraph has refused
// schemas in which it depends on more than the reference itself.
func (c *compiledSchema) dynamicTarget(s *jsonschema.Schema) *jsonschema.Schema {
	to := s.DynamicRef.Ref
	if s.DynamicRef.Anchor == "meta" && to.DynamicAnchor == "meta" && strings.HasPrefix(to.Location, dialect2020) && c.meta2020 != nil {
		return c.meta2020
	}
	return to
}

// recursiveTarget returns the target of $recursiveRef.
func (c *compiledSchema) recursiveTarget(s *jsonschema.Schema) *jsonschema.Schema {
	to := s.RecursiveRef
	switch {
	case !to.RecursiveAnchor:
		return to
	case c.library.RecursiveAnchor:
		return c.library
	case strings.HasPrefix(to.Location, dialect2019) && c.meta2019 != nil:
		return c.meta2019
	}
	return to
}

// Locations of the dialects whose meta-schemas refer to themselves dynamically.
const (
	dialect2019 = "https://json-schema.org/draft/2019-09/"
	dialect2020 = "https://json-schema.org/draft/2020-12/"
)

// subschemasForSameValue yields the subschemas that may be checked for the same
// value: references, combinators and dependent schemas.
func (c *compiledSchema) subschemasForSameValue(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
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

// innerValues yields the members or items of v with the subschemas that they
// have to fit. match reports whether a name matches a pattern. If match is nil,
// every name counts as a match and additional properties are yielded too, which
// is right for an upper bound on steps.
func (c *compiledSchema) innerValues(s *jsonschema.Schema, v any, match func(*pattern, string) bool) iter.Seq[innerValue] {
	return func(yield func(innerValue) bool) {
		if countInnerValues(s, v) == 0 {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				if !c.yieldProperty(s, name, value, match, yield) {
					return
				}
			}
		case []any:
			for i, value := range v {
				if !yieldItem(s, i, value, yield) {
					return
				}
			}
		}
	}
}

// countInnerValues returns how many inner values a subschema looks at; 0 if it
// has no keyword for them.
func countInnerValues(s *jsonschema.Schema, v any) int {
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

// yieldProperty yields one member of an object with each subschema that applies
// to it. It returns false if the iteration is to end.
func (c *compiledSchema) yieldProperty(s *jsonschema.Schema, name string, value any, match func(*pattern, string) bool, yield func(innerValue) bool) bool {
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
		if !yield(innerValue{name: name, value: value, schema: one, namePattern: p}) {
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
			if !one && match != nil && !yield(innerValue{name: name, value: value, keyword: "additionalProperties"}) {
				return false
			}
		}
	}
	if s.PropertyNames != nil && !yield(innerValue{name: name, value: name, schema: s.PropertyNames, keyword: "propertyNames"}) {
		return false
	}
	return s.UnevaluatedProperties == nil || yield(innerValue{name: name, value: value, schema: s.UnevaluatedProperties, keyword: "unevaluated"})
}

// yieldItem yields one item of an array with each subschema that applies to it.
// It returns false if the iteration is to end. The keyword items has another
// form in each draft.
func yieldItem(s *jsonschema.Schema, i int, value any, yield func(innerValue) bool) bool {
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
				one.keyword = "additionalItems"
			}
		}
	case nil:
		if i < len(s.PrefixItems) {
			one.schema = s.PrefixItems[i]
		} else {
			one.schema = s.Items2020
		}
	}
	if (one.schema != nil || one.keyword != "") && !yield(one) {
		return false
	}
	if s.Contains != nil && !yield(innerValue{name: name, value: value, schema: s.Contains, keyword: "contains"}) {
		return false
	}
	return s.UnevaluatedItems == nil || yield(innerValue{name: name, value: value, schema: s.UnevaluatedItems, keyword: "unevaluated"})
}

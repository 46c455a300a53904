package tool

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// mergeSchemas returns a schema for values that satisfy both a and b. If one
// schema cannot express that, the result accepts more than both, never less: a
// valid call must never be refused. It does not change a and b.
func (c *compiler) mergeSchemas(a, b schema) schema {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	if a["$ref"] != nil || b["$ref"] != nil {
		return c.mergeRef(a, b)
	}
	c.meter.Spend(1 + (len(a)+len(b))/4)
	out := maps.Clone(a)
	for _, key := range slices.Sorted(maps.Keys(b)) {
		had, ok := out[key]
		if !ok {
			out[key] = b[key]
			continue
		}
		switch key {
		case "type":
			if both := intersectNames(typesOf(had), typesOf(b[key])); len(both) > 0 {
				out[key] = singleOrList(both)
			} else {
				// No value has both types, so one of them must be wrong.
				delete(out, key)
			}
		case "properties", "patternProperties":
			out[key] = c.mergeProperties(had.(schema), b[key].(schema))
		case "required":
			list := slices.Concat(requiredNames(a), requiredNames(b))
			slices.Sort(list)
			out[key] = slices.Compact(list)
		case "items", "propertyNames", "contains":
			if x, ok := had.(schema); ok {
				if y, ok := b[key].(schema); ok {
					out[key] = c.mergeSchemas(x, y)
				}
			}
		case "enum":
			if both := intersectValues(had.([]any), b[key].([]any)); len(both) > 0 {
				out[key] = both
			}
		case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
			out[key] = stricterLimit(had, b[key], true)
		case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
			out[key] = stricterLimit(had, b[key], false)
		case "anyOf", "oneOf":
			// Two choices would need their product. One of them is joined
			// instead, without its types and requirements.
			open := c.joinBranches(b[key].([]any))
			delete(open, "type")
			delete(open, "required")
			out = c.mergeSchemas(out, open)
		case "additionalProperties":
			if had == false || b[key] == false {
				out[key] = false
			}
		}
	}
	return out
}

// mergeRef merges a reference with another schema. The reference wins, unless
// the other one has properties: a definition cannot be extended in place.
func (c *compiler) mergeRef(a, b schema) schema {
	ref, other := a, b
	if ref["$ref"] == nil {
		ref, other = b, a
	}
	out := schema{"$ref": ref["$ref"]}
	for _, from := range []schema{other, ref} {
		if d, ok := from["description"]; ok && out["description"] == nil {
			out["description"] = d
		}
	}
	if other["properties"] == nil && other["$ref"] == nil {
		return out
	}
	// The other schema has properties beside a cycle. They are shown, and the
	// cycle is not.
	c.truncated = true
	if other["$ref"] != nil {
		return out
	}
	return other
}

// mergeProperties merges the properties of two objects that both apply.
func (c *compiler) mergeProperties(a, b schema) schema {
	c.meter.Spend(1 + (len(a)+len(b))/2)
	out := maps.Clone(a)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		x, isSchema := out[name].(schema)
		y, too := b[name].(schema)
		if isSchema && too {
			out[name] = c.mergeSchemas(x, y)
		} else {
			out[name] = b[name]
		}
	}
	return out
}

// addChoice merges an anyOf or oneOf into out, in the simplest form: a nullable
// type, one enum or a single schema, if the choice comes to that. Equal
// branches are kept once.
func (c *compiler) addChoice(out schema, list *doc.Node, depth int) schema {
	var branches []any
	var null bool
	alike := map[string][]schema{}
	for _, one := range list.Items {
		s := c.compileNode(one, depth)
		if len(s) == 1 && s["type"] == "null" {
			null = true
			continue
		}
		if !c.forAnswer {
			// Equal schemas have equal JSON, which finds them faster than
			// comparing all pairs.
			key := string(encodeJSON(s))
			if slices.ContainsFunc(alike[key], func(b schema) bool { return reflect.DeepEqual(b, s) }) {
				continue
			}
			alike[key] = append(alike[key], s)
		}
		branches = append(branches, s)
	}
	if c.forAnswer {
		return c.mergeSchemas(out, c.joinAnswerBranches(branches, null))
	}
	switch {
	case len(branches) == 0:
		return out
	case len(branches) == 1 && !null:
		return c.mergeSchemas(out, branches[0].(schema))
	case len(branches) == 1:
		if s := branches[0].(schema); s["type"] != nil && s["$ref"] == nil {
			return c.mergeSchemas(out, allowNull(s))
		}
	}
	if enum := joinEnums(branches); enum != nil {
		s := schema{"type": "string", "enum": enum}
		if null {
			s = allowNull(s)
		}
		return c.mergeSchemas(out, s)
	}
	if c.joinObjects && areAllObjects(branches) {
		c.truncated = true
		s := c.joinBranches(branches)
		if null {
			s = allowNull(s)
		}
		return c.mergeSchemas(out, s)
	}
	if null {
		branches = append(branches, schema{"type": "null"})
	}
	// anyOf alone: with branches that overlap, which real ones do, oneOf refuses
	// what the API takes.
	return c.mergeSchemas(out, schema{"anyOf": branches})
}

// areAllObjects reports whether all branches are objects with properties.
func areAllObjects(branches []any) bool {
	return !slices.ContainsFunc(branches, func(b any) bool { return b.(schema)["type"] != "object" || b.(schema)["properties"] == nil })
}

// allowNull returns a copy of a schema that also accepts null.
func allowNull(s schema) schema {
	s = maps.Clone(s)
	list := typesOf(s["type"])
	if !slices.Contains(list, "null") {
		list = append(list, "null")
	}
	s["type"] = singleOrList(list)
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, nil) {
		s["enum"] = append(slices.Clone(enum), nil)
	}
	return s
}

// joinEnums returns the one enum that branches of string enums come to. It
// returns nil if a branch is something else, or there are too many values.
func joinEnums(branches []any) (all []any) {
	for _, b := range branches {
		s := b.(schema)
		enum, ok := s["enum"].([]any)
		if !ok || s["type"] != "string" && s["type"] != nil {
			return nil
		}
		for _, v := range enum {
			if _, isText := v.(string); !isText {
				return nil
			}
			if !slices.Contains(all, v) {
				if all = append(all, v); len(all) > 100 {
					return nil
				}
			}
		}
	}
	return all
}

// joinBranches returns one schema for a choice between branches: it has the
// properties of all, and requires what all of them require.
func (c *compiler) joinBranches(branches []any) schema {
	out := schema{}
	properties := schema{}
	// all are the names that every branch requires.
	var all []string
	var types []string
	for i, b := range branches {
		s, ok := b.(schema)
		if !ok {
			continue
		}
		if i == 0 {
			all = requiredNames(s)
		} else {
			all = intersectNames(all, requiredNames(s))
		}
		types = append(types, typesOf(s["type"])...)
		if p, ok := s["properties"].(schema); ok {
			c.joinProperties(properties, p)
			out["properties"] = properties
		}
		if out["items"] == nil && s["items"] != nil {
			out["items"] = s["items"]
		}
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) > 0 {
		out["type"] = singleOrList(types)
	}
	if len(all) > 0 {
		out["required"] = all
	}
	return out
}

// joinProperties adds the properties of b to out. A property of both accepts
// either form.
func (c *compiler) joinProperties(out, b schema) {
	c.meter.Spend(1 + len(b))
	for name, y := range b {
		x, had := out[name]
		if !had || reflect.DeepEqual(x, y) {
			out[name] = y
			continue
		}
		s, t := x.(schema), y.(schema)
		if enum := joinEnums([]any{s, t}); enum != nil {
			joined := schema{"type": "string", "enum": enum}
			if s["description"] != nil {
				joined["description"] = s["description"]
			}
			out[name] = joined
			continue
		}
		// The two forms have different types: any value is accepted.
		joined := schema{}
		if k := intersectNames(typesOf(s["type"]), typesOf(t["type"])); len(k) > 0 && len(k) == len(typesOf(s["type"])) && len(k) == len(typesOf(t["type"])) {
			joined["type"] = s["type"]
			if k[0] == "array" {
				joined["items"] = schema{}
			}
		}
		if s["description"] != nil {
			joined["description"] = s["description"]
		}
		out[name] = joined
	}
}

// joinAnswerBranches is joinBranches for answers. Nothing is required, and a
// branch without a type accepts any type.
func (c *compiler) joinAnswerBranches(branches []any, null bool) schema {
	out := c.joinBranches(branches)
	delete(out, "required")
	if len(branches) > 1 {
		for _, b := range branches {
			if s, ok := b.(schema); !ok || s["type"] == nil {
				// A branch without a type accepts any type.
				delete(out, "type")
			}
		}
	}
	if out["type"] != nil && null {
		out = allowNull(out)
	}
	return out
}

// completeRequired adds an empty schema for each required name that has no
// property, here and in all schemas inside. Some clients reject a schema that
// requires an unknown property. It changes and returns s.
func completeRequired(s schema) schema {
	completeBranch(s, nil)
	return s
}

// completeBranch is completeRequired for a branch of an anyOf. outer are the
// properties beside the anyOf, which the branch may require.
func completeBranch(s, outer schema) {
	props, _ := s["properties"].(schema)
	if names := requiredNames(s); len(names) > 0 {
		if props == nil && s["type"] == "object" && outer == nil {
			props = schema{}
			s["properties"] = props
		}
		for _, name := range names {
			_, here := props[name]
			_, there := outer[name]
			if !here && !there && props != nil {
				props[name] = schema{}
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not", "contains"} {
		if sub, ok := s[key].(schema); ok {
			completeBranch(sub, nil)
		}
	}
	for _, p := range props {
		if sub, ok := p.(schema); ok {
			completeBranch(sub, nil)
		}
	}
	var all schema
	for _, key := range []string{"anyOf", "prefixItems"} {
		list, _ := s[key].([]any)
		for _, one := range list {
			if sub, ok := one.(schema); ok && key == "anyOf" {
				// All branches are beside the same properties, so the map is
				// built once.
				if all == nil {
					all = schema{}
					maps.Copy(all, outer)
					maps.Copy(all, props)
				}
				completeBranch(sub, all)
			} else if ok {
				completeBranch(sub, nil)
			}
		}
	}
}

// typesOf returns the types that the type keyword names, as a list.
func typesOf(t any) []string {
	switch t := t.(type) {
	case string:
		return []string{t}
	case []any:
		list := make([]string, 0, len(t))
		for _, one := range t {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

// singleOrList returns the value of a type keyword: a string, or a list of
// several.
func singleOrList(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return toAnySlice(list)
}

// intersectNames returns the names that both lists have. The types number and
// integer have integer in common.
func intersectNames(a, b []string) (both []string) {
	for _, s := range a {
		switch {
		case slices.Contains(b, s):
			both = append(both, s)
		case s == "number" && slices.Contains(b, "integer"), s == "integer" && slices.Contains(b, "number"):
			both = append(both, "integer")
		}
	}
	return both
}

// intersectValues returns the values that both enums have.
func intersectValues(a, b []any) (both []any) {
	for _, v := range a {
		if slices.ContainsFunc(b, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			both = append(both, v)
		}
	}
	return both
}

// stricterLimit returns the stricter of two limits: the larger minimum or the
// smaller maximum.
func stricterLimit(a, b any, larger bool) any {
	x, _ := strconv.ParseFloat(string(a.(json.Number)), 64)
	y, _ := strconv.ParseFloat(string(b.(json.Number)), 64)
	if (x > y) == larger {
		return a
	}
	return b
}

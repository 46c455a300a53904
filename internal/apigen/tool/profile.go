package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// maxCycleRepeats is how often a cycle is followed for clients without $defs.
const maxCycleRepeats = 3

// ApplyProfile returns a canonical schema in the form that clients of a profile
// accept. The result depends on the arguments only, so that callers can cache
// it by digest. A schema that cannot be decoded is returned unchanged.
func ApplyProfile(p junctor.Profile, canonical json.RawMessage) json.RawMessage {
	if p == junctor.ProfileNone || p == junctor.ProfileClaude || len(canonical) == 0 {
		return canonical
	}
	var root schema
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		return canonical
	}
	switch p {
	case junctor.ProfileStrict:
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	case junctor.ProfileNoDefs:
		root = inlineDefs(root)
	case junctor.ProfileOpenAI:
		root = openAISchema(joinChoices(root))
	case junctor.ProfileGemini:
		root = geminiSchema(joinChoices(inlineDefs(root)))
	case junctor.ProfileNone, junctor.ProfileClaude:
	}
	return encodeJSON(root)
}

// mapSubschemas returns a copy of a schema with f applied to every schema
// directly inside it.
func mapSubschemas(s schema, f func(schema) schema) schema {
	out := maps.Clone(s)
	for key, v := range s {
		switch key {
		case "properties", "patternProperties", "$defs", "dependentSchemas":
			if all, ok := v.(schema); ok {
				named := make(schema, len(all))
				for name, one := range all {
					named[name] = one
					if sub, ok := one.(schema); ok {
						named[name] = f(sub)
					}
				}
				out[key] = named
			}
		case "items", "additionalProperties", "not", "contains", "propertyNames":
			if sub, ok := v.(schema); ok {
				out[key] = f(sub)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			if list, ok := v.([]any); ok {
				all := make([]any, len(list))
				for i, one := range list {
					all[i] = one
					if sub, ok := one.(schema); ok {
						all[i] = f(sub)
					}
				}
				out[key] = all
			}
		}
	}
	return out
}

// inlineDefs replaces references by their definitions. A cycle is followed a
// few times and then cut; the bounds keep several cycles from multiplying.
func inlineDefs(root schema) schema {
	defs, _ := root["$defs"].(schema)
	if len(defs) == 0 {
		return root
	}
	nodes := 0
	var walk func(s schema, inside []string) schema
	walk = func(s schema, inside []string) schema {
		ref, ok := s["$ref"].(string)
		if !ok {
			return mapSubschemas(s, func(sub schema) schema { return walk(sub, inside) })
		}
		name := strings.TrimPrefix(ref, "#/$defs/")
		def, _ := defs[name].(schema)
		count := 0
		for _, one := range inside {
			if one == name {
				count++
			}
		}
		nodes++
		var out schema
		// The number of nodes bounds definitions that contain several cycles
		// each.
		if count >= maxCycleRepeats || len(inside) > 2*maxCycleRepeats || nodes > 200 {
			out = typesOnly(def)
		} else {
			out = walk(def, append(slices.Clone(inside), name))
		}
		if text, ok := s["description"]; ok {
			out["description"] = text
		}
		return out
	}
	rest := maps.Clone(root)
	delete(rest, "$defs")
	return walk(rest, nil)
}

// joinChoices replaces each choice between objects by one object with the
// properties of all, and each choice with null by a nullable schema.
func joinChoices(s schema) schema {
	s = mapSubschemas(s, joinChoices)
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := s[key].([]any)
		if !ok {
			continue
		}
		list = slices.Clone(list)
		null := false
		list = slices.DeleteFunc(list, func(b any) bool {
			sub, _ := b.(schema)
			isNull := sub["type"] == "null"
			null = null || isNull
			return isNull
		})
		if len(list) < 2 || areAllObjects(list) {
			c := compiler{}
			rest := maps.Clone(s)
			delete(rest, key)
			one := c.joinBranches(list)
			if len(list) == 1 {
				one = list[0].(schema)
			}
			if null && one["type"] != nil {
				one = allowNull(one)
			}
			s = c.mergeSchemas(rest, one)
		}
	}
	return s
}

// openAISchema returns a schema for OpenAI's strict mode: every property is
// required, optional ones may be null, and unsupported keywords are removed.
// Take undoes the nulls.
func openAISchema(s schema) schema {
	s = mapSubschemas(s, openAISchema)
	// Strict mode refuses a schema with any of these keywords.
	for _, key := range []string{"default", "patternProperties", "propertyNames", "not", "contains", "minContains", "maxContains", "uniqueItems", "minProperties", "maxProperties", "prefixItems", "contentEncoding", "contentMediaType", "deprecated"} {
		delete(s, key)
	}
	if f, ok := s["format"].(string); ok && !slices.Contains([]string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}, f) {
		delete(s, "format")
	}
	if !slices.Contains(typesOf(s["type"]), "object") {
		if slices.Contains(typesOf(s["type"]), "array") && s["items"] == nil {
			s["items"] = schema{}
		}
		return s
	}
	props, _ := s["properties"].(schema)
	if props == nil {
		props = schema{}
	}
	must := requiredNames(s)
	for name, p := range props {
		sub, ok := p.(schema)
		if !ok || slices.Contains(must, name) {
			continue
		}
		switch {
		// A reference cannot carry a type beside it.
		case sub["$ref"] != nil:
			props[name] = schema{"anyOf": []any{sub, schema{"type": "null"}}}
		case sub["type"] != nil:
			props[name] = allowNull(sub)
		case sub["anyOf"] != nil:
			props[name] = allowNullChoice(sub)
		}
	}
	s["properties"] = props
	s["required"] = slices.Sorted(maps.Keys(props))
	s["additionalProperties"] = false
	return s
}

// allowNullChoice adds null to an anyOf that does not have it.
func allowNullChoice(s schema) schema {
	list, ok := s["anyOf"].([]any)
	if !ok || slices.ContainsFunc(list, func(b any) bool {
		sub, _ := b.(schema)
		return slices.Contains(typesOf(sub["type"]), "null")
	}) {
		return s
	}
	out := maps.Clone(s)
	out["anyOf"] = append(slices.Clone(list), schema{"type": "null"})
	return out
}

// requiredNames returns the required names of a schema, compiled here
// ([]string) or decoded from JSON ([]any).
func requiredNames(s schema) []string {
	if list, ok := s["required"].([]string); ok {
		return list
	}
	return typesOf(s["required"])
}

// geminiSchema keeps the keywords that Gemini accepts, and expresses null as
// nullable.
func geminiSchema(s schema) schema {
	s = mapSubschemas(s, geminiSchema)
	out := schema{}
	for key, v := range s {
		switch key {
		case "description", "properties", "items", "enum", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern", "anyOf", "minProperties", "maxProperties":
			out[key] = v
		case "required":
			if len(requiredNames(s)) > 0 {
				out[key] = requiredNames(s)
			}
		case "format":
			if v == "date-time" || v == "enum" {
				out[key] = v
			}
		}
	}
	if low, ok := s["exclusiveMinimum"]; ok && out["minimum"] == nil {
		out["minimum"] = low
	}
	if high, ok := s["exclusiveMaximum"]; ok && out["maximum"] == nil {
		out["maximum"] = high
	}
	types := typesOf(s["type"])
	plain := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	if len(plain) < len(types) {
		out["nullable"] = true
	}
	if len(plain) > 0 {
		out["type"] = plain[0]
	}
	return fixGeminiTypes(out)
}

// fixGeminiTypes gives each value exactly one type, and the keywords that
// Gemini requires with it. Enums are strings only. It changes and returns s.
func fixGeminiTypes(s schema) schema {
	if enum, ok := s["enum"].([]any); ok {
		all := make([]any, 0, len(enum))
		for _, v := range enum {
			if text, ok := v.(string); ok && text != "" {
				all = append(all, text)
			}
		}
		if s["enum"] = all; len(all) == 0 || s["type"] != "string" && s["type"] != nil {
			// Gemini accepts enums of strings only.
			delete(s, "enum")
		}
	}
	if s["type"] == nil && s["anyOf"] == nil {
		switch {
		case s["properties"] != nil:
			s["type"] = "object"
		case s["items"] != nil:
			s["type"] = "array"
		default:
			s["type"] = "string"
		}
	}
	if s["type"] == "array" && s["items"] == nil {
		s["items"] = schema{"type": "string"}
	}
	if s["type"] != "object" {
		delete(s, "properties")
		delete(s, "required")
		return s
	}
	// Gemini refuses to require a property that does not exist.
	if props, ok := s["properties"].(schema); ok {
		names := slices.DeleteFunc(slices.Clone(requiredNames(s)), func(n string) bool { _, ok := props[n]; return !ok })
		if s["required"] = names; len(names) == 0 {
			delete(s, "required")
		}
	} else {
		delete(s, "required")
	}
	return s
}

package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// maxCycleRepeats is how often a cycle is followed where there are no $defs.
const maxCycleRepeats = 3

// Apply gives a canonical schema as the clients of a profile take it. It depends
// on nothing but its arguments, so that what it gives can be kept by digest.
func Apply(p junctor.Profile, canonical json.RawMessage) json.RawMessage {
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

// mapSubschemas gives a schema with f applied to every schema directly inside it.
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

// inlineDefs puts definitions in place of their references, each a few times.
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

// joinChoices makes one object of those of which one has to be given.
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

// openAISchema requires every property, and lets those that were optional be null.
func openAISchema(s schema) schema {
	s = mapSubschemas(s, openAISchema)
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

// allowNullChoice lets null be one of several.
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

// requiredNames are the names that a schema requires, whether it was made or read.
func requiredNames(s schema) []string {
	if list, ok := s["required"].([]string); ok {
		return list
	}
	return typesOf(s["required"])
}

// geminiSchema keeps the few keywords that are taken.
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

// fixGeminiTypes sees to it that each value has one kind and what that wants.
func fixGeminiTypes(s schema) schema {
	if enum, ok := s["enum"].([]any); ok {
		all := make([]any, 0, len(enum))
		for _, v := range enum {
			if text, ok := v.(string); ok && text != "" {
				all = append(all, text)
			}
		}
		if s["enum"] = all; len(all) == 0 || s["type"] != "string" && s["type"] != nil {
			delete(s, "enum") // values are texts alone
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
	if props, ok := s["properties"].(schema); ok { // what is required has to be there
		names := slices.DeleteFunc(slices.Clone(requiredNames(s)), func(n string) bool { _, ok := props[n]; return !ok })
		if s["required"] = names; len(names) == 0 {
			delete(s, "required")
		}
	} else {
		delete(s, "required")
	}
	return s
}

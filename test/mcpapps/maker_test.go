package mcpapps

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// maker makes values that fit a schema, of the words that the official schema
// uses. Texts are never empty: an empty one counts as absent.
type maker struct {
	root map[string]any
}

func (m maker) value(t *rapid.T, schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return m.value(t, m.root["$defs"].(map[string]any)[name].(map[string]any), depth+1)
	}
	if c, ok := schema["const"]; ok {
		return c
	}
	if list, ok := schema["enum"].([]any); ok {
		return rapid.SampledFrom(list).Draw(t, "enum")
	}
	if all, ok := schema["allOf"].([]any); ok {
		sum := map[string]any{}
		for _, part := range all {
			maps.Copy(sum, m.value(t, part.(map[string]any), depth+1).(map[string]any))
		}
		return sum
	}
	if branches, ok := schema["anyOf"].([]any); ok {
		// A branch that allows anything stands for a value that is not there.
		branches = slices.DeleteFunc(slices.Clone(branches), func(b any) bool { return len(b.(map[string]any)) == 0 })
		if depth > 6 { // what refers to itself ends with its simplest form
			branches = branches[:1]
		}
		return m.value(t, rapid.SampledFrom(branches).Draw(t, "branch").(map[string]any), depth+1)
	}
	switch schema["type"] {
	case "string":
		if schema["format"] == "date-time" {
			return rapid.SampledFrom([]any{"2026-01-26T10:00:00Z", "2024-02-29T23:59:59.5+01:00"}).Draw(t, "time")
		}
		return rapid.StringN(1, 12, -1).Draw(t, "text")
	case "boolean":
		return rapid.Bool().Draw(t, "flag")
	case "integer":
		return rapid.Int64Range(-1<<53+1, 1<<53-1).Draw(t, "integer")
	case "number":
		if top, ok := schema["maximum"].(float64); ok {
			return rapid.Float64Range(0, top).Draw(t, "number")
		}
		return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
	case "null":
		return nil
	case "array":
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = m.value(t, schema["items"].(map[string]any), depth+1)
		}
		return list
	case "object":
		return m.object(t, schema, depth)
	}
	return drawJSON(t, 0)
}

func (m maker) object(t *rapid.T, schema map[string]any, depth int) map[string]any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name].(map[string]any)
		if _, never := p["not"]; never {
			continue
		}
		if slices.Contains(required, any(name)) || rapid.Bool().Draw(t, "has "+name) {
			object[name] = m.value(t, p, depth+1)
		}
	}
	more, open := schema["additionalProperties"].(map[string]any)
	for _, name := range required {
		if _, there := object[name.(string)]; !there {
			object[name.(string)] = m.value(t, more, depth+1)
		}
	}
	// Names of one's own, unless the schema has a list of them.
	names, _ := schema["propertyNames"].(map[string]any)
	if open && names["anyOf"] == nil && depth < 6 {
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			object["x-"+rapid.StringMatching(`[a-zA-Z./]{1,8}`).Draw(t, "name")] = m.value(t, more, depth+1)
		}
	}
	return object
}

// drawJSON is any JSON value.
func drawJSON(t *rapid.T, depth int) any {
	top := 5
	if depth > 2 {
		top = 3
	}
	switch rapid.IntRange(0, top).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "flag")
	case 2:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case 3:
		return rapid.String().Draw(t, "text")
	case 4:
		return []any{drawJSON(t, depth+1)}
	default:
		return map[string]any{rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name"): drawJSON(t, depth+1)}
	}
}

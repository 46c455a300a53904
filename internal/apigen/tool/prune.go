package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// pruneOptional reduces optional parts of a schema to their types until it fits
// the budget. In each round it takes the smallest part that is enough, or else
// the largest one. It changes root, and reports whether that was enough.
func pruneOptional(root schema, budget int, meter *doc.Meter) bool {
	for range 200 {
		size, all := measureSchema(root, nil)
		meter.Spend(1 + size/16)
		if size <= budget {
			return jsonSize(root) <= budget
		}
		// least is the size that has to go.
		best, least := prunableProperty{}, size-budget
		for _, b := range all {
			enough, had := b.size >= least, best.size >= least
			if best.siblings == nil || enough && (!had || b.size < best.size) || !enough && !had && b.size > best.size {
				best = b
			}
		}
		if best.siblings == nil {
			return false
		}
		best.siblings[best.name] = typesOnly(best.siblings[best.name].(schema))
	}
	return false
}

// prunableProperty is an optional property with parts of its own. siblings are
// the properties that contain it.
type prunableProperty struct {
	siblings schema
	name     string
	size     int
}

// jsonSize returns the length of a schema as JSON.
func jsonSize(s schema) int {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return len(raw)
}

// measureSchema estimates the length of a value as JSON, and appends the
// optional properties that are worth pruning to found.
func measureSchema(v any, found []prunableProperty) (int, []prunableProperty) {
	size := 2
	add := func(part any, extra int) {
		var n int
		n, found = measureSchema(part, found)
		size += n + extra
	}
	switch v := v.(type) {
	case schema:
		required, _ := v["required"].([]string)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			props, ok := v[key].(schema)
			if key != "properties" || !ok {
				add(v[key], len(key)+4)
				continue
			}
			size += len(`"properties":{},`)
			for _, name := range slices.Sorted(maps.Keys(props)) {
				before := size
				add(props[name], len(name)+4)
				if _, ok := props[name].(schema); ok && size-before > 200 && !slices.Contains(required, name) {
					found = append(found, prunableProperty{props, name, size - before})
				}
			}
		}
	case []any:
		for _, one := range v {
			add(one, 1)
		}
	case []string:
		for _, one := range v {
			size += len(one) + 3
		}
	case string:
		size += len(v) + strings.Count(v, `"`) + strings.Count(v, "\\")
	case json.Number:
		size = len(v)
	default:
		size = 5
	}
	return size, found
}

// typesOnly returns a schema with the type and a short description only.
func typesOnly(s schema) schema {
	out := schema{}
	types := typesOf(s["type"])
	list, _ := s["anyOf"].([]any)
	for _, one := range list {
		sub, _ := one.(schema)
		if len(typesOf(sub["type"])) == 0 {
			types = nil
			break
		}
		types = append(types, typesOf(sub["type"])...)
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) > 0 {
		out["type"] = singleOrList(types)
	}
	if sub, ok := s["items"].(schema); ok && s["type"] == "array" {
		sub = typesOnly(sub)
		delete(sub, "description")
		out["items"] = sub
	}
	if text, ok := s["description"].(string); ok {
		out["description"] = shortenText(text, 80)
	}
	return out
}

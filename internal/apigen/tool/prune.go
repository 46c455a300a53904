package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// prune takes the largest optional parts of a schema back to their kinds, until
// it fits: of those that are large enough to make it fit the smallest, or else
// the largest there is. It says whether that was enough.
func prune(root schema, budget int, meter *doc.Meter) bool {
	for range 200 {
		size, all := measure(root, nil)
		meter.Spend(1 + size/16)
		if size <= budget {
			return sizeOf(root) <= budget
		}
		best, least := branch{}, size-budget
		for _, b := range all {
			enough, had := b.size >= least, best.size >= least
			if best.in == nil || enough && (!had || b.size < best.size) || !enough && !had && b.size > best.size {
				best = b
			}
		}
		if best.in == nil {
			return false
		}
		best.in[best.name] = kindsOnly(best.in[best.name].(schema))
	}
	return false
}

// branch is an optional property with parts of its own.
type branch struct {
	in   schema // the properties it is among
	name string
	size int
}

func sizeOf(s schema) int {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return len(raw)
}

// measure is how long a value is as JSON, about, and finds the optional
// properties that are worth cutting.
func measure(v any, found []branch) (int, []branch) {
	size := 2
	add := func(part any, extra int) {
		var n int
		n, found = measure(part, found)
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
					found = append(found, branch{props, name, size - before})
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

// kindsOnly is what is left of a schema that is not described.
func kindsOnly(s schema) schema {
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
		sub = kindsOnly(sub)
		delete(sub, "description")
		out["items"] = sub
	}
	if text, ok := s["description"].(string); ok {
		out["description"] = shorten(text, 80)
	}
	return out
}

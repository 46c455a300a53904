package apis

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// resolve follows references as far as they lead.
func (m *mock) resolve(v any) any {
	for range 20 {
		o, ok := v.(object)
		if !ok {
			return v
		}
		ref, ok := o["$ref"].(string)
		if !ok {
			return v
		}
		_, fragment, _ := strings.Cut(ref, "#")
		var at any = m.spec
		for segment := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
			if decoded, err := url.PathUnescape(segment); err == nil {
				segment = decoded
			}
			segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
			switch parent := m.resolve(at).(type) {
			case object:
				at = parent[segment]
			case []any:
				i, _ := strconv.Atoi(segment)
				if i >= len(parent) {
					return nil
				}
				at = parent[i]
			default:
				return nil
			}
		}
		v = at
	}
	return nil
}

// schema is a schema with its references followed and its allOf joined, one
// level of it.
func (m *mock) schema(v any) object {
	o, _ := m.resolve(v).(object)
	all, ok := o["allOf"].([]any)
	if !ok {
		return o
	}
	out := object{}
	props := object{}
	var required []any
	for _, part := range append([]any{withoutKey(o, "allOf")}, all...) {
		s := m.schema(part)
		for key, value := range s {
			switch key {
			case "properties":
				more, _ := value.(object)
				maps.Copy(props, more)
			case "required":
				more, _ := value.([]any)
				required = append(required, more...)
			default:
				out[key] = value
			}
		}
	}
	if len(props) > 0 {
		out["properties"] = props
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func withoutKey(o object, key string) object {
	out := object{}
	for k, v := range o {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// required are the members that a schema wants and a caller may give.
func (m *mock) required(schema object) (list []string) {
	names, _ := schema["required"].([]any)
	props, _ := schema["properties"].(object)
	for _, n := range names {
		if p := m.schema(props[formatText(n)]); p["readOnly"] != true {
			list = append(list, formatText(n))
		}
	}
	return list
}

// misfits lists where a value is not as the schema says: kinds, values and
// members that are required, all the way down.
func (m *mock) misfits(v any, schema object, at string, depth int) (list []string) {
	if schema == nil || depth > 12 {
		return nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, ok := schema[key].([]any)
		if !ok {
			continue
		}
		var least []string
		for i, b := range branches {
			found := m.misfits(v, m.schema(b), at, depth+1)
			if i == 0 || len(found) < len(least) {
				least = found
			}
		}
		list = append(list, least...)
	}
	if v == nil {
		if schema["nullable"] == true || schema["x-nullable"] == true || hasType(schema["type"], "null") || schema["type"] == nil {
			return list
		}
		return append(list, at+" is null")
	}
	if !kindFits(v, schema["type"]) {
		return append(list, fmt.Sprintf("%s is no %v", at, schema["type"]))
	}
	if enum, ok := schema["enum"].([]any); ok && len(enum) > 0 && !slices.ContainsFunc(enum, func(e any) bool { return formatText(e) == formatText(v) }) {
		list = append(list, fmt.Sprintf("%s is not among the values", at))
	}
	switch v := v.(type) {
	case object:
		for _, name := range m.required(schema) {
			if _, ok := v[name]; !ok {
				list = append(list, at+"/"+name+" is not there")
			}
		}
		props, _ := schema["properties"].(object)
		for name, member := range v {
			if p, ok := props[name]; ok {
				list = append(list, m.misfits(member, m.schema(p), at+"/"+name, depth+1)...)
			}
		}
	case []any:
		items := m.schema(schema["items"])
		for i, item := range v {
			list = append(list, m.misfits(item, items, at+"/"+strconv.Itoa(i), depth+1)...)
		}
	}
	return list
}

func kindFits(v, types any) bool {
	if types == nil {
		return true
	}
	switch v := v.(type) {
	case string:
		return hasType(types, "string") || hasType(types, "file")
	case bool:
		return hasType(types, "boolean")
	case json.Number:
		_, err := v.Int64()
		return hasType(types, "number") || hasType(types, "integer") && err == nil
	case object:
		return hasType(types, "object")
	case []any:
		return hasType(types, "array")
	}
	return true
}

// formatText is a scalar as it is written.
func formatText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool, int, int64, uint64, json.Number:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// The generators below draw from small pools, so that values meet the bounds,
// names and constants of their schema often, and near misses too.

func poolStrings() []string {
	return []string{"", "a", "ab", "é", "日本", "😀", `q"q`, "\n", "a/b", "abc", "\x7f", `\`, "null", "1"}
}

func poolNumbers() []string {
	return []string{
		"0", "-0", "0.0", "0e9", "1", "1.0", "1e0", "10E-1", "100e-2", "-1", "2", "2.5", "25e-1", "-3", "3", "0.1", "1e-1", "10", "1e1", "1E+1",
		"9007199254740992", "9007199254740993", "9007199254740993.0", "18446744073709551615", "18446744073709551616", "12345678901234567890123",
		"12345678901234567890123.5", "0.30000000000000004", "1.5e300", "-1.5e300", "1e-300", "1e20", "100000000000000000000", "99999999999999999999",
		"0.000000000000000000000000001", "1e999", "1e-999",
	}
}

func poolNames() []string {
	return []string{"a", "b", "é", "a/b", "", "k\"", "long-name-of-a-property"}
}

type draw struct{ *rapid.T }

func (d draw) below(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

// chance is true in about one of n cases, and false where shrinking leads to.
func (d draw) chance(n int) bool { return d.below(n) == n-1 }

func pick[T any](d draw, pool []T) T { return pool[d.below(len(pool))] }

func (d draw) scalar() any {
	switch d.below(6) {
	case 0:
		return nil
	case 1:
		return true
	case 2:
		return false
	case 3, 4:
		return pick(d, poolStrings())
	default:
		return json.Number(pick(d, poolNumbers()))
	}
}

func (d draw) scalars() []any {
	list := make([]any, 1+d.below(4))
	for i := range list {
		list[i] = d.scalar()
	}
	return list
}

func (d draw) types() any {
	names := []string{"string", "integer", "number", "boolean", "null", "array", "object"}
	if !d.chance(4) {
		return pick(d, names)
	}
	var list []any
	for _, n := range names {
		if d.chance(2) {
			list = append(list, n)
		}
	}
	return append(list, "array")[:max(1, len(list))]
}

// schema draws one of the common keywords alone.
func (d draw) schema(depth int) any {
	if d.chance(12) {
		return d.chance(2)
	}
	s := map[string]any{}
	if !d.chance(5) {
		s["type"] = d.types()
	}
	maybe := func(key string, one int, value func() any) {
		if d.chance(one) {
			s[key] = value()
		}
	}
	count := func() any { return json.Number(pick(d, []string{"0", "1", "2", "3", "1.0", "20e-1"})) }
	number := func() any { return json.Number(pick(d, poolNumbers())) }
	maybe("enum", 8, func() any { return d.scalars() })
	maybe("const", 16, d.scalar)
	maybe("minimum", 8, number)
	maybe("maximum", 8, number)
	maybe("exclusiveMinimum", 16, number)
	maybe("exclusiveMaximum", 16, number)
	for _, key := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		maybe(key, 12, count)
	}
	maybe("pattern", 12, func() any { return pick(d, []string{"^a", "b$", `^\p{L}+$`, "", "^.{2}$", "[0-9]"}) })
	maybe("format", 12, func() any { return pick(d, []string{"email", "uri", "nonsense"}) })
	maybe("uniqueItems", 16, func() any { return false })
	maybe("title", 8, func() any { return "t" })
	maybe("default", 8, d.scalar)
	maybe("x-mcp-header", 16, func() any { return "Region" })
	maybe("required", 3, func() any {
		list := []any{}
		for _, n := range poolNames() {
			if d.chance(4) {
				list = append(list, n)
			}
		}
		return list
	})
	if depth > 0 {
		maybe("items", 3, func() any { return d.schema(depth - 1) })
		maybe("additionalProperties", 3, func() any { return d.schema(depth - 1) })
		maybe("properties", 2, func() any {
			props := map[string]any{}
			for _, n := range poolNames() {
				if d.chance(3) {
					props[n] = d.schema(depth - 1)
				}
			}
			return props
		})
	}
	return s
}

// value draws a value that has a good chance to fit the schema, as JSON text.
func (d draw) value(schema any, depth int) string {
	s, _ := schema.(map[string]any)
	if list, ok := s["enum"].([]any); ok && !d.chance(5) {
		return d.render(pick(d, list))
	}
	if c, ok := s["const"]; ok && !d.chance(5) {
		return d.render(c)
	}
	kinds := []any{"null", "boolean", "integer", "number", "string", "array", "object"}
	switch t := s["type"].(type) {
	case string:
		kinds = []any{t}
	case []any:
		kinds = t
	}
	kind := pick(d, kinds)
	if d.chance(10) {
		kind = "string"
	}
	switch kind {
	case "array":
		return d.array(s["items"], depth)
	case "object":
		return d.object(s, depth)
	case "integer", "number":
		return pick(d, poolNumbers())
	case "string":
		return d.render(pick(d, poolStrings()))
	case "boolean":
		return pick(d, []string{"true", "false"})
	default:
		return "null"
	}
}

func (d draw) array(items any, depth int) string {
	var parts []string
	if depth > 0 {
		for range d.below(4) {
			parts = append(parts, d.value(items, depth-1))
		}
	}
	return d.join("[", "]", parts)
}

func (d draw) object(s map[string]any, depth int) string {
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	var parts []string
	for _, name := range poolNames() {
		of, named := props[name]
		wanted := named
		for _, r := range required {
			wanted = wanted || r == any(name)
		}
		if wanted && d.chance(8) || !wanted && !d.chance(8) || depth == 0 {
			continue
		}
		if !named {
			of = s["additionalProperties"]
		}
		parts = append(parts, d.render(name)+d.space()+":"+d.space()+d.value(of, depth-1))
	}
	return d.join("{", "}", parts)
}

func (d draw) join(open, closing string, parts []string) string {
	return open + d.space() + strings.Join(parts, d.space()+","+d.space()) + d.space() + closing
}

func (d draw) space() string { return pick(d, []string{"", "", "", " ", "\n\t", "\r\n"}) }

// render writes a scalar, strings with or without escapes.
func (d draw) render(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return string(v)
	case string:
		if !d.chance(4) {
			b, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			return string(b)
		}
		var b strings.Builder
		for _, r := range v {
			if r > 0xFFFF {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
				continue
			}
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return `"` + b.String() + `"`
	default:
		panic("no scalar")
	}
}

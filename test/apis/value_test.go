package apis

import (
	"encoding/json"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
)

// maker makes arguments that a schema takes, as a model would that reads
// nothing else.
type maker struct {
	root object
	all  bool // optional ones too
}

func (k *maker) arguments() object {
	v, _ := k.value(k.root, 0).(object)
	return v
}

func (k *maker) value(schema object, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := k.root["$defs"].(object)
		to, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(object)
		if depth > 50 {
			return nil // nothing that can be written satisfies it
		}
		return k.value(to, depth+1)
	}
	if enum, ok := schema["enum"].([]any); ok && len(enum) > 0 {
		return enum[0]
	}
	if branches, ok := schema["anyOf"].([]any); ok {
		first, _ := branches[0].(object)
		first = k.within(first, schema)
		v := k.value(first, depth+1)
		own, isObject := v.(object)
		if base, ok := k.value(withoutKey(schema, "anyOf"), depth).(object); ok && isObject {
			for name, value := range base {
				if _, had := own[name]; !had {
					own[name] = value
				}
			}
		} else if ok && first["type"] == nil { // a branch that only says what is required
			names, _ := first["required"].([]any)
			props, _ := schema["properties"].(object)
			for _, n := range names {
				s, _ := props[n.(string)].(object)
				base[n.(string)] = k.value(s, depth+1)
			}
			return base
		}
		return v
	}
	kind, _ := schema["type"].(string)
	if list, ok := schema["type"].([]any); ok {
		for _, t := range list {
			if kind = t.(string); kind != "null" {
				break
			}
		}
	}
	switch kind {
	case "object":
		return k.object(schema, depth)
	case "array":
		return k.array(schema, depth)
	case "integer", "number":
		return numberFor(schema)
	case "boolean":
		return true
	case "null":
		return nil
	case "string":
		return wordsFor(schema)
	}
	if schema["properties"] != nil {
		return k.object(schema, depth)
	}
	return "any"
}

// within is a branch that requires what the whole describes.
func (k *maker) within(branch, whole object) object {
	names, _ := branch["required"].([]any)
	outer, _ := whole["properties"].(object)
	own, _ := branch["properties"].(object)
	out := object{}
	maps.Copy(out, branch)
	props := object{}
	maps.Copy(props, own)
	for _, n := range names {
		if _, had := props[formatText(n)]; !had && outer[formatText(n)] != nil && own != nil {
			props[formatText(n)] = outer[formatText(n)]
		}
	}
	if own != nil {
		out["properties"] = props
	}
	return out
}

func (k *maker) object(schema object, depth int) object {
	out := object{}
	props, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for name, p := range props {
		p, _ := p.(object)
		if slices.Contains(required, any(name)) || k.all && depth < 4 {
			out[name] = k.value(p, depth+1)
		}
	}
	if _, isFile := props["data_base64"]; isFile {
		return object{"filename": "a.txt", "mimeType": "text/plain", "data_base64": "aGVsbG8="}
	}
	if least, ok := schema["minProperties"].(json.Number); ok && len(out) == 0 {
		if n, _ := least.Int64(); n > 0 && len(props) > 0 {
			name := slices.Sorted(maps.Keys(props))[0]
			p, _ := props[name].(object)
			out[name] = k.value(p, depth+1)
		} else if n > 0 {
			extra, _ := schema["additionalProperties"].(object)
			out["key"] = k.value(extra, depth+1)
		}
	}
	if extra, ok := schema["additionalProperties"].(object); ok && len(props) == 0 && k.all && depth < 4 {
		out["key"] = k.value(extra, depth+1)
	}
	return out
}

func (k *maker) array(schema object, depth int) []any {
	n := int64(1)
	if least, ok := schema["minItems"].(json.Number); ok {
		m, _ := least.Int64()
		n = max(n, m)
	}
	items, _ := schema["items"].(object)
	if depth > 8 && schema["minItems"] == nil {
		n = 0
	}
	out := []any{}
	for i := range n {
		v := k.value(items, depth+1)
		if s, ok := v.(string); ok && i > 0 && schema["uniqueItems"] == true && items["enum"] == nil && items["pattern"] == nil {
			v = s + string(rune('a'+i))
		}
		out = append(out, v)
	}
	return out
}

func numberFor(schema object) any {
	at := func(key string) (float64, bool) {
		n, ok := schema[key].(json.Number)
		f, err := n.Float64()
		return f, ok && err == nil
	}
	v := 1.0
	if low, ok := at("minimum"); ok {
		v = max(v, low)
	}
	if low, ok := at("exclusiveMinimum"); ok {
		v = max(v, low+1)
	}
	if high, ok := at("maximum"); ok {
		v = min(v, high)
	}
	if high, ok := at("exclusiveMaximum"); ok && v >= high {
		v = high - 1
	}
	if of, ok := at("multipleOf"); ok && of > 0 {
		v = math.Ceil(v/of) * of
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return json.Number(formatText(int64(v)))
	}
	return v
}

// wordsFor is a text that fits format, pattern and length.
func wordsFor(schema object) string {
	format, _ := schema["format"].(string)
	s := map[string]string{
		"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "uuid": "123e4567-e89b-42d3-a456-426614174000", "email": "ada@example.com",
		"uri": "https://example.com/a", "url": "https://example.com/a", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "aGVsbG8=",
		"duration": "P1D", "uri-reference": "/a", "regex": "a", "json-pointer": "/a", "iri": "https://example.com/a",
	}[format]
	if s == "" {
		s = "text"
	}
	if pattern, ok := schema["pattern"].(string); ok {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			s = matchPattern(re.Simplify())
		}
	}
	if least, ok := schema["minLength"].(json.Number); ok {
		n, _ := least.Int64()
		for int64(len(s)) < n {
			s += "x"
		}
	}
	if most, ok := schema["maxLength"].(json.Number); ok {
		if n, _ := most.Int64(); int64(len(s)) > n && schema["pattern"] == nil {
			s = s[:n]
		}
	}
	return s
}

// matchPattern is a short text that a pattern takes.
func matchPattern(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, want := range "a0A-_ " {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if want >= re.Rune[i] && want <= re.Rune[i+1] {
					return string(want)
				}
			}
		}
		return string(re.Rune[:1])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return matchPattern(re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(matchPattern(sub))
		}
		return b.String()
	case syntax.OpAlternate:
		return matchPattern(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		if s := matchPattern(re.Sub[0]); len(s) == 1 && re.Op == syntax.OpStar {
			return s
		}
		return ""
	case syntax.OpRepeat:
		return strings.Repeat(matchPattern(re.Sub[0]), max(re.Min, 1))
	}
	return ""
}

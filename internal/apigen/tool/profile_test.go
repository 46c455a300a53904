package tool_test

import (
	"encoding/json"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// forbidden are the keywords that clients of a profile refuse.
func forbidden() map[junctor.Profile][]string {
	return map[junctor.Profile][]string{
		junctor.ProfileGemini: {
			"examples", "readOnly", "writeOnly", "deprecated", "$comment", "multipleOf", "uniqueItems", "prefixItems", "additionalItems", "propertyNames", "patternProperties",
			"dependencies", "dependentRequired", "dependentSchemas", "contentEncoding", "contentMediaType", "contentSchema", "id", "$schema", "additionalProperties", "const",
			"exclusiveMinimum", "exclusiveMaximum", "default", "oneOf", "allOf", "$ref", "$defs", "not",
		},
		junctor.ProfileOpenAI: {"oneOf", "allOf", "default", "patternProperties", "not", "uniqueItems", "$schema"},
		junctor.ProfileNoDefs: {"$defs", "$ref", "$schema"},
		junctor.ProfileClaude: {"$schema", "examples"},
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	x := build(t, body(`{type: object, required: [k], properties: {
		k: {type: string, enum: [a, b], default: a},
		n: {type: integer, exclusiveMinimum: 0, multipleOf: 2},
		m: {type: [string, "null"], format: uri},
		l: {type: array, uniqueItems: true, items: {$ref: "#/components/schemas/T"}},
		o: {type: object, additionalProperties: {type: integer}},
		c: {oneOf: [{type: object, required: [kind, a], properties: {kind: {const: x}, a: {type: string}}}, {type: object, required: [kind, b], properties: {kind: {const: y}, b: {type: integer}}}]},
		s: {anyOf: [{type: string}, {type: integer}]}}}`)+"components: {schemas: {T: {type: object, required: [n], properties: {n: {type: string}, t: {$ref: '#/components/schemas/T'}}}}}\n", tool.Options{})["POST /a"]
	for _, p := range junctor.Profiles() {
		out := tool.ApplyProfile(p, x.Input)
		if string(out) != string(tool.ApplyProfile(p, x.Input)) {
			t.Errorf("%s gives different bytes", p)
		}
		var root map[string]any
		if err := json.Unmarshal(out, &root); err != nil || root["type"] != "object" {
			t.Fatalf("%s: %v: %s", p, err, out)
		}
		for _, key := range forbidden()[p] {
			if at := find(root, key, ""); at != "" {
				t.Errorf("%s has %s at %s: %s", p, key, at, out)
			}
		}
	}
	var root struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(tool.ApplyProfile(junctor.ProfileOpenAI, x.Input), &root); err != nil || len(root.Required) != len(root.Properties) {
		t.Errorf("%v: %v", err, root.Required)
	}
	if got := string(root.Properties["c"]); got != `{"additionalProperties":false,"properties":{"a":{"type":["string","null"]},"b":{"type":["integer","null"]},"kind":{"enum":["x","y"],"type":"string"}},"required":["a","b","kind"],"type":["object","null"]}` {
		t.Errorf("a choice of objects: %s", got)
	}
}

// find looks for a keyword in a schema and all inside it; names of properties are
// none.
func find(v any, keyword, at string) string {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == keyword {
				return at + "/" + key
			}
			if key == "enum" || key == "default" {
				continue
			}
			if props, ok := value.(map[string]any); ok && (key == "properties" || key == "$defs") {
				for name, p := range props {
					if found := find(p, keyword, at+"/"+key+"/"+name); found != "" {
						return found
					}
				}
				continue
			}
			if found := find(value, keyword, at+"/"+key); found != "" {
				return found
			}
		}
	case []any:
		for _, one := range v {
			if found := find(one, keyword, at+"/[]"); found != "" {
				return found
			}
		}
	}
	return ""
}

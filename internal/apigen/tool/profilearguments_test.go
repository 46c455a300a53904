package tool_test

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// TestTake: where every property has to be given, null means that one is left
// out, all the way down; what the document itself wants null for stays, and so do
// all other bytes.
func TestTake(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["id","cleared"],"properties":{
		"id":{"type":"string"},"size":{"type":"integer"},"cleared":{"type":["string","null"]},"note":{"type":["string","null"]},
		"free":{},
		"owner":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"age":{"type":"integer"}}},
		"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}},
		"tree":{"$ref":"#/$defs/T"},
		"kind":{"anyOf":[{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}},{"type":"object","required":["y"],"properties":{"y":{"type":"string"}}}]},
		"mixed":{"anyOf":[{"type":"string"},{"type":"object","properties":{"z":{"type":"string"}}}]}},
		"$defs":{"T":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/T"}}}}}`
	for _, c := range []struct{ name, given, want string }{
		{"nothing to take away", `{"id": "null and void",  "size":1.0}`, `{"id": "null and void",  "size":1.0}`},
		{"left out", `{"id":"1","size":null,"free":null}`, `{"id":"1"}`},
		{"one that may be null and need not be given", `{"id":"1","note":null}`, `{"id":"1"}`},
		{"one that may be null and has to be given", `{"id":"1","cleared":null,"size":null}`, `{"cleared":null,"id":"1"}`},
		{"one that has to be given and cannot be null", `{"id":null,"size":null}`, `{"id":null}`},
		{"numbers stay as they were written", `{"id":"1","size":12345678901234567890,"note":null}`, `{"id":"1","size":12345678901234567890}`},
		{"inside an object", `{"id":"1","owner":{"name":"a","age":null}}`, `{"id":"1","owner":{"name":"a"}}`},
		{"inside a list", `{"id":"1","list":[{"a":null,"b":"1"},{"a":"2","b":null}]}`, `{"id":"1","list":[{"b":"1"},{"a":"2"}]}`},
		{"along a reference", `{"id":"1","tree":{"v":null,"next":{"v":"1","next":null}}}`, `{"id":"1","tree":{"next":{"v":"1"}}}`},
		{"of several objects", `{"id":"1","kind":{"x":"1","y":null}}`, `{"id":"1","kind":{"x":"1"}}`},
		{"of several kinds", `{"id":"1","mixed":{"z":null}}`, `{"id":"1","mixed":{}}`},
		{"what nobody knows", `{"id":"1","other":null,"size":null}`, `{"id":"1","other":null}`},
		{"no object", `null`, `null`},
	} {
		if got := string(tool.NormalizeArguments(junctor.ProfileOpenAI, []byte(schema), []byte(c.given))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for _, p := range []junctor.Profile{junctor.ProfileNone, junctor.ProfileClaude, junctor.ProfileGemini} {
			if got := string(tool.NormalizeArguments(p, []byte(schema), []byte(c.given))); got != c.given {
				t.Errorf("%s: %s changes them: %s", c.name, p, got)
			}
		}
	}
}

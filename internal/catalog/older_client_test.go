package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TestDefinitionsForOlderClients shows what clients of older protocol versions are
// shown of definitions that are legal in 2026-07-28, and what they are returned.
func TestDefinitionsForOlderClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, output string
		want         string // the outputSchema that they are shown; "-" is none
		value, back  string // of structuredContent
	}{
		{"an object", `{"type":"object"}`, `{"type":"object"}`, `{"a":1}`, `{"a":1}`},
		{"an array", `{"type":"array"}`, `{"properties":{"result":{"type":"array"}},"required":["result"],"type":"object"}`, `[1]`, `{"result":[1]}`},
		{"references move", `{"$schema":"x","type":"array","items":{"$ref":"#/$defs/i"},"$defs":{"i":{"const":{"$ref":"#/y"}}}}`, `{"$schema":"x","properties":{"result":{"$defs":{"i":{"const":{"$ref":"#/y"}}},"items":{"$ref":"#/properties/result/$defs/i"},"type":"array"}},"required":["result"],"type":"object"}`, `[]`, `{"result":[]}`},
		{"an object or null", `{"type":["object","null"]}`, `{"properties":{"result":{"type":["object","null"]}},"required":["result"],"type":"object"}`, `{"a":1}`, `{"result":{"a":1}}`},
		{"surely an object", `{"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}}`, `{"$defs":{"o":{"type":"object"}},"$ref":"#/$defs/o","type":"object"}`, `{"a":1}`, `{"a":1}`},
		{"a reference out", `{"type":"object","properties":{"a":{"$ref":"https://x/y"}}}`, `-`, `{"a":1}`, `{"a":1}`},
		{"no schema, an array", ``, `-`, `[1]`, `{"result":[1]}`},
		{"no schema, null", ``, `-`, `null`, ``},
	} {
		def := `{"name":"x","inputSchema":{"type":"object"}}`
		if c.output != "" {
			def = `{"name":"x","inputSchema":{"type":"object"},"outputSchema":` + c.output + `}`
		}
		cat := newCatalog(t, catalog.Options{})
		attach(t, cat, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "x", JSON: []byte(def)}}}})
		modern := shelf(cat).List(reader("r"), catalog.Scope{Server: "s"}, catalog.ListTools)
		if string(modern) != `{"tools":[`+def+`]}` {
			t.Errorf("%s: modern clients are shown %s", c.name, modern)
		}
		list := shelf(cat).List(reader("r"), catalog.Scope{Server: "s", Older: true}, catalog.ListTools)
		shown := "-"
		for tool := range wire.Elements(wire.Get(list, "tools")) {
			if schema := wire.Get(tool, "outputSchema"); schema != nil {
				shown = string(schema)
			}
		}
		if shown != c.want {
			t.Errorf("%s: shown %s, want %s", c.name, shown, c.want)
		}
		item, err := shelf(cat).Tool(reader("r"), catalog.Scope{Server: "s"}, "x", "")
		if err != nil {
			t.Fatal(err)
		}
		body := item.Tool.ForOlder([]byte(`{"content":[],"structuredContent":` + c.value + `}`))
		if got := string(wire.Get(body, "structuredContent")); got != c.back {
			t.Errorf("%s: returned %s, want %s", c.name, got, c.back)
		}
	}
}

// TestPatternsOfOlderClients holds which patterns count as valid in JavaScript's
// unicode mode. test/clients compiles some of them there.
func TestPatternsOfOlderClients(t *testing.T) {
	t.Parallel()
	for pattern, valid := range map[string]bool{
		``: true, `^a+$`: true, `[a-z]{2,3}?`: true, `\d+\.\d*`: true, `^(?:a|b)*$`: true, `(?=x)y`: true, `[^\]\-]`: true, `\u00e9\x41`: true, `\p{Lu}`: true, `ü{2}`: true,
		`(?i)a`: false, `a{`: false, `}`: false, `]`: false, `\-`: false, `[\w-.]`: false, `[z-a]`: false, `a**`: false, `*a`: false, `(a`: false, `a)`: false, `\A`: false,
		`a{3,2}`: false, `(?P<n>a)`: false, `\`: false, `[a`: false, `(?=x)*`: false, `^*`: false, `\p{Greek}`: false, `\1`: false, `[[:alpha:]]`: false, "\xff": false,
	} {
		def := fmt.Sprintf(`{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"pattern":%s}}}}`, wire.AppendString(nil, pattern))
		cat := newCatalog(t, catalog.Options{})
		attach(t, cat, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "x", JSON: []byte(def)}}}})
		list := string(shelf(cat).List(reader("r"), catalog.Scope{Server: "s", Older: true}, catalog.ListTools))
		if !strings.Contains(list, `"tools":[{`) {
			continue // Go has no such pattern, and the tool is left out: nobody is shown it
		}
		if got := strings.Contains(list, "outputSchema"); got != valid && pattern != "\xff" {
			t.Errorf("%q: shown is %t, want %t", pattern, got, valid)
		}
	}
}

package a2ui_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/test/program"
)

// fleet is a catalog of somebody who runs lorries.
const fleet = `{
  "catalogId": "https://fleet.example/catalogs/fleet-v1.json", "title": "Fleet", "description": "Lorries.",
  "components": {
    "fleet:Gauge": {
      "description": "A value with its unit.",
      "properties": {
        "label": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/DynamicString", "description": "What is measured."},
        "value": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/DynamicNumber"},
        "unit": {"type": "string"}, "size": {"type": "string", "enum": ["small", "large"]},
        "action": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/Action"},
        "extra": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/ComponentId"}
      },
      "required": ["label", "value"]
    },
    "fleet:Stops": {"properties": {"stops": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/DynamicValue"}}, "required": ["stops"]},
    "fleet:Bare": {"properties": {}}
  },
  "fallbacks": {
    "fleet:Gauge": [
      {"id": "root", "component": "Card", "child": "inside"},
      {"id": "inside", "component": "Column", "children": ["label", "row", "press", {"property": "extra"}]},
      {"id": "label", "component": "Text", "text": {"property": "label"}, "variant": "caption"},
      {"id": "row", "component": "Row", "children": ["value", "unit"]},
      {"id": "value", "component": "Text", "text": {"property": "value"}},
      {"id": "unit", "component": "Text", "text": {"property": "unit"}},
      {"id": "press", "component": "Button", "child": "more", "action": {"property": "action"}},
      {"id": "more", "component": "Text", "text": "More"}
    ],
    "fleet:Stops": [
      {"id": "root", "component": "List", "children": {"componentId": "stop", "path": {"property": "stops"}}},
      {"id": "stop", "component": "Text", "text": {"path": "name"}}
    ]
  }
}`

func readFleet(t *testing.T) (a2ui.Catalog, *a2ui.Catalogs) {
	t.Helper()
	c, err := a2ui.ReadCatalog([]byte(fleet), "")
	if err != nil {
		t.Fatal(err)
	}
	known, err := a2ui.BuiltinCatalogs().With(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, known
}

// What is served is what was registered, and is read again as the same.
func TestCatalogsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	c, _ := readFleet(t)
	text, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	again, err := a2ui.ReadCatalog(text, "")
	if diff := cmp.Diff(c, again, cmpopts.SortSlices(func(a, b a2ui.Property) bool { return a.Name < b.Name }), compactJSON()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if c.Namespace != "fleet" || !c.Registered || c.Title != "Fleet" {
		t.Errorf("%+v", c)
	}
	if unnamed, err := a2ui.ReadCatalog([]byte(`{"components":{"a:B":{}}}`), "https://here.example/a.json"); err != nil || unnamed.ID != "https://here.example/a.json" {
		t.Errorf("%+v %v", unnamed, err)
	}
}

func compactJSON() cmp.Option {
	return cmp.Transformer("json", func(raw json.RawMessage) (v any) {
		_ = json.Unmarshal(raw, &v)
		return v
	})
}

// The documents that are served are JSON Schemas by which a client can judge components,
// with A2UI's own types.
func TestServedCatalogsJudge(t *testing.T) {
	t.Parallel()
	o := loadOfficial(t)
	registered, _ := readFleet(t)
	for _, c := range append(a2ui.BuiltinCatalogs().All(), registered) {
		if c.Basic {
			continue
		}
		text, err := c.Document()
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		compiler.UseRegexpEngine(unicodeNames)
		for url, doc := range o.resources[a2ui.V09] {
			if err := compiler.AddResource(url, doc); err != nil {
				t.Fatal(err)
			}
		}
		if err := compiler.AddResource(c.ID, parse(t, text)); err != nil {
			t.Fatal(err)
		}
		schema, err := compiler.Compile(c.ID + "#/$defs/anyComponent")
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.ID, err, text)
		}
		for _, one := range c.Components {
			props := []string{`"id":"x"`, fmt.Sprintf(`"component":%q`, one.Name), `"weight":2`}
			for _, p := range one.Properties {
				if p.Required {
					value := `{"path":"/a"}`
					if p.Kind == a2ui.PlainText {
						value = `"a"`
					}
					props = append(props, fmt.Sprintf(`%q:%s`, p.Name, value))
				}
			}
			good := "{" + strings.Join(props, ",") + "}"
			if err := schema.Validate(parse(t, []byte(good))); err != nil {
				t.Errorf("%s: %v", good, err)
			}
			if bad := "{" + strings.Join(append(props, `"bogus":1`), ",") + "}"; schema.Validate(parse(t, []byte(bad))) == nil {
				t.Errorf("%s is let through", bad)
			}
		}
	}
}

// Every property of our components is described where people and clients look.
func TestPropertiesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(program.Root(t), "docs", "guides", "a2ui.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range a2ui.BuiltinCatalogs().All() {
		if c.Basic {
			continue
		}
		if c.Title == "" || c.Description == "" {
			t.Errorf("%s says nothing of itself", c.ID)
		}
		for _, one := range c.Components {
			if one.Description == "" {
				t.Errorf("%s says nothing of itself", one.Name)
			}
			_, section, ok := strings.Cut(string(page), "`"+one.Name+"`")
			row, _, _ := strings.Cut(section, "\n| `")
			for _, p := range one.Properties {
				if p.Description == "" {
					t.Errorf("%s.%s says nothing of itself", one.Name, p.Name)
				}
				if !ok || !strings.Contains(row, "`"+p.Name+"`") {
					t.Errorf("docs/guides/a2ui.md does not describe %s.%s", one.Name, p.Name)
				}
			}
		}
	}
}

// nobody has no catalog beside those of the program.
func nobody(string) bool { return false }

func TestExpand(t *testing.T) {
	t.Parallel()
	_, known := readFleet(t)
	s := surface(`{"speed":80}`,
		`{"id":"root","component":"Column","children":["g","h","s"]}`,
		`{"id":"g","component":"fleet:Gauge","label":"Speed","value":{"path":"/speed"},"unit":"km/h","weight":2,"action":{"event":{"name":"look","context":{"id":1}}},"extra":"line"}`,
		`{"id":"h","component":"fleet:Gauge","label":{"path":"/name"},"value":7.50}`,
		`{"id":"s","component":"fleet:Stops","stops":{"path":"/stops"}}`,
		`{"id":"line","component":"Divider"}`)
	s.Catalogs = []string{a2ui.MapsCatalogID, "https://fleet.example/catalogs/fleet-v1.json"}
	got, err := known.Expand(s, nobody)
	if err != nil {
		t.Fatal(err)
	}
	if problems := got.Check(nil); len(problems) > 0 { // by what every client knows
		t.Errorf("%v", problems)
	}
	want := []string{
		`{"id":"root","component":"Column","children":["g","h","s"]}`,
		`{"id":"g","component":"Card","child":"g/inside","weight":2}`,
		`{"id":"g/inside","component":"Column","children":["g/label","g/row","g/press","line"]}`,
		`{"id":"g/label","component":"Text","text":"Speed","variant":"caption"}`,
		`{"id":"g/row","component":"Row","children":["g/value","g/unit"]}`,
		`{"id":"g/value","component":"Text","text":{"path":"/speed"}}`,
		`{"id":"g/unit","component":"Text","text":"km/h"}`,
		`{"id":"g/press","component":"Button","child":"g/more","action":{"event":{"name":"look","context":{"id":1}}}}`,
		`{"id":"g/more","component":"Text","text":"More"}`,
		`{"id":"h","component":"Card","child":"h/inside"}`,
		`{"id":"h/inside","component":"Column","children":["h/label","h/row"]}`,
		`{"id":"h/label","component":"Text","text":{"path":"/name"},"variant":"caption"}`,
		`{"id":"h/row","component":"Row","children":["h/value"]}`,
		`{"id":"h/value","component":"Text","text":"7.50"}`,
		`{"id":"h/more","component":"Text","text":"More"}`,
		`{"id":"s","component":"List","children":{"componentId":"s/stop","path":"/stops"}}`,
		`{"id":"s/stop","component":"Text","text":{"path":"name"}}`,
		`{"id":"line","component":"Divider"}`,
	}
	list := make([]json.RawMessage, len(want))
	for i := range want {
		list[i] = json.RawMessage(want[i])
	}
	if diff := cmp.Diff(list, got.Components, compactJSON()); diff != "" {
		t.Error(diff)
	}
	if len(got.Catalogs) != 1 || got.Catalogs[0] != a2ui.MapsCatalogID || len(s.Catalogs) != 2 || len(s.Components) != 5 {
		t.Errorf("%q; the surface itself has %d components of %q", got.Catalogs, len(s.Components), s.Catalogs)
	}
	// Who has the catalog draws it as it is, and so it is written.
	if same, err := known.Expand(s, func(id string) bool { return strings.Contains(id, "fleet") }); err != nil || same != s {
		t.Errorf("%v %v", same, err)
	}
	if _, err := a2ui.Encode(s, a2ui.V09, a2ui.EncodeOptions{Catalogs: known}); err != nil {
		t.Error(err)
	}
	// What has no fallback stays.
	bare := surface("", `{"id":"root","component":"fleet:Bare"}`)
	if same, err := known.Expand(bare, nobody); err != nil || same != bare {
		t.Errorf("%v %v", same, err)
	}
}

// A surface that would be too large, or whose ids would meet, is not made.
func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	_, known := readFleet(t)
	var many []string
	children := ""
	for i := range 200 {
		many = append(many, fmt.Sprintf(`{"id":"g%d","component":"fleet:Gauge","label":"a","value":1,"unit":"b"}`, i))
		children += fmt.Sprintf(`,"g%d"`, i)
	}
	for name, s := range map[string]*a2ui.Surface{
		"too many":     surface("", append(many, `{"id":"root","component":"Column","children":[`+children[1:]+`]}`)...),
		"the same ids": surface("", `{"id":"root","component":"Column","children":["g","g/label"]}`, `{"id":"g","component":"fleet:Gauge","label":"a","value":1}`, `{"id":"g/label","component":"Divider"}`),
	} {
		if got, err := known.Expand(s, nobody); err == nil {
			t.Errorf("%s: %d components", name, len(got.Components))
		}
	}
}

func TestBadCatalogs(t *testing.T) {
	t.Parallel()
	text := `"$ref":"x/common_types.json#/$defs/DynamicString"`
	gauge := func(fallback string) string {
		return `{"catalogId":"https://x/y","components":{"a:B":{"properties":{"t":{` + text + `},"n":{"type":"number"}},"required":["t"]}},"fallbacks":{"a:B":` + fallback + `}}`
	}
	for doc, says := range map[string]string{
		``:                                       "this is not a catalog",
		`[]`:                                     "this is not a catalog",
		`{"components":{"a:B":{}},"script":"x"}`: `unknown`,
		`{"components":{"a:B":{}}}`:              "catalogId \"\": write an http or https address",
		`{"catalogId":"javascript:alert(1)","components":{"a:B":{}}}`:                                           `catalogId "javascript:alert(1)": write an http or https address`,
		`{"catalogId":"data:text/html,x","components":{"a:B":{}}}`:                                              "catalogId \"data:text/html,x\"",
		`{"catalogId":"file:///etc/passwd","components":{"a:B":{}}}`:                                            "catalogId \"file:///etc/passwd\"",
		`{"catalogId":"ftp://x/y","components":{"a:B":{}}}`:                                                     "catalogId \"ftp://x/y\"",
		`{"catalogId":"https:x","components":{"a:B":{}}}`:                                                       "catalogId \"https:x\"",
		`{"catalogId":"https://u:p@x/y","components":{"a:B":{}}}`:                                               "must not contain a user or a password",
		`{"catalogId":"https://x/y#z","components":{"a:B":{}}}`:                                                 "must not have a fragment",
		`{"catalogId":"https://x/a b","components":{"a:B":{}}}`:                                                 "catalogId \"https://x/a b\"",
		`{"catalogId":"no uri","components":{"a:B":{}}}`:                                                        "catalogId \"no uri\"",
		`{"catalogId":"https://x/y","components":{}}`:                                                           "components has 0 members",
		`{"catalogId":"https://x/y","components":{"Text":{}}}`:                                                  "components.Text: the name must begin with a namespace",
		`{"catalogId":"https://x/y","components":{"a:B":{},"c:D":{}}}`:                                          "components.c:D: all components of a catalog must have the same namespace",
		`{"catalogId":"https://x/y","components":{"a:B":{"properties":{"p":{"type":"date"}}}}}`:                 "components.a:B.properties.p: the type is unknown",
		`{"catalogId":"https://x/y","components":{"a:B":{"properties":{"p":{"type":"string","pattern":"x"}}}}}`: "components.a:B.properties.p: a property can have only",
		`{"catalogId":"https://x/y","components":{"a:B":{"required":["p"]}}}`:                                   `components.a:B.required names "p"`,
		`{"catalogId":"https://x/y","components":{"a:B":{"allOf":[{"$ref":"other.json#/x"}]}}}`:                 "components.a:B.allOf: $ref",
		`{"catalogId":"https://x/y","components":{"a:B":{}},"fallbacks":{"a:C":[]}}`:                            "fallbacks.a:C: components has no component",
		gauge(`[]`): `no component has the id "root"`,
		gauge(`[{"id":"root","component":"mcp:AppFrame","resourceUri":"ui://x/y","toolName":"x"}]`):                                                       "component 1: mcp:AppFrame is not in the basic catalog",
		gauge(`[{"id":"root","component":"a:B","t":"x"}]`):                                                                                                "component 1: a:B is not in the basic catalog",
		gauge(`[{"id":"root","component":"Text","text":{"property":"gone"}}]`):                                                                            `the component has no such property`,
		gauge(`[{"id":"root","component":"Column","children":["nowhere"]}]`):                                                                              `there is no component "sample/nowhere"`,
		gauge(`[{"id":"root","component":"Column","children":["root"]}]`):                                                                                 "it contains itself",
		gauge(`[{"id":"root","component":"Text","text":"x","color":"red"}]`):                                                                              "Text has no such property",
		gauge(`[{"id":"root","component":"Slider","max":{"property":"t"},"value":1}]`):                                                                    "it must be a number",
		`{"catalogId":"https://x/y","components":{"a:B":{}},"fallbacks":{"a:B":[` + strings.Repeat(`{"id":"root","component":"Divider"},`, 200) + `{}]}}`: "at most 100 are allowed",
	} {
		if c, err := a2ui.ReadCatalog([]byte(doc), ""); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%.120s: %v %v; it should say %q", doc, c.ID, err, says)
		}
	}
	if _, err := a2ui.ReadCatalog([]byte(strings.Repeat(" ", a2ui.MaxCatalogBytes+1)), ""); junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Error(err)
	}
	for _, doc := range []string{
		`{"catalogId":"` + a2ui.MapsCatalogID + `","components":{"a:B":{}}}`, `{"catalogId":"https://x/y","components":{"mcp:B":{}}}`,
	} {
		c, err := a2ui.ReadCatalog([]byte(doc), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a2ui.BuiltinCatalogs().With(c); junctor.CodeOf(err) != junctor.CodeConflict {
			t.Errorf("%s takes the place of one that is there: %v", doc, err)
		}
	}
}

func FuzzReadCatalog(f *testing.F) {
	f.Add([]byte(fleet), []byte(`{"id":"root","component":"fleet:Gauge","label":"x","value":1}`))
	f.Fuzz(func(t *testing.T, doc, one []byte) {
		c, err := a2ui.ReadCatalog(doc, "https://x/y")
		if err != nil {
			return
		}
		known, err := a2ui.NewCatalogs(c)
		if err != nil {
			return
		}
		s := &a2ui.Surface{ID: "s", Components: []json.RawMessage{one}}
		if got, err := known.Expand(s, nobody); err == nil && got != s {
			if err := got.FirstProblem(got.Check(nil), a2ui.GradeBroken); err != nil {
				t.Errorf("%v", err)
			}
		}
		if _, err := c.Document(); err != nil {
			t.Errorf("%v", err)
		}
	})
}

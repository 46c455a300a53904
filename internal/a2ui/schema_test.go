package a2ui_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/test/program"
)

// official is the schemas of A2UI as its npm package has them, each version with
// the components of our other catalogs beside the basic ones.
type official struct {
	node      *program.Node
	resources map[a2ui.Version]map[string]any // by URL; "" names none
	main      map[a2ui.Version]string
	schema    map[a2ui.Version]*jsonschema.Schema
	client    map[a2ui.Version]*jsonschema.Schema // of what clients say
}

const base = "https://a2ui.org/specification/"

func folder(v a2ui.Version) string { return strings.Replace(string(v), ".", "_", 1) }

func loadOfficial(t *testing.T) *official {
	t.Helper()
	o := &official{
		node: program.FindNode(t), resources: map[a2ui.Version]map[string]any{}, main: map[a2ui.Version]string{}, schema: map[a2ui.Version]*jsonschema.Schema{}, client: map[a2ui.Version]*jsonschema.Schema{},
	}
	for v, files := range map[a2ui.Version][2]string{
		a2ui.V08: {"server_to_client_with_standard_catalog.json", "client_to_server.json"}, a2ui.V09: {"server_to_client.json", "client_to_server.json"}, a2ui.V10: {"agent_to_renderer.json", "renderer_to_agent.json"},
	} {
		at := base + folder(v) + "/"
		all := map[string]any{}
		for _, name := range files {
			all[at+name] = o.load(t, v, name)
		}
		if v == a2ui.V08 {
			add08(all[at+files[0]])
		} else {
			all[at+"common_types.json"] = o.load(t, v, "common_types.json")
			all[at+"catalog.json"] = extended(o.load(t, v, "catalogs/basic/catalog.json"), v, at, documents(t))
		}
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		c.UseRegexpEngine(unicodeNames)
		c.AssertFormat()
		for url, doc := range all {
			if err := c.AddResource(url, doc); err != nil {
				t.Fatal(err)
			}
		}
		for i, to := range []map[a2ui.Version]*jsonschema.Schema{o.schema, o.client} {
			s, err := c.Compile(at + files[i])
			if err != nil {
				t.Fatalf("%s: %v", files[i], err)
			}
			to[v] = s
		}
		o.resources[v], o.main[v] = all, at+files[0]
	}
	return o
}

func (o *official) load(t *testing.T, v a2ui.Version, name string) any {
	t.Helper()
	text, err := os.ReadFile(o.node.Module("@a2ui/web_core/src/" + folder(v) + "/schemas/" + name))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func parse(t interface{ Fatalf(string, ...any) }, text []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// unicodeNames knows the classes of letters that Go's expressions do not.
func unicodeNames(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(strings.NewReplacer(`\p{XID_Start}`, `\p{L}\p{Nl}`, `\p{XID_Continue}`, `\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}`).Replace(pattern))
}

// documents are the components of our other catalogs as they are served.
func documents(t *testing.T) object {
	t.Helper()
	out := object{}
	for _, c := range a2ui.BuiltinCatalogs().All() {
		if c.Basic {
			continue
		}
		text, err := c.Document()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, parse(t, text).(object)["components"].(object))
	}
	return out
}

// others is the components of catalogs that are not A2UI's own.
func others() []a2ui.Component {
	var out []a2ui.Component
	for _, c := range a2ui.BuiltinCatalogs().All() {
		if !c.Basic {
			out = append(out, c.Components...)
		}
	}
	return out
}

type object = map[string]any

// extended is the basic catalog with the others' components: of v0.9 as they are
// served, of v1.0 as that has them.
func extended(catalog any, v a2ui.Version, at string, served object) any {
	doc := catalog.(object)
	doc["$id"] = at + "catalog.json" // messages name it so
	common := at + "common_types.json#/$defs/"
	anyComponent := doc["$defs"].(object)["anyComponent"].(object)
	for _, c := range others() {
		properties, required := object{"component": object{"const": c.Name}}, []any{"component"}
		for _, p := range c.Properties {
			properties[p.Name] = kind(p.Kind, common)
			if p.Required {
				required = append(required, p.Name)
			}
		}
		one := object{"type": "object", "properties": properties, "required": required}
		properties["weight"] = object{"type": "number"}
		doc["components"].(object)[c.Name] = one
		if v == a2ui.V09 {
			doc["components"].(object)[c.Name] = served[c.Name]
		}
		anyComponent["oneOf"] = append(anyComponent["oneOf"].([]any), object{"$ref": "#/components/" + c.Name})
	}
	return doc
}

func kind(k a2ui.Kind, common string) object {
	ref := func(name string) object { return object{"$ref": common + name} }
	switch k {
	case a2ui.BoundText:
		return ref("DynamicString")
	case a2ui.BoundNumber:
		return ref("DynamicNumber")
	case a2ui.BoundValue:
		return ref("DynamicValue")
	case a2ui.BoundObject:
		return object{"type": "object", "additionalProperties": ref("DynamicValue")}
	case a2ui.OnAction:
		return ref("Action")
	case a2ui.Child:
		return ref("ComponentId")
	case a2ui.PlainText:
		return object{"type": "string"}
	case a2ui.PlainNumber:
		return object{"type": "number"}
	}
	panic("a kind that no component of the other catalogs has")
}

// add08 puts the others' components into the schema of v0.8's messages.
func add08(doc any) {
	at := doc
	for _, name := range []string{"properties", "surfaceUpdate", "properties", "components", "items", "properties", "component", "properties"} {
		at = at.(object)[name]
	}
	literals := func(types ...string) object {
		properties := object{"path": object{"type": "string"}}
		for _, t := range types {
			properties["literal"+strings.ToUpper(t[:1])+t[1:]] = object{"type": t}
		}
		return object{"type": "object", "additionalProperties": false, "properties": properties}
	}
	action := at.(object)["Button"].(object)["properties"].(object)["action"]
	for _, c := range others() {
		properties, required := object{}, []any{}
		for _, p := range c.Properties {
			properties[p.Name] = map[a2ui.Kind]any{
				a2ui.BoundText: literals("string"), a2ui.BoundNumber: literals("number"), a2ui.BoundValue: literals("string", "number", "boolean", "array"), a2ui.BoundObject: object{"type": "object"},
				a2ui.OnAction: action, a2ui.PlainText: object{"type": "string"}, a2ui.PlainNumber: object{"type": "number"}, a2ui.Child: object{"type": "string"},
			}[p.Kind]
			if p.Required {
				required = append(required, p.Name)
			}
		}
		at.(object)[c.Name] = object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
}

// said is a message and where it comes from.
type said struct {
	Version a2ui.Version    `json:"version"`
	Name    string          `json:"name"`
	Message json.RawMessage `json:"message"`
	Valid   bool            `json:"valid"`
}

// TestTemplatesAreValid holds that every message of every template, and the
// sequence that the map began with, are what the official schemas want, judged
// in Go and by ajv.
func TestTemplatesAreValid(t *testing.T) {
	t.Parallel()
	o := loadOfficial(t)
	var all []said
	for name, s := range samples(t) {
		if problems := s.Check(nil); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		for _, v := range a2ui.Versions() {
			messages, err := a2ui.Encode(s, v, a2ui.EncodeOptions{Replaces: true})
			if err != nil {
				t.Errorf("%s in %s: %v", name, v, err)
			}
			for _, m := range messages {
				all = append(all, said{v, name, m, true})
			}
		}
	}
	for _, m := range firstMap() {
		all = append(all, said{a2ui.V08, "the first map", json.RawMessage(m), true})
	}
	component := func(c string) json.RawMessage {
		return json.RawMessage(`{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[` + c + `]}}`)
	}
	for _, bad := range []string{ // a judge that lets these through judges nothing
		`{"id":"root","component":"foo:Bar"}`, `{"id":"root","component":"googlemaps:MapView","latitude":1,"longitude":2,"bogus":3}`, `{"id":"root","component":"Text"}`,
	} {
		newer := bytes.Replace(component(bad), []byte("v0.9"), []byte("v1.0"), 1)
		all = append(all, said{a2ui.V09, bad, component(bad), false}, said{a2ui.V10, bad, newer, false})
	}
	all = append(all,
		said{a2ui.V08, "data as an object", json.RawMessage(`{"dataModelUpdate":{"surfaceId":"s","contents":{"a":1}}}`), false},
		said{a2ui.V08, "an unknown component", json.RawMessage(`{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"root","component":{"foo:Bar":{}}}]}}`), false},
	)
	for _, m := range all {
		if err := o.schema[m.Version].Validate(parse(t, m.Message)); (err == nil) != m.Valid {
			t.Errorf("%s in %s, %s: valid should be %v: %v", m.Name, m.Version, m.Message, m.Valid, err)
		}
	}
	t.Run("ajv", func(t *testing.T) {
		t.Parallel()
		work, err := json.Marshal(object{"main": o.main, "resources": o.resources, "messages": all})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "messages.json")
		if err := os.WriteFile(file, work, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := o.node.Run(t, 5*time.Minute, "a2ui_schemas.mjs", file)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var verdict struct {
			Judged int
			Wrong  []json.RawMessage
		}
		if err := json.Unmarshal(out, &verdict); err != nil || verdict.Judged != len(all) || len(verdict.Wrong) > 0 {
			t.Errorf("ajv: %v; %d of %d judged, otherwise than expected:\n%s", err, verdict.Judged, len(all), bytes.Join(raws(verdict.Wrong), []byte("\n")))
		}
	})
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// firstMap is the sequence of v0.8 that shows where a transaction was, with its
// data in the official form.
func firstMap() []string {
	return []string{
		`{"surfaceUpdate":{"surfaceId":"main_surface","components":[
			{"id":"root","component":{"Column":{"children":{"explicitList":["txdetail","map"]}}}},
			{"id":"txdetail","component":{"Text":{"text":{"path":"/transaction/description"}}}},
			{"id":"map","component":{"googlemaps:MapView":{"latitude":{"path":"/location/latitude"},"longitude":{"path":"/location/longitude"},"label":{"path":"/location/label"},"zoom":15}}}]}}`,
		`{"dataModelUpdate":{"surfaceId":"main_surface","contents":[
			{"key":"location","valueMap":[{"key":"label","valueString":"Tesco, London, UK"},{"key":"latitude","valueNumber":51.5074},{"key":"longitude","valueNumber":-0.1278}]},
			{"key":"transaction","valueMap":[{"key":"amount","valueString":"45.32"},{"key":"date","valueString":"2026-02-14"},{"key":"description","valueString":"Tesco Superstore"},
				{"key":"id","valueString":"tx_acc_current_001_003"},{"key":"type","valueString":"debit"}]}]}}`,
		`{"beginRendering":{"surfaceId":"main_surface","root":"root"}}`,
	}
}

// samples is surfaces by name: the map, and the bank's templates with something
// in every place.
func samples(t *testing.T) map[string]*a2ui.Surface {
	t.Helper()
	list, err := a2ui.ReadSurfaces([]byte("[" + strings.Join(firstMap(), ",") + "]"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d surfaces, %v", len(list), err)
	}
	list[0].Catalogs = []string{a2ui.MapsCatalogID}
	out := map[string]*a2ui.Surface{"the map": &list[0]}
	files, err := filepath.Glob(filepath.Join(program.Root(t), "packs", "bank", "templates", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s a2ui.Surface
		if err := json.Unmarshal(filled(text), &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = &s
	}
	for _, name := range []string{"account_detail", "account_overview", "credit_card_statement", "mortgage_summary", "savings_summary", "transaction_app", "transaction_list", "transaction_location"} {
		if out[name+".json"] == nil {
			t.Fatalf("the bank has no template %s", name)
		}
	}
	return out
}

// filled puts something into the places of a template: lists and objects where
// their names say so, numbers for coordinates, words elsewhere.
func filled(text []byte) []byte {
	const one = `{"id":"x1","name":"Current","type":"debit","balance":"1,204.10","currency":"GBP","number":"****1234","date":"2026-02-14","description":"Tesco","amount":"45.32",` +
		`"address":"1 High Street","outstanding":182000.5,"rate":4.1,"nested":{"list":[1,[true,null],{"deep":{"er":"x"}}]}}`
	values := map[string]string{"latitude": "51.5", "longitude": "-0.12", "more": `"more"`}
	for _, name := range []string{"accounts", "transactions", "savings", "others"} {
		values[name] = "[" + one + "," + one + "]"
	}
	for _, name := range []string{"account", "card", "mortgage", "transaction"} {
		values[name] = one
	}
	whole := regexp.MustCompile(`"\{\{([a-z_]+)\}\}"`)
	return whole.ReplaceAllFunc(text, func(found []byte) []byte {
		if v, ok := values[string(whole.FindSubmatch(found)[1])]; ok {
			return []byte(v)
		}
		return []byte(`"words"`)
	})
}

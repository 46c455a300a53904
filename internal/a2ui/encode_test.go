package a2ui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// same compares JSON by what it says.
func same(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s", diff)
	}
}

func encode(t *testing.T, s *a2ui.Surface, v a2ui.Version) []json.RawMessage {
	t.Helper()
	list, err := a2ui.Encode(s, v, a2ui.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMapInEveryVersion(t *testing.T) {
	t.Parallel()
	s := surface(`{"transaction":{"description":"Tesco Superstore","amount":"45.32","date":"2026-02-14","id":"tx_acc_current_001_003","type":"debit"},"location":{"latitude":51.5074,"longitude":-0.1278,"label":"Tesco, London, UK"}}`,
		`{"id":"root","component":"Column","children":["txdetail","map"]}`, `{"id":"txdetail","component":"Text","text":{"path":"/transaction/description"}}`,
		`{"id":"map","component":"googlemaps:MapView","latitude":{"path":"/location/latitude"},"longitude":{"path":"/location/longitude"},"label":{"path":"/location/label"},"zoom":15}`)
	s.Catalogs = []string{a2ui.MapsCatalogID}
	old := encode(t, s, a2ui.V08)
	if len(old) != 3 {
		t.Fatalf("%d messages: %s", len(old), old)
	}
	want := firstMap()
	want[2] = `{"beginRendering":{"surfaceId":"main_surface","root":"root","catalogId":"` + a2ui.MapsCatalogID + `"}}`
	for i := range old {
		same(t, want[i], old[i])
	}
	list := encode(t, s, a2ui.V09)
	same(t, `{"version":"v0.9","createSurface":{"surfaceId":"main_surface","catalogId":"`+a2ui.MapsCatalogID+`"}}`, list[0])
	components, err := json.Marshal(s.Components)
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"version":"v0.9","updateComponents":{"surfaceId":"main_surface","components":`+string(components)+`}}`, list[1])
	same(t, `{"version":"v0.9","updateDataModel":{"surfaceId":"main_surface","path":"/","value":`+string(s.Data)+`}}`, list[2])
	newer := encode(t, s, a2ui.V10)
	if len(newer) != 1 || !strings.Contains(string(newer[0]), `"catalogId":"`+a2ui.BasicCatalogID(a2ui.V10)+`","children"`) {
		t.Errorf("a basic component on a surface of another catalog says so: %s", newer)
	}
}

func TestDeepDataInOldMessages(t *testing.T) {
	t.Parallel()
	s := surface(`{"a":{"b":{"c":{"d":1}},"x":true},"l":["p",{"q":"r"}],"n":null,"empty":{},"z/~":{"k":{"v":"w"}}}`, `{"id":"root","component":"Divider"}`)
	list := encode(t, s, a2ui.V08)
	var got []string
	for _, m := range list[1 : len(list)-1] {
		got = append(got, string(m))
	}
	want := []string{
		`{"dataModelUpdate":{"contents":[{"key":"a","valueMap":[{"key":"x","valueBoolean":true}]},{"key":"empty","valueMap":[]},{"key":"l","valueMap":[{"key":"0","valueString":"p"}]},{"key":"z/~","valueMap":[]}],"surfaceId":"main_surface"}}`,
		`{"dataModelUpdate":{"contents":[{"key":"c","valueMap":[{"key":"d","valueNumber":1}]}],"path":"/a/b","surfaceId":"main_surface"}}`,
		`{"dataModelUpdate":{"contents":[{"key":"q","valueString":"r"}],"path":"/l/1","surfaceId":"main_surface"}}`,
		`{"dataModelUpdate":{"contents":[{"key":"v","valueString":"w"}],"path":"/z~1~0/k","surfaceId":"main_surface"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	back, err := a2ui.ReadSurfaces([]byte("[" + string(jsonList(list)) + "]"))
	if err != nil || len(back) != 1 {
		t.Fatalf("%d, %v", len(back), err)
	}
	same(t, `{"a":{"b":{"c":{"d":1}},"x":true},"l":{"0":"p","1":{"q":"r"}},"empty":{},"z/~":{"k":{"v":"w"}}}`, back[0].Data)
}

func jsonList(list []json.RawMessage) []byte {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	return []byte(strings.Join(texts, ","))
}

func TestWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	calls := surface("", `{"id":"root","component":"Text","text":{"call":"formatString","args":{"value":"${/a}"}}}`)
	for name, c := range map[string]struct {
		s    *a2ui.Surface
		v    a2ui.Version
		want string
	}{
		"a broken surface":     {surface(""), a2ui.V09, "root"},
		"a wrong one":          {surface("", `{"id":"root","component":"Text"}`), a2ui.V09, "root.text"},
		"a function in v0.8":   {calls, a2ui.V08, "v0.8 has no functions"},
		"an unspoken version":  {surface("", `{"id":"root","component":"Divider"}`), "v0.7", `"v0.7" is not supported`},
		"an unwritten version": {surface("", `{"id":"root","component":"Divider"}`), "", "is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if list, err := a2ui.Encode(c.s, c.v, a2ui.EncodeOptions{}); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), c.want) || list != nil {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// draw makes surfaces that nothing is wrong with.
type draw struct {
	*rapid.T
	known     []a2ui.Catalog
	functions bool
	n         int
	out       []json.RawMessage
	catalogs  map[string]bool
}

func (d *draw) text(label string) string {
	return rapid.StringMatching(`[ -~é✓]{0,8}`).Draw(d.T, label)
}

func (d *draw) flag(label string) bool { return rapid.Bool().Draw(d.T, label) }

// bound is a literal, or a path, or a call.
func (d *draw) bound(v any) any {
	switch rapid.IntRange(0, 3).Draw(d.T, "bound") {
	case 0:
		return map[string]any{"path": "/" + rapid.StringMatching(`[a-z]{1,3}(/[a-z0-9]{1,2})?`).Draw(d.T, "path")}
	case 1:
		if _, ok := v.(string); ok && d.functions {
			return map[string]any{"call": "formatString", "args": map[string]any{"value": "a ${/b}"}, "returnType": "string"}
		}
	}
	return v
}

func (d *draw) value(p a2ui.Property, depth int) any {
	switch p.Kind {
	case a2ui.BoundText:
		return d.bound(d.text(p.Name))
	case a2ui.BoundDate:
		return d.bound(rapid.SampledFrom([]string{"2026-02-14", "10:30:00Z", "2026-02-14T10:30:00+01:00"}).Draw(d.T, p.Name))
	case a2ui.BoundNumber:
		return d.bound(rapid.Float64Range(-1e6, 1e6).Draw(d.T, p.Name))
	case a2ui.BoundBool:
		return d.bound(d.flag(p.Name))
	case a2ui.BoundTexts:
		return d.bound([]string{d.text(p.Name), "b"})
	case a2ui.BoundValue:
		return d.bound(rapid.SampledFrom([]any{"x", 1.5, true, []any{1, "a"}}).Draw(d.T, p.Name))
	case a2ui.BoundObject:
		return map[string]any{"a": d.bound(1), "b": d.bound("x")}
	case a2ui.PlainText:
		return d.text(p.Name)
	case a2ui.PlainNumber:
		return rapid.IntRange(0, 20).Draw(d.T, p.Name)
	case a2ui.PlainBool:
		return d.flag(p.Name)
	case a2ui.PlainObject:
		return map[string]any{"label": d.text(p.Name)}
	case a2ui.Choice, a2ui.IconName:
		return rapid.SampledFrom(p.Choices).Draw(d.T, p.Name)
	case a2ui.Child:
		return d.component("", depth+1)
	case a2ui.Children:
		if d.flag("template") {
			return map[string]any{"componentId": d.component("", depth+1), "path": "/l"}
		}
		ids := []string{}
		for range rapid.IntRange(0, 3).Draw(d.T, "children") {
			ids = append(ids, d.component("", depth+1))
		}
		return ids
	case a2ui.TabList:
		return []any{map[string]any{"title": d.bound(d.text("title")), "child": d.component("", depth+1)}}
	case a2ui.OptionList:
		return []any{map[string]any{"label": d.bound(d.text("label")), "value": d.text("value")}}
	case a2ui.OnAction:
		if d.flag("call") && d.functions {
			return map[string]any{"functionCall": map[string]any{"call": "openUrl", "args": map[string]any{"url": "https://example.com/"}, "returnType": "void"}}
		}
		return map[string]any{"event": map[string]any{"name": "go", "context": map[string]any{"a": d.bound(d.text("context")), "b": 1, "c": []any{"x"}}}}
	case a2ui.Checks:
		return []any{map[string]any{"condition": d.bound(d.flag("condition")), "message": "m"}}
	}
	panic("no such kind")
}

// component adds one and gives its id.
func (d *draw) component(id string, depth int) string {
	if id == "" {
		d.n++
		id = fmt.Sprint("c", d.n)
	}
	known := d.known
	catalog := known[rapid.IntRange(0, len(known)-1).Draw(d.T, "catalog")]
	kind := catalog.Components[rapid.IntRange(0, len(catalog.Components)-1).Draw(d.T, "component")]
	if depth > 2 {
		kind, catalog = known[0].Components[0], known[0]
	}
	if !catalog.Basic {
		d.catalogs[catalog.ID] = true
	}
	c := map[string]any{"id": id, "component": kind.Name}
	if d.flag("weight") {
		c["weight"] = 1
	}
	if d.flag("accessible") {
		c["accessibility"] = map[string]any{"label": d.text("label")}
	}
	for _, p := range kind.Properties {
		if p.Required || d.flag("given") {
			c[p.Name] = d.value(p, depth)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		d.Fatal(err)
	}
	d.out = append(d.out, text)
	return id
}

func (d *draw) surface() *a2ui.Surface {
	d.catalogs = map[string]bool{}
	d.component(a2ui.RootID, 1)
	s := &a2ui.Surface{ID: "s", Components: d.out, Data: json.RawMessage(`{"l":[{"a":1},{"a":[true,null]}],"t":"x"}`)}
	for _, c := range d.known {
		if d.catalogs[c.ID] {
			s.Catalogs = append(s.Catalogs, c.ID)
		}
	}
	return s
}

// TestWhatIsWrittenIsValid draws surfaces of all components: nothing is wrong
// with them, every version of them is what the official schemas want, and read
// again they are what they were, as far as the version can say it.
func TestWhatIsWrittenIsValid(t *testing.T) {
	t.Parallel()
	o, known := loadOfficial(t), a2ui.BuiltinCatalogs().All()
	rapid.Check(t, func(rt *rapid.T) {
		d := &draw{T: rt, known: known, functions: rapid.Bool().Draw(rt, "functions")}
		s := d.surface()
		if problems := s.Check(nil); len(problems) > 0 {
			rt.Fatalf("%v", problems)
		}
		for _, v := range a2ui.Versions() {
			list, err := a2ui.Encode(s, v, a2ui.EncodeOptions{})
			if err != nil {
				if v == a2ui.V08 && d.functions {
					continue
				}
				rt.Fatalf("%s: %v", v, err)
			}
			for _, m := range list {
				if err := o.schema[v].Validate(parse(rt, m)); err != nil {
					rt.Fatalf("%s: %s: %v", v, m, err)
				}
			}
			back, err := a2ui.ReadSurfaces([]byte("[" + string(jsonList(list)) + "]"))
			if err != nil || len(back) != 1 || len(back[0].Components) != len(s.Components) {
				rt.Fatalf("%s: read again: %d surfaces, %v", v, len(back), err)
			}
			if v != a2ui.V10 {
				if problems := back[0].Check(nil); len(problems) > 0 && len(s.Catalogs) < 2 {
					rt.Fatalf("%s: read again: %v", v, problems)
				}
			}
			if v == a2ui.V09 {
				for i := range s.Components {
					var a, b any
					if json.Unmarshal(s.Components[i], &a) != nil || json.Unmarshal(back[0].Components[i], &b) != nil || !cmp.Equal(a, b) {
						rt.Fatalf("%s became %s", s.Components[i], back[0].Components[i])
					}
				}
			}
		}
	})
}

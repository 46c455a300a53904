package a2ui_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

const when = `"timestamp":"2026-02-14T10:00:00Z"`

// fromClients is what clients say, by version.
func fromClients() map[a2ui.Version]string {
	return map[a2ui.Version]string{
		a2ui.V08: `{"userAction":{"name":"show","surfaceId":"s","sourceComponentId":"b",` + when + `,"context":{"id":"tx1"}}}`,
		a2ui.V09: `{"version":"v0.9","action":{"name":"show","surfaceId":"s","sourceComponentId":"b",` + when + `,"context":{"id":"tx1"}}}`,
		a2ui.V10: `{"version":"v1.0","action":{"name":"show","surfaceId":"s","sourceComponentId":"b",` + when + `,"context":{"id":"tx1"},"userMessage":"show the other"}}`,
	}
}

func TestActionsOfEveryVersion(t *testing.T) {
	t.Parallel()
	for v, text := range fromClients() {
		want := a2ui.Action{Surface: "s", Component: "b", Name: "show", Context: json.RawMessage(`{"id":"tx1"}`)}
		sentence := `pressed show {"id":"tx1"}`
		if v == a2ui.V10 {
			want.Text, sentence = "show the other", "show the other"
		}
		got, err := a2ui.ReadAction([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" || got.Describe() != sentence {
			t.Errorf("%s: %v, %s, %q", v, err, diff, got.Describe())
		}
	}
}

func TestClientsMatchTheSchemas(t *testing.T) {
	t.Parallel()
	o := loadOfficial(t)
	for v, text := range fromClients() {
		if err := o.client[v].Validate(parse(t, []byte(text))); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	if err := o.client[a2ui.V09].Validate(parse(t, []byte(unknownComponent))); err != nil {
		t.Error(err)
	}
}

const unknownComponent = `{"version":"v0.9","error":{"code":"VALIDATION_FAILED","surfaceId":"s","path":"/components/3","message":"no component foo:Bar"}}`

func TestReportsOfClients(t *testing.T) {
	t.Parallel()
	_, err := a2ui.ReadAction([]byte(unknownComponent))
	r, ok := errors.AsType[*a2ui.RenderError](err)
	if want := (a2ui.RenderError{Code: "VALIDATION_FAILED", Surface: "s", Path: "/components/3", Message: "no component foo:Bar"}); !ok || *r != want || !strings.Contains(r.Error(), "at /components/3") {
		t.Errorf("%v", err)
	}
	_, err = a2ui.ReadAction([]byte(`{"error":{"anything":["goes"]}}`)) // v0.8
	if r, ok := errors.AsType[*a2ui.RenderError](err); !ok || !strings.Contains(r.Message, "goes") {
		t.Errorf("%v", err)
	}
	texts := fromClients()
	actions, reports, err := a2ui.ReadActions([]byte("[" + texts[a2ui.V09] + "," + unknownComponent + "]"))
	if err != nil || len(actions) != 1 || len(reports) != 1 {
		t.Errorf("%d actions, %d reports, %v", len(actions), len(reports), err)
	}
	if actions, _, err := a2ui.ReadActions([]byte(" " + texts[a2ui.V08])); err != nil || len(actions) != 1 {
		t.Errorf("%d actions, %v", len(actions), err)
	}
}

func TestBadMessagesOfClients(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": ``, "no object": `7`, "empty": `{}`, "two at once": `{"action":{"name":"a","surfaceId":"s"},"error":{}}`, "both names": `{"action":{"name":"a","surfaceId":"s"},"userAction":{"name":"a","surfaceId":"s"}}`,
		"a name twice": `{"action":{"name":"a","name":"b","surfaceId":"s"}}`, "another version": `{"version":"v9","action":{"name":"a","surfaceId":"s"}}`, "no name": `{"action":{"surfaceId":"s"}}`,
		"context that is a list": `{"action":{"name":"a","surfaceId":"s","context":[]}}`, "an endless id": `{"action":{"name":"a","surfaceId":"` + strings.Repeat("s", 300) + `"}}`,
	} {
		if _, err := a2ui.ReadAction([]byte(text)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := a2ui.ReadActions([]byte("[" + strings.Repeat("{},", 200) + "{}]")); err == nil {
		t.Error("201 messages at once were read")
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	caps := func(name, text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(text)}
	}
	const mapsToo = `"supportedCatalogIds":["https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json","` + a2ui.MapsCatalogID + `"]`
	plain := surface("", `{"id":"root","component":"Divider"}`)
	maps := &a2ui.Surface{Catalogs: []string{a2ui.MapsCatalogID}}
	bank := &a2ui.Surface{Catalogs: []string{a2ui.BankingCatalogID, a2ui.MapsCatalogID}}
	for name, c := range map[string]struct {
		uris             []string
		metadata         map[string]json.RawMessage
		version          a2ui.Version // "" is text alone
		mime             string
		plain, map_, all bool
	}{
		"nothing":                    {},
		"other extensions":           {uris: []string{"https://example.com/x"}},
		"v0.9.1":                     {uris: []string{a2ui.ExtensionURI(a2ui.V08), a2ui.ExtensionURI091}, version: a2ui.V09, mime: a2ui.MIMEType, plain: true, map_: true, all: true},
		"v0.9":                       {uris: []string{a2ui.ExtensionURI(a2ui.V09)}, version: a2ui.V09, mime: "application/json+a2ui", plain: true, map_: true, all: true},
		"v0.8 with its catalogs":     {[]string{a2ui.ExtensionURI(a2ui.V08)}, caps("a2uiClientCapabilities", `{"supportedCatalogIds":["`+a2ui.BasicCatalogID(a2ui.V08)+`"]}`), a2ui.V08, "application/json+a2ui", true, false, false},
		"v0.9 by capabilities alone": {nil, caps("a2uiClientCapabilities", `{"v0.9":{`+mapsToo+`}}`), a2ui.V09, a2ui.MIMEType, true, true, false},
		"v1.0":                       {[]string{a2ui.ExtensionURI(a2ui.V10)}, caps("a2uiRendererCapabilities", `{"v1.0":{`+mapsToo+`}}`), a2ui.V10, a2ui.MIMEType, true, true, false},
		"a client without catalogs":  {[]string{a2ui.ExtensionURI(a2ui.V10)}, caps("a2uiRendererCapabilities", `{"v1.0":{"supportedCatalogIds":[]}}`), a2ui.V10, a2ui.MIMEType, false, false, false},
		"capabilities that are none": {nil, caps("a2uiClientCapabilities", `"v0.9"`), "", "", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, ok := a2ui.Negotiate(c.uris, c.metadata)
			if ok != (c.version != "") || client.Version != c.version {
				t.Fatalf("%+v %v", client, ok)
			}
			if !ok {
				return
			}
			known := a2ui.BuiltinCatalogs()
			if client.MIMEType() != c.mime || client.CanDraw(plain, known) != c.plain || client.CanDraw(maps, known) != c.map_ || client.CanDraw(bank, known) != c.all {
				t.Errorf("%+v: %s %v %v %v", client, client.MIMEType(), client.CanDraw(plain, known), client.CanDraw(maps, known), client.CanDraw(bank, known))
			}
			if removed := (&a2ui.Surface{Catalogs: []string{"https://fleet.example.com/removed.json"}}); client.CanDraw(removed, known) {
				t.Errorf("%+v counts as having a catalog that is not known", client)
			}
			if parts := client.DataParts([]json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":2}`)}); (len(parts) == 2) != (c.version == a2ui.V08) {
				t.Errorf("%s", parts)
			}
		})
	}
}

func FuzzReadActions(f *testing.F) {
	for _, text := range fromClients() {
		f.Add([]byte(text))
	}
	f.Add([]byte("[" + unknownComponent + "]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		actions, _, err := a2ui.ReadActions(text)
		for i := range actions {
			if err != nil || actions[i].Check() != nil || actions[i].Describe() == "" {
				t.Errorf("%v, %+v", err, actions[i])
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("[" + strings.Join(firstMap(), ",") + "]"))
	f.Add([]byte(`[{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"x"}},{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[{"id":"root","component":"Text","text":"a"}]}},{"version":"v0.9","updateDataModel":{"surfaceId":"s","path":"/a/0/b","value":[1]}}]`))
	f.Add([]byte(`{"version":"v1.0","createSurface":{"surfaceId":"s","components":[{"id":"root","component":"Divider","catalogId":"y","metadata":{}}],"dataModel":{"a":{}}}}`))
	f.Add([]byte(`[{"deleteSurface":{"surfaceId":"s"}},{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"r","component":{"MultipleChoice":{"selections":{"literalArray":["a"]},"options":[]}}}]}},{"beginRendering":{"surfaceId":"s","root":"r"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _ := a2ui.ReadSurfaces(text)
		for i := range list {
			problems := list[i].Check(nil)
			if err := list[i].FirstProblem(problems, a2ui.GradeBroken); err != nil {
				t.Errorf("%v", err)
			}
			_, err := a2ui.Encode(&list[i], a2ui.V09, a2ui.EncodeOptions{})
			if wrong := list[i].FirstProblem(problems, a2ui.GradeWrong); err != nil && wrong == nil {
				t.Errorf("%v", err)
			}
		}
	})
}

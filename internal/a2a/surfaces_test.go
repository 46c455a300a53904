package a2a

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
)

// What an agent shows reaches a client in the version that it draws, and one that
// draws nothing as text alone.
func TestSurfaces(t *testing.T) {
	t.Parallel()
	p := open(t)
	const at = "https://a2ui.org/a2a-extension/a2ui/"
	for name, c := range map[string]struct{ header, more, kind, has, not string }{
		"nothing said":          {"", "", "", "", `"data"`},
		"v0.9.1":                {"A2A-Extensions: " + at + "v0.9.1", "", "application/a2ui+json", `"data":[{"createSurface"`, ""},
		"v0.9, by the old name": {"X-A2A-Extensions: https://other.example, " + at + "v0.9", "", "application/json+a2ui", `"data":[{"createSurface"`, ""},
		"v1.0":                  {"A2A-Extensions: " + at + "v1.0", "", "application/a2ui+json", `"version":"v1.0"`, ""},
		"v0.8":                  {"A2A-Extensions: " + at + "v0.8", "", "application/json+a2ui", `"data":{"beginRendering"`, `"data":[`},
		"by capabilities":       {"", `,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"]}}}`, "application/a2ui+json", `"createSurface"`, ""},
		"other catalogs alone":  {"", `,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["https://other.example/catalog.json"]}}}`, "", "", `"data"`},
	} {
		a := p.call("SendMessage", said("show", c.more), c.header)
		text := string(a.Result)
		if a.Error != nil || !strings.Contains(text, "TASK_STATE_COMPLETED") || !strings.Contains(text, c.has) || c.not != "" && strings.Contains(text, c.not) || c.kind != "" && !strings.Contains(text, `"mimeType":"`+c.kind+`"`) {
			t.Errorf("%s: %+v %s", name, a.Error, text)
		}
	}
	r := p.send("POST", "/a2a/parrot", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"show"}]}}}`,
		"A2A-Version: -", "X-A2A-Extensions: "+at+"v0.9")
	if strings.Contains(r.body, `"value":[`) || strings.Count(r.body, `"kind":"data"`) < 2 {
		t.Errorf("version 0.3 has no lists in data: %s", r.body)
	}
	first := p.say("show", `},"configuration":{}`, "A2A-Extensions: "+at+"v0.9")
	a := p.call("SendMessage", said("show", `,"contextId":"`+first.ContextID+`"`), "A2A-Extensions: "+at+"v0.9")
	if !strings.Contains(string(a.Result), "deleteSurface") {
		t.Errorf("a surface that is there is not replaced: %s", a.Result)
	}
}

// A client that names the catalog of Apps is shown Apps, by the addresses of
// their servers; others are not.
func TestAppsOutside(t *testing.T) {
	t.Parallel()
	p := open(t)
	const basic, apps = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json", "https://aibank.local/catalogs/mcp-v1.json"
	for name, c := range map[string]struct {
		more  string
		shown bool
	}{
		"it names it":    {`,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["` + basic + `","` + apps + `"]}}}`, true},
		"it names none":  {`,"extensions":["https://a2ui.org/a2a-extension/a2ui/v0.9"]`, false},
		"it names other": {`,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["` + basic + `"]}}}`, false},
		"it says none":   {"", false},
	} {
		text := string(p.call("SendMessage", said("app", c.more)).Result)
		if !strings.Contains(text, "TASK_STATE_COMPLETED") || strings.Contains(text, `"mcpEndpointUrl":"https://junctor.example/mcp/s/map"`) != c.shown || strings.Contains(text, "Polly heard app") == c.shown {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Components that an admin registered go as they are to a client that names their
// catalog, and as what stands for them to all others. The card names the catalog.
func TestRegisteredComponents(t *testing.T) {
	t.Parallel()
	p := open(t)
	catalog, err := a2ui.ReadCatalog([]byte(`{"catalogId":"https://x/fleet","components":{"fleet:Gauge":{"properties":{"label":{"$ref":"#/$defs/DynamicString"}},"required":["label"]}},
		"fallbacks":{"fleet:Gauge":[{"id":"root","component":"Text","text":{"property":"label"}}]}}`), "")
	ok(t, err)
	p.known, err = a2ui.BuiltinCatalogs().With(catalog)
	ok(t, err)
	const basic = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
	native, instead := `"component":"fleet:Gauge"`, `"component":"Text"`
	for name, c := range map[string]struct{ more, want, not string }{
		"it names it":    {`,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["` + basic + `","https://x/fleet"]}}}`, native, instead},
		"it names none":  {`,"extensions":["https://a2ui.org/a2a-extension/a2ui/v0.9"]`, instead, native},
		"it names other": {`,"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["` + basic + `"]}}}`, instead, native},
		"v0.8":           {`,"extensions":["https://a2ui.org/a2a-extension/a2ui/v0.8"]`, `"Text":{"text":{"literalString":"Speed"}}`, "fleet"},
	} {
		if text := string(p.call("SendMessage", said("gauge", c.more)).Result); !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s: %s", name, text)
		}
	}
	card, err := p.encodeCompatibleCard(t.Context(), &junctor.Agent{Name: "parrot", Tenant: junctor.DefaultTenant}, "parrot")
	if err != nil || strings.Count(string(card), `"https://x/fleet"`) != 4 {
		t.Errorf("%v %s", err, card)
	}
}

// What a person does on a surface comes to the agent, whatever the version.
func TestActions(t *testing.T) {
	t.Parallel()
	p := open(t)
	for name, part := range map[string]string{
		"v0.8":           `{"data":{"userAction":{"surfaceId":"card","sourceComponentId":"b","name":"press","timestamp":"2026-01-01T00:00:00Z","context":{"id":7}}},"metadata":{"mimeType":"application/json+a2ui"}}`,
		"v0.8, unmarked": `{"data":{"userAction":{"surfaceId":"card","sourceComponentId":"b","name":"press","timestamp":"2026-01-01T00:00:00Z","context":{"id":7}}}}`,
		"v0.9":           `{"data":[{"version":"v0.9","action":{"surfaceId":"card","sourceComponentId":"b","name":"press","timestamp":"2026-01-01T00:00:00Z","context":{"id":7}}}],"metadata":{"mimeType":"application/a2ui+json"}}`,
	} {
		a := p.call("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[`+part+`]}}`)
		if a.Error != nil || !strings.Contains(string(a.Result), "pressed press of card") || !strings.Contains(string(a.Result), `7`) {
			t.Errorf("%s: %+v %s", name, a.Error, a.Result)
		}
	}
	if a := p.call("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"action":5},"metadata":{"mimeType":"application/a2ui+json"}}]}}`); a.code() != -32602 {
		t.Errorf("no action: %+v", a)
	}
	a := p.call("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"version":"v0.9","error":{"code":"UNKNOWN_COMPONENT","surfaceId":"card","path":"/x","message":"no Foo here"}},"metadata":{"mimeType":"application/a2ui+json"}}]}}`)
	if !strings.Contains(string(a.Result), "no Foo here") {
		t.Errorf("what could not be shown is not told: %+v %s", a.Error, a.Result)
	}
}

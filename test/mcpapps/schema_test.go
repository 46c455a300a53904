// Package mcpapps holds the public package mcpapps against what others made:
// the official schema of MCP Apps, the official script for pages and hosts, and
// official clients of both eras at a server that was written with it.
package mcpapps

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// trip reads JSON into the type that a definition belongs to, and writes it.
type trip func(data []byte) ([]byte, error)

// roundTrip is the round trip of a plain type.
func roundTrip[T any](data []byte) ([]byte, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// message is the round trip of a message that a party sends.
func message(from mcpapps.Party) trip {
	return func(data []byte) ([]byte, error) {
		var f struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		m, ok := mcpapps.FindMethod(from, f.Method)
		if !ok {
			return nil, fmt.Errorf("%s does not send %s", from, f.Method)
		}
		v, err := m.DecodeParams(f.Params)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"method": m.Name, "params": v})
	}
}

// types says what each definition of the schema is in Go.
func types() map[string]trip {
	view, host, proxy := message(mcpapps.PartyView), message(mcpapps.PartyHost), message(mcpapps.PartyProxy)
	return map[string]trip{
		"McpUiAppCapabilities":                  roundTrip[mcpapps.AppCapabilities],
		"McpUiClientCapabilities":               roundTrip[mcpapps.ClientCapabilities],
		"McpUiDisplayMode":                      roundTrip[mcpapps.DisplayMode],
		"McpUiDownloadFileRequest":              view,
		"McpUiDownloadFileResult":               roundTrip[mcpapps.ActionResult],
		"McpUiHostCapabilities":                 roundTrip[mcpapps.HostCapabilities],
		"McpUiHostContext":                      roundTrip[mcpapps.HostContext],
		"McpUiHostContextChangedNotification":   host,
		"McpUiHostCss":                          roundTrip[mcpapps.CSS],
		"McpUiHostStyles":                       roundTrip[mcpapps.Styles],
		"McpUiInitializeRequest":                view,
		"McpUiInitializeResult":                 roundTrip[mcpapps.InitializeResult],
		"McpUiInitializedNotification":          view,
		"McpUiMessageRequest":                   view,
		"McpUiMessageResult":                    roundTrip[mcpapps.ActionResult],
		"McpUiOpenLinkRequest":                  view,
		"McpUiOpenLinkResult":                   roundTrip[mcpapps.ActionResult],
		"McpUiRequestDisplayModeRequest":        view,
		"McpUiRequestDisplayModeResult":         roundTrip[mcpapps.RequestDisplayModeResult],
		"McpUiRequestTeardownNotification":      view,
		"McpUiResourceCsp":                      roundTrip[mcpapps.CSP],
		"McpUiResourceMeta":                     roundTrip[mcpapps.ResourceMeta],
		"McpUiResourcePermissions":              roundTrip[mcpapps.Permissions],
		"McpUiResourceTeardownRequest":          host,
		"McpUiResourceTeardownResult":           roundTrip[mcpapps.UntypedResult],
		"McpUiSandboxProxyReadyNotification":    proxy,
		"McpUiSandboxResourceReadyNotification": host,
		"McpUiSizeChangedNotification":          view,
		"McpUiStyleVariableKey":                 roundTrip[mcpapps.StyleVariable],
		"McpUiStyles":                           roundTrip[map[mcpapps.StyleVariable]string],
		"McpUiSupportedContentBlockModalities":  roundTrip[mcpapps.Modalities],
		"McpUiTheme":                            roundTrip[mcpapps.Theme],
		"McpUiToolCancelledNotification":        host,
		"McpUiToolInputNotification":            host,
		"McpUiToolInputPartialNotification":     host,
		"McpUiToolMeta":                         roundTrip[mcpapps.ToolMeta],
		"McpUiToolResultNotification":           host,
		"McpUiToolVisibility":                   roundTrip[mcpapps.Visibility],
		"McpUiUpdateModelContextRequest":        view,
	}
}

// definitions reads the official schema. Each definition is a schema of its
// own: its references are to itself.
func definitions(t *testing.T) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile(program.FindNode(t).Module("@modelcontextprotocol/ext-apps/dist/src/generated/schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, def := range doc.Defs {
		mendSchema(def)
	}
	return doc.Defs
}

// mendSchema opens the parts of an allOf. The schema closes each of them, so that no
// value with keys of both could ever be valid (a container's height and width).
func mendSchema(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		all, _ := s["allOf"].([]any)
		for _, part := range all {
			branches, _ := part.(map[string]any)["anyOf"].([]any)
			for _, b := range branches {
				delete(b.(map[string]any), "additionalProperties")
			}
		}
		for _, v := range s {
			mendSchema(v)
		}
	case []any:
		for _, v := range s {
			mendSchema(v)
		}
	}
}

// TestEveryDefinitionRoundTrips makes values of every definition, reads them
// into our types and writes them: nothing is lost, and what we write is valid.
func TestEveryDefinitionRoundTrips(t *testing.T) {
	t.Parallel()
	defs := definitions(t)
	if d := cmp.Diff(slices.Sorted(maps.Keys(defs)), slices.Sorted(maps.Keys(types()))); d != "" {
		t.Fatalf("the schema's definitions are not ours (-schema +ours):\n%s", d)
	}
	for name, def := range defs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := jsonschema.NewCompiler()
			if err := c.AddResource("https://schema.example/"+name, def); err != nil {
				t.Fatal(err)
			}
			schema, err := c.Compile("https://schema.example/" + name)
			if err != nil {
				t.Fatal(err)
			}
			there := types()[name]
			rapid.Check(t, func(t *rapid.T) {
				want := maker{root: def}.value(t, def, 0)
				in, err := json.Marshal(want)
				if err != nil {
					t.Fatal(err)
				}
				checkValid(t, schema, in)
				out, err := there(in)
				if err != nil {
					t.Fatalf("%s cannot be read: %v", in, err)
				}
				checkValid(t, schema, out)
				if d := cmp.Diff(normalizeJSON(t, in), normalizeJSON(t, out)); d != "" {
					t.Fatalf("%s\nbecame %s (-schema +ours):\n%s", in, out, d)
				}
			})
		})
	}
	t.Logf("figure: %d definitions of the official schema round-trip", len(defs))
}

func checkValid(t *rapid.T, schema *jsonschema.Schema, data []byte) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Fatalf("%s is not valid: %v", data, err)
	}
}

// normalizeJSON is a value in which what says nothing is left away: params that are
// empty, flags that are false and lists of icons without any.
func normalizeJSON(t *rapid.T, data []byte) any {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return normalizeValue(v)
}

func normalizeValue(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = normalizeValue(list[i])
			}
		}
		return v
	}
	for name, x := range m {
		m[name] = normalizeValue(x)
		list, isList := x.([]any)
		object, isObject := x.(map[string]any)
		switch {
		case (name == "isError" || name == "listChanged") && x == false,
			(name == "icons" || name == "sizes") && isList && len(list) == 0,
			name == "params" && isObject && len(object) == 0:
			delete(m, name)
		}
	}
	return m
}

// TestNamesAreTheSchemas holds lists of names against the schema's.
func TestNamesAreTheSchemas(t *testing.T) {
	t.Parallel()
	defs := definitions(t)
	ours := map[string][]string{
		"McpUiStyleVariableKey": {},
		"McpUiDisplayMode":      {string(mcpapps.DisplayInline), string(mcpapps.DisplayFullscreen), string(mcpapps.DisplayPIP)},
		"McpUiTheme":            {string(mcpapps.ThemeLight), string(mcpapps.ThemeDark)},
		"McpUiToolVisibility":   {string(mcpapps.VisibleToModel), string(mcpapps.VisibleToApp)},
	}
	for _, v := range mcpapps.StyleVariables() {
		ours["McpUiStyleVariableKey"] = append(ours["McpUiStyleVariableKey"], string(v))
	}
	for name, want := range ours {
		var got []string
		for _, b := range defs[name]["anyOf"].([]any) {
			got = append(got, b.(map[string]any)["const"].(string))
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s (-schema +ours):\n%s", name, d)
		}
	}
}

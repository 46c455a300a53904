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

// as is the round trip of a plain type.
func as[T any](data []byte) ([]byte, error) {
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
		m, ok := mcpapps.Lookup(from, f.Method)
		if !ok {
			return nil, fmt.Errorf("%s does not send %s", from, f.Method)
		}
		v, err := m.Params(f.Params)
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
		"McpUiAppCapabilities":                  as[mcpapps.AppCapabilities],
		"McpUiClientCapabilities":               as[mcpapps.ClientCapabilities],
		"McpUiDisplayMode":                      as[mcpapps.DisplayMode],
		"McpUiDownloadFileRequest":              view,
		"McpUiDownloadFileResult":               as[mcpapps.Outcome],
		"McpUiHostCapabilities":                 as[mcpapps.HostCapabilities],
		"McpUiHostContext":                      as[mcpapps.HostContext],
		"McpUiHostContextChangedNotification":   host,
		"McpUiHostCss":                          as[mcpapps.CSS],
		"McpUiHostStyles":                       as[mcpapps.Styles],
		"McpUiInitializeRequest":                view,
		"McpUiInitializeResult":                 as[mcpapps.InitializeResult],
		"McpUiInitializedNotification":          view,
		"McpUiMessageRequest":                   view,
		"McpUiMessageResult":                    as[mcpapps.Outcome],
		"McpUiOpenLinkRequest":                  view,
		"McpUiOpenLinkResult":                   as[mcpapps.Outcome],
		"McpUiRequestDisplayModeRequest":        view,
		"McpUiRequestDisplayModeResult":         as[mcpapps.RequestDisplayModeResult],
		"McpUiRequestTeardownNotification":      view,
		"McpUiResourceCsp":                      as[mcpapps.CSP],
		"McpUiResourceMeta":                     as[mcpapps.ResourceMeta],
		"McpUiResourcePermissions":              as[mcpapps.Permissions],
		"McpUiResourceTeardownRequest":          host,
		"McpUiResourceTeardownResult":           as[mcpapps.OpenResult],
		"McpUiSandboxProxyReadyNotification":    proxy,
		"McpUiSandboxResourceReadyNotification": host,
		"McpUiSizeChangedNotification":          view,
		"McpUiStyleVariableKey":                 as[mcpapps.StyleVariable],
		"McpUiStyles":                           as[map[mcpapps.StyleVariable]string],
		"McpUiSupportedContentBlockModalities":  as[mcpapps.Modalities],
		"McpUiTheme":                            as[mcpapps.Theme],
		"McpUiToolCancelledNotification":        host,
		"McpUiToolInputNotification":            host,
		"McpUiToolInputPartialNotification":     host,
		"McpUiToolMeta":                         as[mcpapps.ToolMeta],
		"McpUiToolResultNotification":           host,
		"McpUiToolVisibility":                   as[mcpapps.Visibility],
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
		mend(def)
	}
	return doc.Defs
}

// mend opens the parts of an allOf. The schema closes each of them, so that no
// value with keys of both could ever be valid (a container's height and width).
func mend(schema any) {
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
			mend(v)
		}
	case []any:
		for _, v := range s {
			mend(v)
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
				valid(t, schema, in)
				out, err := there(in)
				if err != nil {
					t.Fatalf("%s cannot be read: %v", in, err)
				}
				valid(t, schema, out)
				if d := cmp.Diff(settled(t, in), settled(t, out)); d != "" {
					t.Fatalf("%s\nbecame %s (-schema +ours):\n%s", in, out, d)
				}
			})
		})
	}
	t.Logf("figure: %d definitions of the official schema round-trip", len(defs))
}

func valid(t *rapid.T, schema *jsonschema.Schema, data []byte) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Fatalf("%s is not valid: %v", data, err)
	}
}

// settled is a value in which what says nothing is left away: params that are
// empty, flags that are false and lists of icons without any.
func settled(t *rapid.T, data []byte) any {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return settle(v)
}

func settle(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = settle(list[i])
			}
		}
		return v
	}
	for name, x := range m {
		m[name] = settle(x)
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
		"McpUiDisplayMode":      {string(mcpapps.Inline), string(mcpapps.Fullscreen), string(mcpapps.PIP)},
		"McpUiTheme":            {string(mcpapps.Light), string(mcpapps.Dark)},
		"McpUiToolVisibility":   {string(mcpapps.Model), string(mcpapps.App)},
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

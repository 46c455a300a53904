package mcpapps

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/test/program"
)

// walk is what test/node/walk.mjs is told.
type walk struct {
	Client       int              `json:"client"`
	Mode         string           `json:"mode"`
	Transport    string           `json:"transport"`
	URL          string           `json:"url,omitempty"`
	Command      []string         `json:"command,omitempty"`
	Capabilities map[string]any   `json:"capabilities"`
	Steps        []map[string]any `json:"steps"`
}

// seen is what a walk through the example gave.
type seen struct {
	Steps []struct {
		Result json.RawMessage `json:"result"`
		Error  any             `json:"error"`
	} `json:"steps"`
}

// TestExampleServer lets official clients of both eras, with and without Apps,
// use the example: the same page for those that show it, text for all.
func TestExampleServer(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	binary := program.Build(t, "./examples/sales")
	addr := program.FreeAddr(t)
	program.Serve(t, addr, nil, binary, "--listen", addr)
	shows := map[string]any{"extensions": map[string]any{mcpapps.ExtensionID: map[string]any{"mimeTypes": []string{mcpapps.MIMEType}}}}
	for name, c := range map[string]struct {
		walk  walk
		shows bool
	}{
		"sdk 1.32, legacy, HTTP, with Apps":   {walk{Client: 1, Mode: "legacy", Transport: "http"}, true},
		"client 2.4, modern, HTTP, with Apps": {walk{Client: 2, Mode: "modern", Transport: "http"}, true},
		"client 2.4, modern, HTTP, without":   {walk{Client: 2, Mode: "modern", Transport: "http"}, false},
		"client 2.4, legacy, stdio, without":  {walk{Client: 2, Mode: "legacy", Transport: "stdio"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.walk
			w.URL, w.Command = "http://"+addr+"/mcp", []string{binary}
			if c.shows {
				w.Capabilities = shows
			}
			visitApp(t, node, w, c.shows)
		})
	}
}

func visitApp(t *testing.T, node *program.Node, w walk, shows bool) {
	t.Helper()
	w.Steps = []map[string]any{
		{"do": "tools"},
		{"do": "call", "call": "sales", "arguments": map[string]any{"year": 2024}},
		{"do": "read", "uri": "ui://sales/report.html"},
		{"do": "resources"},
	}
	set, err := json.Marshal([]walk{w})
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.Run(t, limit, "walk.mjs", string(set))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []seen
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 || len(all[0].Steps) != len(w.Steps) {
		t.Fatalf("%v\n%s", err, out)
	}
	s := all[0]
	var tools []struct {
		Name string          `json:"name"`
		Meta json.RawMessage `json:"_meta"`
	}
	var answer struct {
		Content []struct{ Text string } `json:"content"`
		Data    struct {
			Year     int   `json:"year"`
			Quarters []any `json:"quarters"`
		} `json:"structuredContent"`
	}
	var listed []struct {
		Meta json.RawMessage `json:"_meta"`
	}
	for i, v := range map[int]any{0: &tools, 1: &answer, 3: &listed} {
		if err := json.Unmarshal(s.Steps[i].Result, v); err != nil {
			t.Fatalf("step %d: %v in %s", i, err, out)
		}
	}
	names := map[string]mcpapps.ToolMeta{}
	for _, tool := range tools {
		names[tool.Name] = mcpapps.ParseToolMeta(tool.Meta)
	}
	want := []string{"sales"}
	if shows {
		want = []string{"orders", "sales"}
	}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(names))); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if names["sales"].ResourceURI != "ui://sales/report.html" || shows && names["orders"].IsVisibleTo(mcpapps.VisibleToModel) {
		t.Errorf("their metadata is %+v", names)
	}
	if len(answer.Content) != 1 || !strings.HasPrefix(answer.Content[0].Text, "2024: ") || answer.Data.Year != 2024 || len(answer.Data.Quarters) != 4 {
		t.Errorf("the answer is %+v", answer)
	}
	if len(listed) != 1 {
		t.Fatalf("%d pages are listed", len(listed))
	}
	page, err := mcpapps.ParsePage("ui://sales/report.html", s.Steps[2].Result, listed[0].Meta)
	if err != nil || !strings.Contains(page.HTML, "function mcpApp") || page.Meta.PrefersBorder == nil {
		t.Errorf("the page is %.200s…, %+v, %v", page.HTML, page.Meta, err)
	}
}

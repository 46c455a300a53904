package mcpapps_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/mcpapps"
)

func TestToolMetadataAsServersWriteIt(t *testing.T) {
	t.Parallel()
	nobody := []mcpapps.Visibility{}
	for name, c := range map[string]struct {
		meta string
		want mcpapps.ToolMeta
	}{
		"none":                      {``, mcpapps.ToolMeta{}},
		"null":                      {`null`, mcpapps.ToolMeta{}},
		"other keys only":           {`{"a":1}`, mcpapps.ToolMeta{}},
		"page":                      {`{"ui":{"resourceUri":"ui://a"}}`, mcpapps.ToolMeta{ResourceURI: "ui://a"}},
		"flat key only":             {`{"ui/resourceUri":"ui://a"}`, mcpapps.ToolMeta{ResourceURI: "ui://a"}},
		"both keys: the newer wins": {`{"ui/resourceUri":"ui://b","ui":{"resourceUri":"ui://a"}}`, mcpapps.ToolMeta{ResourceURI: "ui://a"}},
		"app only":                  {`{"ui":{"visibility":["app"]}}`, mcpapps.ToolMeta{Visibility: []mcpapps.Visibility{mcpapps.VisibleToApp}}},
		"nobody":                    {`{"ui":{"visibility":[]}}`, mcpapps.ToolMeta{Visibility: nobody}},
		"visibility is no list":     {`{"ui":{"resourceUri":"ui://a","visibility":"app"}}`, mcpapps.ToolMeta{ResourceURI: "ui://a", Visibility: nobody}},
		"visibility is null":        {`{"ui":{"visibility":null}}`, mcpapps.ToolMeta{Visibility: nobody}},
		"said twice":                {`{"ui":{"visibility":["app"]},"ui":{}}`, mcpapps.ToolMeta{Visibility: nobody}},
		"said twice inside":         {`{"ui":{"visibility":["app"],"visibility":["model"]}}`, mcpapps.ToolMeta{Visibility: nobody}},
		"another case is no twin":   {`{"ui":{"visibility":["app"],"Visibility":["model"]}}`, mcpapps.ToolMeta{Visibility: []mcpapps.Visibility{mcpapps.VisibleToApp}}},
		"page is no page":           {`{"ui":{"resourceUri":"https://a"}}`, mcpapps.ToolMeta{}},
		"page is no text":           {`{"ui":{"resourceUri":7}}`, mcpapps.ToolMeta{}},
		"ui is no object":           {`{"ui":"x"}`, mcpapps.ToolMeta{Visibility: nobody}},
		"no object":                 {`[]`, mcpapps.ToolMeta{Visibility: nobody}},
	} {
		got := mcpapps.ParseToolMeta([]byte(c.meta))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWhoSeesATool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		visibility []mcpapps.Visibility
		model, app bool
	}{
		{nil, true, true},
		{[]mcpapps.Visibility{}, false, false},
		{[]mcpapps.Visibility{"model"}, true, false},
		{[]mcpapps.Visibility{"app"}, false, true},
		{[]mcpapps.Visibility{"model", "app"}, true, true},
		{[]mcpapps.Visibility{"someone"}, false, false},
	} {
		m := mcpapps.ToolMeta{Visibility: c.visibility}
		if m.IsVisibleTo(mcpapps.VisibleToModel) != c.model || m.IsVisibleTo(mcpapps.VisibleToApp) != c.app {
			t.Errorf("%v: model %t, app %t", c.visibility, m.IsVisibleTo(mcpapps.VisibleToModel), m.IsVisibleTo(mcpapps.VisibleToApp))
		}
		tool := &mcp.Tool{Meta: mcp.Meta{"ui": m}}
		if got := mcpapps.ToolMetaOf(tool); cmp.Diff(m, got) != "" {
			t.Errorf("%+v comes back from a tool as %+v", m, got)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	const html = "<!doctype html><p>Zürich 東京</p>"
	blob := base64.StdEncoding.EncodeToString([]byte("\ufeff" + html))
	border := func(b bool) mcpapps.ResourceMeta { return mcpapps.ResourceMeta{PrefersBorder: &b} }
	for name, c := range map[string]struct {
		result, listed string
		want           mcpapps.ResourceMeta
		fails          string
	}{
		"text":               {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","text":"` + html + `"}]}`},
		"base64":             {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html; profile=mcp-app","blob":"` + blob + `"}]}`},
		"listed metadata":    {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","text":"` + html + `"}]}`, listed: `{"ui":{"prefersBorder":true}}`, want: border(true)},
		"content's wins":     {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","text":"` + html + `","_meta":{"ui":{"prefersBorder":false}}}]}`, listed: `{"ui":{"prefersBorder":true,"domain":"x"}}`, want: border(false)},
		"one of several":     {result: `{"contents":[{"uri":"ui://b","text":"no"},{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","text":"` + html + `"}]}`},
		"plain HTML":         {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html","text":"x"}]}`, fails: "mcp-app"},
		"no content":         {result: `{"contents":[]}`, fails: "no content"},
		"neither":            {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app"}]}`, fails: "neither"},
		"not base64":         {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","blob":"%%"}]}`, fails: "base64"},
		"not UTF-8":          {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","blob":"//8="}]}`, fails: "UTF-8"},
		"guessed permission": {result: `{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app","text":"","_meta":{"ui":{"permissions":{"camera":true}}}}]}`, fails: "object"},
	} {
		page, err := mcpapps.ParsePage("ui://a", []byte(c.result), []byte(c.listed))
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if d := cmp.Diff(mcpapps.Page{URI: "ui://a", HTML: html, Meta: c.want}, page); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

func TestAllowAttribute(t *testing.T) {
	t.Parallel()
	var p mcpapps.Permissions
	if err := json.Unmarshal([]byte(`{"camera":{},"clipboardWrite":{},"Microphone":{}}`), &p); err != nil {
		t.Fatal(err)
	}
	if got := p.AllowAttribute(); got != "camera; clipboard-write" {
		t.Error(got)
	}
}

func TestSupport(t *testing.T) {
	t.Parallel()
	for caps, want := range map[string]bool{
		``: false, `{}`: false, `{"extensions":{}}`: false,
		`{"extensions":{"io.modelcontextprotocol/ui":{}}}`:                                                    false,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`:                           false,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`:           true,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["x/y","text/html; profile=mcp-app"]}}}`:    true,
		`{"Extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`:           false,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":"text/html;profile=mcp-app"}}}`:             false,
		`{"experimental":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}},"x":[1]}`: false,
	} {
		if got := mcpapps.ParseClientSupport([]byte(caps)); got != want {
			t.Errorf("%s: %t", caps, got)
		}
	}
	caps := &mcp.ClientCapabilities{}
	if mcpapps.ClientSupportsApps(nil) || mcpapps.ClientSupportsApps(caps) {
		t.Error("supported before it is declared")
	}
	if mcpapps.DeclareClient(caps); !mcpapps.ClientSupportsApps(caps) {
		t.Error("not supported after it was declared")
	}
	data, err := json.Marshal(caps)
	if err != nil || !mcpapps.ParseClientSupport(data) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	if got := mcpapps.AddNamespace("map", "ui://cesium-map/mcp-app.html"); got != "ui://map/cesium-map/mcp-app.html" {
		t.Error(got)
	}
	for _, uri := range []string{"", "file:///x", "ui:/x", "UI://x", "ui://", "ui://x", "ui:///x"} {
		if _, _, ok := mcpapps.SplitNamespace(uri); ok {
			t.Errorf("%q was made by Namespace?", uri)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`).Draw(t, "server")
		uri := rapid.OneOf(rapid.Map(rapid.String(), func(s string) string { return "ui://" + s }), rapid.String()).Draw(t, "uri")
		named := mcpapps.AddNamespace(server, uri)
		if !strings.HasPrefix(uri, "ui://") {
			if named != uri {
				t.Fatalf("%q became %q", uri, named)
			}
			return
		}
		s, u, ok := mcpapps.SplitNamespace(named)
		if !ok || s != server || u != uri {
			t.Fatalf("%q of %q became %q and came back as %q of %q (%t)", uri, server, named, u, s, ok)
		}
	})
}

package mcpappstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/mcpapps/mcpappstest"
)

type count struct {
	N int `json:"n"`
}

func counter(t testing.TB) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	double := func(_ context.Context, _ *mcp.CallToolRequest, in count) (mcpapps.Reply[count], error) {
		return mcpapps.Reply[count]{Text: fmt.Sprint(2 * in.N), Data: count{2 * in.N}}, nil
	}
	view := &mcpapps.View{URI: "ui://count", Page: mcpapps.HTML("<!doctype html><p>")}
	if err := errors.Join(
		mcpapps.Tool(apps, view, &mcp.Tool{Name: "count"}, double),
		mcpapps.AppOnly(apps, &mcp.Tool{Name: "again"}, double),
	); err != nil {
		t.Fatal(err)
	}
	return s
}

// A View in full: what each side sends, in order.
func TestConversation(t *testing.T) {
	t.Parallel()
	h := mcpappstest.Connect(t, counter(t), mcpappstest.Options{Context: mcpapps.HostContext{Theme: mcpapps.Dark}})
	v := h.Open("count", count{3})
	v.Provide("peek", func(args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "saw " + string(args)}}}, nil
	})
	if err := v.Request("tools/call", map[string]any{"name": "again", "arguments": count{1}}, nil); err == nil {
		t.Error("a call before the handshake was answered")
	}
	if res := v.Initialize(); res.HostContext.Theme != mcpapps.Dark || res.HostContext.ToolInfo == nil {
		t.Errorf("the page is told %+v", res.HostContext)
	}
	for _, want := range []Note{{mcpapps.NoteToolInput, `{"arguments":{"n":3}}`}, {mcpapps.NoteToolResult, `"structuredContent":{"n":6}`}} {
		n, ok := v.Next()
		if !ok || n.Method != want.method || !strings.Contains(string(n.Params), want.params) {
			t.Errorf("%s %s, not %s", n.Method, n.Params, want)
		}
	}
	if d := v.Call("again", count{6}).StructuredContent.(map[string]any); d["n"] != 12.0 {
		t.Errorf("again answers %v", d)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(v.Request(mcpapps.MethodOpenLink, mcpapps.OpenLinkParams{URL: "https://a.example"}, nil))
	must(v.Request(mcpapps.MethodMessage, mcpapps.MessageParams{Role: "user", Content: mcpapps.Blocks{mcpapps.Text("hi")}}, nil))
	must(v.Request(mcpapps.MethodUpdateModelContext, mcpapps.UpdateModelContextParams{Content: []mcpapps.Block{mcpapps.Text("at 12")}}, nil))
	must(v.Request("resources/read", map[string]any{"uri": "ui://count"}, nil))
	must(v.Request("tools/list", mcpapps.None{}, nil))
	must(v.Request("ping", mcpapps.None{}, nil))
	must(v.Notify(mcpapps.NoteSizeChanged, mcpapps.SizeChangedParams{Height: new(120.0)}))
	must(v.ChangeContext(mcpapps.HostContext{Theme: mcpapps.Light}))
	var mode mcpapps.RequestDisplayModeResult
	must(v.Request(mcpapps.MethodRequestDisplayMode, mcpapps.RequestDisplayModeParams{Mode: mcpapps.Fullscreen}, &mode))
	if res, err := v.CallApp("peek", count{1}); err != nil || res.Content[0].(*mcp.TextContent).Text != `saw {"n":1}` {
		t.Errorf("the page's tool answers %+v, %v", res, err)
	}
	must(v.Notify(mcpapps.NoteRequestTeardown, mcpapps.None{}))
	if mode.Mode != mcpapps.Fullscreen || v.Height != 120 || len(v.Messages) != 1 || v.ModelContext == nil || cmp.Diff([]string{"https://a.example"}, v.Links) != "" {
		t.Errorf("the host has %+v", v)
	}
	if _, err := v.CallApp("peek", nil); err == nil {
		t.Error("a tool of a closed page was called")
	}
	if err := v.Request("ping", mcpapps.None{}, nil); err == nil {
		t.Error("a closed page was answered")
	}
	for _, e := range v.Log {
		if !json.Valid(e.Message) || e.From == "" {
			t.Errorf("an entry of the log is %s %s", e.From, e.Message)
		}
	}
}

type Note struct{ method, params string }

// What a host does not do, or a person does not want, is refused in its way.
func TestRefusals(t *testing.T) {
	t.Parallel()
	poor := mcpappstest.Connect(t, counter(t), mcpappstest.Options{Capabilities: &mcpapps.HostCapabilities{}}).Open("count", count{1})
	poor.Initialize()
	for _, c := range []struct {
		method string
		params any
	}{
		{mcpapps.MethodOpenLink, mcpapps.OpenLinkParams{URL: "https://a.example"}},
		{mcpapps.MethodDownloadFile, mcpapps.DownloadFileParams{Contents: []mcpapps.Block{}}},
		{mcpapps.MethodMessage, mcpapps.MessageParams{Role: "user"}},
		{mcpapps.MethodUpdateModelContext, mcpapps.None{}},
		{"tools/call", map[string]any{"name": "again"}},
		{"tools/list", mcpapps.None{}},
		{"resources/read", map[string]any{"uri": "ui://count"}},
		{"resources/list", mcpapps.None{}},
		{"sampling/createMessage", mcpapps.None{}},
		{mcpapps.NoteInitialized, mcpapps.None{}},
		{mcpapps.MethodResourceTeardown, mcpapps.None{}},
		{"tools/delete", mcpapps.None{}},
	} {
		var refusal *mcpappstest.Error
		if err := poor.Request(c.method, c.params, nil); !errors.As(err, &refusal) || refusal.Code == 0 {
			t.Errorf("%s: %v", c.method, err)
		}
	}
	if poor.Notify(mcpapps.NoteInitialized, mcpapps.None{}) == nil {
		t.Error("initialized was taken twice")
	}
	if poor.Notify(mcpapps.NoteToolResult, mcpapps.None{}) == nil {
		t.Error("a page said what hosts say")
	}

	shy := mcpappstest.Connect(t, counter(t), mcpappstest.Options{Refuse: true}).Open("count", count{1})
	shy.Initialize()
	var out mcpapps.Outcome
	if err := shy.Request(mcpapps.MethodOpenLink, mcpapps.OpenLinkParams{URL: "https://a.example"}, &out); err != nil || !out.IsError || len(shy.Links) > 0 {
		t.Errorf("a refused link: %+v, %v, %v", out, err, shy.Links)
	}
}

func TestCheckFindsMistakes(t *testing.T) {
	t.Parallel()
	for html, bad := range map[string]bool{
		"<!DOCTYPE html><p>":                  false,
		"<p>":                                 true,
		"<!doctype html>" + mcpapps.BridgeTag: true,
		"<!doctype html>\n<title>a</title>":   false,
	} {
		if err := mcpappstest.Check(mcpapps.Page{URI: "ui://a", HTML: html}); (err != nil) != bad {
			t.Errorf("%q: %v", html, err)
		}
	}
	if mcpappstest.Check(mcpapps.Page{HTML: "<!doctype html>", Meta: mcpapps.ResourceMeta{CSP: &mcpapps.CSP{FrameDomains: []string{"*"}}}}) == nil {
		t.Error("a policy that cannot be kept")
	}
}

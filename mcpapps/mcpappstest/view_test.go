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
		mcpapps.AddTool(apps, view, &mcp.Tool{Name: "count"}, double),
		mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "again"}, double),
	); err != nil {
		t.Fatal(err)
	}
	return s
}

// A View in full: what each side sends, in order.
func TestConversation(t *testing.T) {
	t.Parallel()
	h := mcpappstest.Connect(t, counter(t), mcpappstest.Options{Context: mcpapps.HostContext{Theme: mcpapps.ThemeDark}})
	v := h.OpenView("count", count{3})
	v.AddAppTool("peek", func(args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "saw " + string(args)}}}, nil
	})
	if err := v.Request("tools/call", map[string]any{"name": "again", "arguments": count{1}}, nil); err == nil {
		t.Error("a call before the handshake was answered")
	}
	if res := v.Initialize(); res.HostContext.Theme != mcpapps.ThemeDark || res.HostContext.ToolInfo == nil {
		t.Errorf("the page is told %+v", res.HostContext)
	}
	for _, want := range []Notification{{mcpapps.NotificationToolInput, `{"arguments":{"n":3}}`}, {mcpapps.NotificationToolResult, `"structuredContent":{"n":6}`}} {
		n, ok := v.NextNotification()
		if !ok || n.Method != want.method || !strings.Contains(string(n.Params), want.params) {
			t.Errorf("%s %s, not %s", n.Method, n.Params, want)
		}
	}
	if d := v.CallTool("again", count{6}).StructuredContent.(map[string]any); d["n"] != 12.0 {
		t.Errorf("again answers %v", d)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(v.Request(mcpapps.MethodOpenLink, mcpapps.OpenLinkParams{URL: "https://a.example"}, nil))
	must(v.Request(mcpapps.MethodMessage, mcpapps.MessageParams{Role: "user", Content: mcpapps.ContentBlocks{mcpapps.NewTextBlock("hi")}}, nil))
	must(v.Request(mcpapps.MethodUpdateModelContext, mcpapps.UpdateModelContextParams{Content: []mcpapps.ContentBlock{mcpapps.NewTextBlock("at 12")}}, nil))
	must(v.Request("resources/read", map[string]any{"uri": "ui://count"}, nil))
	must(v.Request("tools/list", mcpapps.Empty{}, nil))
	must(v.Request("ping", mcpapps.Empty{}, nil))
	must(v.Notify(mcpapps.NotificationSizeChanged, mcpapps.SizeChangedParams{Height: new(120.0)}))
	must(v.ChangeContext(mcpapps.HostContext{Theme: mcpapps.ThemeLight}))
	var mode mcpapps.RequestDisplayModeResult
	must(v.Request(mcpapps.MethodRequestDisplayMode, mcpapps.RequestDisplayModeParams{Mode: mcpapps.DisplayFullscreen}, &mode))
	if res, err := v.CallAppTool("peek", count{1}); err != nil || res.Content[0].(*mcp.TextContent).Text != `saw {"n":1}` {
		t.Errorf("the page's tool answers %+v, %v", res, err)
	}
	must(v.Notify(mcpapps.NotificationRequestTeardown, mcpapps.Empty{}))
	if mode.Mode != mcpapps.DisplayFullscreen || v.Height != 120 || len(v.Messages) != 1 || v.ModelContext == nil || cmp.Diff([]string{"https://a.example"}, v.Links) != "" {
		t.Errorf("the host has %+v", v)
	}
	if _, err := v.CallAppTool("peek", nil); err == nil {
		t.Error("a tool of a closed page was called")
	}
	if err := v.Request("ping", mcpapps.Empty{}, nil); err == nil {
		t.Error("a closed page was answered")
	}
	for _, e := range v.Log {
		if !json.Valid(e.Message) || e.From == "" {
			t.Errorf("an entry of the log is %s %s", e.From, e.Message)
		}
	}
}

type Notification struct{ method, params string }

// What a host does not do, or a person does not want, is refused in its way.
func TestRefusals(t *testing.T) {
	t.Parallel()
	poor := mcpappstest.Connect(t, counter(t), mcpappstest.Options{Capabilities: &mcpapps.HostCapabilities{}}).OpenView("count", count{1})
	poor.Initialize()
	for _, c := range []struct {
		method string
		params any
	}{
		{mcpapps.MethodOpenLink, mcpapps.OpenLinkParams{URL: "https://a.example"}},
		{mcpapps.MethodDownloadFile, mcpapps.DownloadFileParams{Contents: []mcpapps.ContentBlock{}}},
		{mcpapps.MethodMessage, mcpapps.MessageParams{Role: "user"}},
		{mcpapps.MethodUpdateModelContext, mcpapps.Empty{}},
		{"tools/call", map[string]any{"name": "again"}},
		{"tools/list", mcpapps.Empty{}},
		{"resources/read", map[string]any{"uri": "ui://count"}},
		{"resources/list", mcpapps.Empty{}},
		{"sampling/createMessage", mcpapps.Empty{}},
		{mcpapps.NotificationInitialized, mcpapps.Empty{}},
		{mcpapps.MethodResourceTeardown, mcpapps.Empty{}},
		{"tools/delete", mcpapps.Empty{}},
	} {
		var refusal *mcpappstest.Error
		if err := poor.Request(c.method, c.params, nil); !errors.As(err, &refusal) || refusal.Code == 0 {
			t.Errorf("%s: %v", c.method, err)
		}
	}
	if poor.Notify(mcpapps.NotificationInitialized, mcpapps.Empty{}) == nil {
		t.Error("initialized was taken twice")
	}
	if poor.Notify(mcpapps.NotificationToolResult, mcpapps.Empty{}) == nil {
		t.Error("a page said what hosts say")
	}

	shy := mcpappstest.Connect(t, counter(t), mcpappstest.Options{RefuseActions: true}).OpenView("count", count{1})
	shy.Initialize()
	var out mcpapps.ActionResult
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
		if err := mcpappstest.CheckPage(mcpapps.Page{URI: "ui://a", HTML: html}); (err != nil) != bad {
			t.Errorf("%q: %v", html, err)
		}
	}
	if mcpappstest.CheckPage(mcpapps.Page{HTML: "<!doctype html>", Meta: mcpapps.ResourceMeta{CSP: &mcpapps.CSP{FrameDomains: []string{"*"}}}}) == nil {
		t.Error("a policy that cannot be kept")
	}
}

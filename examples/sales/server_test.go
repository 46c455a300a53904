package main

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/mcpapps/mcpappstest"
)

func TestReportAndOrders(t *testing.T) {
	t.Parallel()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	host := mcpappstest.Connect(t, s, mcpappstest.Options{})
	view := host.OpenView("sales", query{Year: 2024})
	if text := view.Result.Content[0].(*mcp.TextContent).Text; !strings.HasPrefix(text, "2024: ") {
		t.Errorf("the model reads %q", text)
	}
	view.Initialize()
	seen := 0.0
	for of := 1.0; seen < of; {
		data := view.CallTool("orders", part{Year: 2024, From: int(seen)}).StructuredContent.(map[string]any)
		seen += float64(len(data["list"].([]any)))
		of = data["of"].(float64)
	}
	if want := view.Result.StructuredContent.(map[string]any)["orders"].(float64); seen != want {
		t.Errorf("the page saw %v of %v orders", seen, want)
	}
	if host.Tools(mcpapps.VisibleToModel)["orders"] != nil {
		t.Error("the model sees the page's tool")
	}
	if res := host.CallTool("sales", query{Year: 1999}); !res.IsError {
		t.Errorf("1999 has %+v", res)
	}
}

package mcpapps

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/test/program"
)

// limit is for one program of Node; it takes about a second.
const limit = 2 * time.Minute

// TestBridgeAndOfficialHost lets our script for pages talk to the official
// code for hosts: every message of either side arrives at the other.
func TestBridgeAndOfficialHost(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	out, err := node.Run(t, limit, "bridge.mjs", filepath.Join(program.Root(t), "mcpapps", "bridge.js"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got, want any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const told = `{
		"host": {
			"info": {"name": "page", "version": "1"},
			"capabilities": {"availableDisplayModes": ["inline", "fullscreen"], "tools": {"listChanged": true}},
			"size": {"height": 321},
			"link": "https://bad.example",
			"files": [{"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "a"}}],
			"message": {"role": "user", "content": [{"type": "text", "text": "hello"}]},
			"context": {"content": [{"type": "text", "text": "picked 7"}], "structuredContent": {"picked": 7}},
			"log": {"level": "info", "logger": "page", "data": "ready"},
			"tools": [
				{"name": "move", "description": "Moves.", "inputSchema": {"type": "object"}},
				{"name": "fall", "inputSchema": {"type": "object"}}
			],
			"move": {"content": [{"type": "text", "text": "{\"moved\":\"e4\"}"}], "structuredContent": {"moved": "e4"}},
			"fall": {"content": [{"type": "text", "text": "it fell"}], "isError": true},
			"none": "the page has no tool none",
			"teardown": {}
		},
		"page": {
			"css": {"--font-sans": "Inter"},
			"fonts": {"id": "mcp-fonts", "textContent": "@font-face {}"},
			"input": {"city": "Bern"},
			"partial": {"city": "Be"},
			"result": {"content": [{"type": "text", "text": "20"}], "structuredContent": {"degrees": 20}},
			"cancelled": "stopped",
			"answers": {
				"call": {"content": [{"type": "text", "text": "fresh"}], "structuredContent": {"n": 1}},
				"read": {"contents": [{"uri": "data://a", "text": "read"}]},
				"mode": "fullscreen",
				"open": {}
			},
			"refused": {"link": "the host refused ui/open-link", "tool": "no tool none", "method": "Method not found"},
			"teardown": true
		}
	}`
	if err := json.Unmarshal([]byte(told), &want); err != nil {
		t.Fatal(err)
	}
	page := got.(map[string]any)["page"].(map[string]any)
	if theme := page["context"].(map[string]any)["theme"]; theme != "dark" {
		t.Errorf("the theme is %v", theme)
	}
	if v := page["host"].(map[string]any)["protocolVersion"]; v != "2026-01-26" {
		t.Errorf("the version is %v", v)
	}
	delete(page, "context")
	delete(page, "host")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what both sides heard (-want +got):\n%s", d)
	}
}

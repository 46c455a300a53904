package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// On default settings an admin adds a server of this machine in the console. Where the
// console may not add a command, it says so before the form, with lines that work as shown.
func TestDefaults(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	program.NeedChromium(t)
	fetched(t, "@modelcontextprotocol/server-memory@2026.8.31")
	r := &rig{&program.Console{Instance: program.Start(t, program.FreeAddr(t), t.TempDir()), Node: node}}
	r.Tell(t, "user", "add", "ada", "--role", "admin")
	r.Tell(t, "user", "add", "dev", "--role", "developer")
	sdk := mcp.NewServer(&mcp.Implementation{Name: "local", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "ping"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pong"}}}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close()
		s.Close()
	})
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"kept":  map[string]any{"command": r.server("memory")[0], "args": r.server("memory")[1:], "env": map[string]string{"MEMORY_FILE_PATH": "x"}},
		"local": map[string]any{"url": s.URL},
	}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir() // where the lines are run
	if err := os.WriteFile(filepath.Join(folder, "MEMORY_FILE_PATH.txt"), []byte(filepath.Join(folder, "memory.json")), 0o600); err != nil {
		t.Fatal(err)
	}
	r.run(t, "defaults_console.mjs", r.Link(t, "ada"), r.Link(t, "dev"), s.URL, strings.Join(r.server("everything"), " "), string(config), program.Binary(t), folder)
	if got := r.Tell(t, "tool", "call", "mine__ping"); got != "pong" {
		t.Errorf("the server of this machine answers %q", got)
	}
	for _, tool := range []string{"shown__echo", "kept__read_graph", "memory__read_graph"} {
		if list := r.Tell(t, "tool", "ls"); !strings.Contains(list, tool) {
			t.Errorf("%s is missing:\n%s", tool, list)
		}
	}
}

package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPolicies is the life of a rule about calls: from a template, mended, simulated,
// enforced, explained, reordered and removed.
func TestPolicies(t *testing.T) {
	t.Parallel()
	r := start(t)
	sdk := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close()
		s.Close()
	})
	r.Tell(t, "server", "add", "notes", s.URL)
	for _, text := range []string{"our secret plans", "plans for May", "no plans", "good morning", "good night"} {
		r.Tell(t, "tool", "call", "demo__echo", "--arg", "text="+text)
	}
	args := []string{r.Link(t, "ada"), r.Link(t, "vera")}
	if *shots != "" {
		folder, err := filepath.Abs(*shots)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, folder)
	}
	r.run(t, "policies_console.mjs", args...)
}

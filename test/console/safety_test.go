package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSafety is what asks before it is done, what can be undone, and what is refused at its
// field.
func TestSafety(t *testing.T) {
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
	r.run(t, "safety_console.mjs", r.Link(t, "ada"))
}

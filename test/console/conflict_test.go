package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestConflicts has two admins change the same things: one in a browser, one by the API.
// What is typed survives that something is read again, and of what both changed the
// browser shows both sides.
func TestConflicts(t *testing.T) {
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
	args := []string{r.Link(t, "ada"), r.URL, program.AdminKey}
	if *shots != "" {
		folder, err := filepath.Abs(*shots)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, folder)
	}
	r.run(t, "conflict_console.mjs", args...)
}

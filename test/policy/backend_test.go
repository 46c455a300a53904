package policy

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
)

// page is the App page of each server, and mail is in the results of all tools.
const (
	page = "ui://policy/page.html"
	mail = "ada@example.com"
)

// backend is the servers of the model, each at the path of its name. They count each call
// by the argument nonce.
type backend struct {
	URL string

	mu    sync.Mutex
	ran   map[string]int
	total int
}

// newBackend starts the servers until the test ends.
func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{ran: map[string]int{}}
	sdks := map[string]*mcp.Server{}
	for _, name := range policymodel.Servers() {
		sdks["/"+name] = b.newServer()
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return sdks[r.URL.Path] }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		_ = web.Config.Close() // streams too
		web.Close()
	})
	b.URL = web.URL
	return b
}

func (b *backend) newServer() *mcp.Server {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "policy", Version: "1"}, nil)
	for _, name := range policymodel.Tools() {
		sdk.AddTool(&mcp.Tool{Name: name, Description: "Does it: " + name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: b.run(r.Params.Arguments)}}}, nil
		})
	}
	sdk.AddTool(&mcp.Tool{Name: "show", InputSchema: map[string]any{"type": "object"}, Meta: mcp.Meta{"ui": map[string]any{"resourceUri": page}}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "shown"}}}, nil
	})
	sdk.AddResource(&mcp.Resource{URI: page, Name: "page", MIMEType: "text/html;profile=mcp-app"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: page, MIMEType: "text/html;profile=mcp-app", Text: "<!doctype html><script>1</script>"}}}, nil
	})
	return sdk
}

// run counts a call and returns its answer, which has a mail address.
func (b *backend) run(arguments []byte) string {
	var args struct{ Nonce string }
	_ = json.Unmarshal(arguments, &args) // an object, or there is no nonce
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran[args.Nonce]++
	b.total++
	return "ran " + args.Nonce + " for " + mail
}

// count returns how many calls with a nonce reached a server.
func (b *backend) count(nonce string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ran[nonce]
}

// calls returns how many calls reached a server.
func (b *backend) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

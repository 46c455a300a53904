package servers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// bearer sends a key with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A client that says that its roots changed has a legacy server ask for them
// again; the servers' sessions of other clients stay as they are.
func TestRootsThatChange(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	known := map[string]string{} // by session
	look := func(ctx context.Context, s *mcp.ServerSession) {
		res, err := s.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and in use
		mu.Lock()
		defer mu.Unlock()
		if known[s.ID()] = "refused"; err == nil {
			known[s.ID()] = ""
			for _, root := range res.Roots {
				known[s.ID()] += root.URI + " "
			}
		}
	}
	sdk := mcp.NewServer(&mcp.Implementation{Name: "rooted", Version: "1"}, &mcp.ServerOptions{
		RootsListChangedHandler: func(ctx context.Context, r *mcp.RootsListChangedRequest) { look(ctx, r.Session) }, //nolint:staticcheck // deprecated, and in use
	})
	mcp.AddTool(sdk, &mcp.Tool{Name: "where"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		_, looked := known[r.Session.ID()]
		mu.Unlock()
		if !looked {
			look(ctx, r.Session)
		}
		mu.Lock()
		defer mu.Unlock()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: known[r.Session.ID()]}}}, nil, nil
	})
	hs := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = hs.Config.Close()
		hs.Close()
	})
	i := start(t, nil)
	if r := i.Do(t, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"rooted","transport":"http","url":%q,"isolation":"session"}`, hs.URL)); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	connect := func(root string) (*mcp.Client, func() string) {
		c := mcp.NewClient(&mcp.Implementation{Name: root, Version: "1"}, nil)
		c.AddRoots(&mcp.Root{URI: "file:///" + root}) //nolint:staticcheck // deprecated, and in use
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: i.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(key(t, i, "tools:call"))},
		}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return c, func() string {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "rooted__where"})
			if err != nil {
				t.Fatal(err)
			}
			return res.Content[0].(*mcp.TextContent).Text
		}
	}
	ada, adaIsAt := connect("a1")
	_, bobIsAt := connect("b1")
	if a, b := adaIsAt(), bobIsAt(); a != "file:///a1 " || b != "file:///b1 " {
		t.Fatalf("at %s and %s", a, b)
	}
	ada.AddRoots(&mcp.Root{URI: "file:///a2"}) //nolint:staticcheck // deprecated, and in use
	poll.Until(t, "ada at file:///a1 file:///a2", time.Minute, func() bool { return adaIsAt() == "file:///a1 file:///a2 " })
	if at := bobIsAt(); at != "file:///b1 " {
		t.Errorf("another client is at %s", at)
	}
	ada.RemoveRoots("file:///a1") //nolint:staticcheck // deprecated, and in use
	poll.Until(t, "ada at file:///a2", time.Minute, func() bool { return adaIsAt() == "file:///a2 " })
}

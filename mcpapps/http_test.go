package mcpapps_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// waiting is a server with a tool that ends when its context does.
func waiting(t *testing.T) (s *mcp.Server, begun, ended chan struct{}) {
	t.Helper()
	s = mcp.NewServer(&mcp.Implementation{Name: "waiting", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	begun, ended = make(chan struct{}), make(chan struct{})
	over := make(chan struct{})
	t.Cleanup(func() { close(over) }) // a server is closed when its calls have ended
	view := &mcpapps.View{URI: "ui://waiting", Page: mcpapps.HTML("<!doctype html>")}
	err = mcpapps.AddTool(apps, view, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (mcpapps.Reply[weather], error) {
		close(begun)
		select {
		case <-ctx.Done():
			close(ended)
		case <-over:
		}
		return mcpapps.Reply[weather]{}, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, begun, ended
}

// TestCancelledCallEnds holds that a call which its client gives up ends in the
// server, in both eras.
func TestCancelledCallEnds(t *testing.T) {
	t.Parallel()
	for _, version := range eras() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var web *httptest.Server
			t.Cleanup(func() { web.Close() }) // once the calls have ended
			s, begun, ended := waiting(t)
			web = httptest.NewServer(mcpapps.HTTPHandler(s, mcpapps.HTTPOptions{}))
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = session.Close() })
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
				t.Errorf("the call ends with %v", err)
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the handler runs on")
			}
		})
	}
}

// TestHandlerRefusesOtherOrigins holds that no web page can call the server, unless
// its origin is trusted.
func TestHandlerRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	trusting := http.NewCrossOriginProtection()
	if err := trusting.AddTrustedOrigin("https://app.example"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options mcpapps.HTTPOptions
		origin  string
		refused bool
	}{
		"no browser":        {mcpapps.HTTPOptions{}, "", false},
		"another origin":    {mcpapps.HTTPOptions{}, "https://app.example", true},
		"a trusted origin":  {mcpapps.HTTPOptions{CrossOrigin: trusting}, "https://app.example", false},
		"one not so":        {mcpapps.HTTPOptions{CrossOrigin: trusting}, "https://evil.example", true},
		"a body beyond all": {mcpapps.HTTPOptions{MaxBody: 8}, "", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://mcp.example/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		mcpapps.HTTPHandler(forecast(t), c.options).ServeHTTP(w, r)
		if (w.Code == http.StatusForbidden) != c.refused {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if c.options.MaxBody > 0 && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestIdleSessionIsClosed holds that the session of an older client ends when
// nothing comes from it.
func TestIdleSessionIsClosed(t *testing.T) {
	t.Parallel()
	s := forecast(t)
	web := httptest.NewServer(mcpapps.HTTPHandler(s, mcpapps.HTTPOptions{SessionTimeout: 20 * time.Millisecond, EventStore: mcp.NewMemoryEventStore(nil)}))
	t.Cleanup(web.Close)
	post := func(session, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	id := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("there is no session")
	}
	if !poll.Holds(10*time.Second, func() bool {
		for range s.Sessions() { // a look is no request of the client
			return false
		}
		return true
	}) {
		t.Fatal("the session stays")
	}
	if res := post(id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); res.StatusCode != http.StatusNotFound {
		t.Errorf("a session that idled answers %d", res.StatusCode)
	}
}

package app_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// spans is a collector that keeps what it is sent.
type spans struct {
	mu  sync.Mutex
	got []byte
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, body...)
}

// has says whether a span came: its trace and itself, both in hexadecimal.
func (s *spans) has(trace, span string) bool {
	a, _ := hex.DecodeString(trace)
	b, _ := hex.DecodeString(span)
	s.mu.Lock()
	defer s.mu.Unlock()
	// A span begins with its trace (field 1, 16 bytes) and its id (field 2, 8 bytes).
	return bytes.Contains(s.got, append(append(append([]byte{0x0a, 16}, a...), 0x12, 8), b...))
}

// TestTraces follows traces from clients to a server: the span of the call is
// part of the trace that the client names, in _meta or by header, and the server
// is told of that span in both.
func TestTraces(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	const named = "00-" + trace + "-" + parent + "-01"
	var out spans
	collector := httptest.NewServer(&out)
	t.Cleanup(collector.Close)

	var mu sync.Mutex
	var header http.Header
	var meta map[string]any
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		header, meta = r.Extra.Header, r.Params.GetMeta()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil, nil
	})
	peer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		peer.CloseClientConnections()
		peer.Close()
	})
	i := testkit.Start(t, testkit.Settings{"otel-endpoint": collector.URL, "egress-allow": "127.0.0.0/8"})
	if r := i.Do(t, http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":"peer","url":%q}`, peer.URL), "Content-Type: application/json"); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r := i.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		"Content-Type: application/json", "Accept: application/json, text/event-stream")
	session := r.Header.Get("Mcp-Session-Id")
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"peer__look","arguments":{}%s}}`
	const modern = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	var sent [][]string
	for _, c := range []struct {
		name, path, meta string
		headers          []string
		trace, state     string // "" is a trace of our own
		baggage          any
	}{
		{"_meta, 2026-07-28", "/mcp", modern + `,"traceparent":"` + named + `","tracestate":"v=1","baggage":"user=7"`, []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: peer__look"}, trace, "v=1", "user=7"},
		{"_meta, in a session", "/mcp", `"traceparent":"` + named + `"`, []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-11-25"}, trace, "", nil},
		{"_meta before headers", "/mcp/request", `"traceparent":"` + named + `"`, []string{"Traceparent: 00-ffffffffffffffffffffffffffffffff-b7ad6b7169203331-01"}, trace, "", nil},
		{"headers, plain", "/mcp/request", ``, []string{"Traceparent: " + named, "Tracestate: v=2"}, trace, "v=2", nil},
		{"headers, in a session", "/mcp", ``, []string{"Traceparent: " + named, "Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-11-25"}, trace, "", nil},
		{"none", "/mcp/request", ``, nil, "", "", nil},
		{"one that is none", "/mcp/request", `"traceparent":"00-\r\nX-Evil: 1","tracestate":"a\r\nb"`, nil, "", "", nil},
	} {
		body := fmt.Sprintf(call, "")
		if c.meta != "" {
			body = fmt.Sprintf(call, `,"_meta":{`+c.meta+`}`)
		}
		if r := i.Do(t, http.MethodPost, c.path, body, append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}, c.headers...)...); !strings.Contains(r.Body, "seen") {
			t.Fatalf("%s: %d %s", c.name, r.Status, r.Body)
		}
		mu.Lock()
		told, _ := meta["traceparent"].(string)
		state, _ := meta["tracestate"].(string)
		parts := strings.Split(told, "-")
		if len(parts) != 4 || c.trace != "" && parts[1] != c.trace || c.trace == "" && parts[1] == trace || parts[2] == parent || parts[3] != "01" {
			t.Errorf("%s: the server was told of the trace %q", c.name, told)
		}
		if state != c.state || meta["baggage"] != c.baggage {
			t.Errorf("%s: tracestate %q, baggage %v", c.name, state, meta["baggage"])
		}
		if header.Get("Traceparent") != told || header.Get("Tracestate") != state || header.Get("X-Evil") != "" {
			t.Errorf("%s: the headers say otherwise: %v", c.name, header)
		}
		mu.Unlock()
		if len(parts) == 4 {
			sent = append(sent, parts)
		}
	}
	for _, parts := range sent { // they come in batches
		poll.Until(t, fmt.Sprintf("span %v at the collector", parts), time.Minute, func() bool { return out.has(parts[1], parts[2]) })
	}
}

// TestTracesPassBy has nobody look: what a client says of its trace reaches the
// server as it is.
func TestTracesPassBy(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		m := r.Params.GetMeta()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(m["traceparent"], m["tracestate"], m["baggage"], r.Extra.Header.Get("Traceparent"))}}}, nil, nil
	})
	peer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() {
		peer.CloseClientConnections()
		peer.Close()
	})
	i := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	i.Do(t, http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":"peer","url":%q}`, peer.URL), "Content-Type: application/json")
	got := i.Do(t, http.MethodPost, "/mcp/request",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"peer__look","arguments":{},"_meta":{"traceparent":"00-a-b-01","tracestate":"v=1","baggage":"c=2"}}}`,
		"Content-Type: application/json").Body
	if !strings.Contains(got, `"00-a-b-01v=1c=2"`) {
		t.Error(got)
	}
}

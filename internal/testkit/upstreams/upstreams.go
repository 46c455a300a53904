// Package upstreams holds MCP servers of the official SDK for tests that stand one
// or many behind an instance: every transport and era, with tools whose answers
// can be told from all others. It stands outside the data path, and only tests
// import it.
package upstreams

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Way is how a server speaks.
type Way string

// The ways over HTTP; Play is the one over stdio.
const (
	Legacy Way = "legacy"      // sessions, answers as event streams
	JSON   Way = "legacy JSON" // sessions, answers as JSON
	Modern Way = "modern"      // 2026-07-28
	SSE    Way = "HTTP+SSE"    // 2024-11-05: all answers on one stream
)

// Ways lists those over HTTP.
func Ways() []Way { return []Way{Legacy, JSON, Modern, SSE} }

// Transport is how the way is called where a server is added.
func (w Way) Transport() string {
	if w == SSE {
		return "sse"
	}
	return "http"
}

// Server is a running server.
type Server struct {
	URL  string
	Addr string // host:port
	Way  Way
	Seen Counts

	mu    sync.Mutex
	conns map[net.Conn]http.ConnState
}

// Open is how many connections to the server are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// CloseIdle closes the connections on which nothing is under way, so that Open
// counts what is held and not what happened to be used at once.
func (s *Server) CloseIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, state := range s.conns {
		if state == http.StateIdle || state == http.StateNew { // a client may dial ahead of its need
			_ = c.Close()
		}
	}
}

// Counts is what a server has heard of.
type Counts struct {
	Calls     atomic.Int64 // that began
	Cancelled atomic.Int64 // that were cancelled while they ran
}

// Start serves on loopback until the test ends.
func Start(t testing.TB, way Way) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return StartOn(t, way, l)
}

// StartOn serves on a listener until the test ends.
func StartOn(t testing.TB, way Way, l net.Listener) *Server {
	t.Helper()
	s := &Server{Way: way, conns: map[net.Conn]http.ConnState{}}
	gone := make(chan struct{})
	sdk := New(&s.Seen, gone)
	get := func(*http.Request) *mcp.Server { return sdk }
	var h http.Handler
	switch way {
	case SSE:
		h = mcp.NewSSEHandler(get, nil)
	case Legacy:
		h = mcp.NewStreamableHTTPHandler(get, nil)
	case JSON:
		h = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
	case Modern:
		h = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	default:
		t.Fatalf("peers: no way %q", way)
	}
	hs := httptest.NewUnstartedServer(h)
	_ = hs.Listener.Close()
	hs.Listener = l
	hs.Config.ConnState = s.count
	hs.Start()
	s.URL, s.Addr = hs.URL, hs.Listener.Addr().String()
	t.Cleanup(func() {
		close(gone)
		_ = hs.Config.Close()            // first, and streams too: a session waits for the requests that it has
		for ss := range sdk.Sessions() { // those whose end did not reach the server
			_ = ss.Close()
		}
		hs.Close()
	})
	return s
}

// count follows the connections of a server.
func (s *Server) count(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(s.conns, c)
		return
	}
	s.conns[c] = state
}

// Tag are the arguments of the tool tag.
type Tag struct {
	Nonce string `json:"nonce"`
	Steps int    `json:"steps,omitempty"`    // progress notifications before the answer, which say "<nonce>/<step>"
	Hold  bool   `json:"hold,omitempty"`     // then no answer, until the call is cancelled
	Pause int    `json:"pause_ms,omitempty"` // after each of them, in milliseconds
}

// New makes the server without a transport; calls that it holds end with gone. Its tool tag answers with the nonce
// it was called with, its tool seen with how many calls there were, how many were
// cancelled, and its process.
func New(seen *Counts, gone <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "tag", Description: "says the nonce again"}, func(ctx context.Context, r *mcp.CallToolRequest, in Tag) (*mcp.CallToolResult, any, error) {
		seen.Calls.Add(1)
		for i := range in.Steps {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Steps), Message: fmt.Sprintf("%s/%d", in.Nonce, i),
			})
			if err != nil {
				return nil, nil, err
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(in.Pause) * time.Millisecond):
			}
		}
		if in.Hold {
			select {
			case <-ctx.Done():
				seen.Cancelled.Add(1)
			case <-gone:
			}
			return nil, nil, fmt.Errorf("held %s until it was cancelled", in.Nonce)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Nonce}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "seen"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(seen.Calls.Load(), " ", seen.Cancelled.Load(), " ", os.Getpid())}}}, nil, nil
	})
	return s
}

// Play is a server over stdio: call it in the TestMain of a binary that is its
// own server.
func Play(ctx context.Context) error {
	return New(&Counts{}, ctx.Done()).Run(ctx, &mcp.StdioTransport{})
}

package upstream

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// sseServer is an HTTP+SSE server written by hand, which remembers what is posted to it.
// A call of the tool fail ends with an error of the protocol.
type sseServer struct {
	version string // that initialize names

	outgoing chan []byte // messages for the stream

	mu      sync.Mutex
	methods []string
}

func newSSEServer(version string) *sseServer {
	return &sseServer{version: version, outgoing: make(chan []byte, 16)}
}

func (s *sseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.serveStream(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	if err := m.Parse(body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	s.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	if m.Kind != wire.Request {
		return
	}
	name, _ := wire.String(wire.Get(m.Params, "name"))
	switch {
	case m.Method == wire.MethodInitialize:
		s.outgoing <- wire.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"`+s.version+`","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`))
	case m.Method == wire.MethodToolsList:
		s.outgoing <- wire.AppendResult(nil, m.ID, []byte(`{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}`))
	case m.Method == wire.MethodToolsCall && name != "fail":
		s.outgoing <- wire.AppendResult(nil, m.ID, []byte(`{"content":[]}`))
	default:
		s.outgoing <- wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInternal, Message: "it failed"})
	}
}

func (s *sseServer) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	next := wire.AppendEvent(nil, wire.Event{Name: "endpoint", Data: []byte("/messages")})
	for {
		_, _ = w.Write(next)
		_ = http.NewResponseController(w).Flush()
		select {
		case m := <-s.outgoing:
			next = wire.AppendEvent(nil, wire.Event{Name: "message", Data: m})
		case <-r.Context().Done():
			return
		}
	}
}

// posted returns the methods of the messages so far.
func (s *sseServer) posted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.methods)
}

// TestSSEServerOfAnUnknownVersion has a server answer the handshake with a version that
// nobody knows. The error names it, and the server is not told that all is well.
func TestSSEServerOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	raw := newSSEServer("1999-01-01")
	s := newServer(t, serve(t, raw), func(o *Options) { o.Transport = TransportSSE })
	_, err := s.Do(ctxFor(t), toolCall("work", `{}`), &notes{})
	if junctor.CodeOf(err) != junctor.CodeUpstream || !strings.Contains(err.Error(), `"1999-01-01"`) {
		t.Errorf("%v", err)
	}
	if got := raw.posted(); slices.Contains(got, wire.NotificationInitialized) || slices.Contains(got, wire.MethodToolsCall) {
		t.Errorf("after the refused handshake it received %v", got)
	}
}

// TestSSECallThatFailedIsNotCancelled has a call end with the server's own error, and
// another with a result. The server must not be asked to cancel what it has answered.
func TestSSECallThatFailedIsNotCancelled(t *testing.T) {
	t.Parallel()
	raw := newSSEServer("2025-06-18")
	s := newServer(t, serve(t, raw), func(o *Options) { o.Transport = TransportSSE })
	if _, err := s.Do(ctxFor(t), toolCall("fail", `{}`), &notes{}); err == nil || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("the error became %v", err)
	}
	do(t, s, toolCall("work", `{}`))
	s.Close() // waits until all notices were sent
	got := raw.posted()
	if !slices.Contains(got, wire.MethodToolsCall) || slices.Contains(got, wire.NotificationCancelled) {
		t.Errorf("it received %v", got)
	}
}

package upstream

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// chooser is a server of either era that has its tools only for clients which
// show the pages of MCP Apps: a modern one looks at each request, an older one at
// how the session began.
type chooser struct {
	modern bool

	mu       sync.Mutex
	sessions map[string]bool
	asked    []string // capabilities of each request that carries some
	called   []string // what it was told with calls
}

func (c *chooser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	if r.Method != http.MethodPost || m.Parse(body) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	fail := func(code int) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(wire.AppendError(nil, m.ID, &wire.Error{Code: code, Message: "no"}))
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(result)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	session := r.Header.Get(wire.HeaderSessionID)
	shows := c.sessions[session]
	caps := m.MetaCapabilities
	if m.Method == wire.MethodInitialize {
		caps = wire.Get(m.Params, "capabilities")
	}
	if len(caps) > 0 {
		shows = catalog.ShowsApps(caps)
		if m.Method == wire.MethodToolsCall {
			c.called = append(c.called, string(caps))
		} else {
			c.asked = append(c.asked, string(caps))
		}
	}
	switch {
	case m.Method == wire.MethodServerDiscover && c.modern:
		answer(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case m.Method == wire.MethodInitialize && !c.modern:
		session = string(rune('a' + len(c.sessions)))
		c.sessions[session] = shows
		w.Header().Set(wire.HeaderSessionID, session)
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}`)
	case m.Method == wire.MethodToolsList && shows:
		answer(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"map","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://map"}}}]}`)
	case m.Method == wire.MethodToolsList:
		answer(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[]}`)
	case m.Method == wire.MethodToolsCall && shows:
		answer(`{"resultType":"complete","content":[{"type":"text","text":"here"}]}`)
	case m.Method == wire.MethodToolsCall && c.modern:
		answer(`{"resultType":"complete","content":[{"type":"text","text":"as text"}]}`)
	case m.Method == wire.MethodPing:
		answer(`{}`)
	default:
		fail(wire.CodeMethodNotFound)
	}
}

// Servers that bring Apps only to those who show them are told so whenever they
// list. With a call a modern server is told what the caller shows; one of the older
// era was told at the handshake.
func TestExtensionIsDeclaredToServers(t *testing.T) {
	t.Parallel()
	for era, modern := range map[string]bool{"modern": true, "legacy": false} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := &chooser{modern: modern, sessions: map[string]bool{}}
			s := newServer(t, serve(t, c))
			offer, err := s.Offer(ctxFor(t))
			if err != nil || len(offer.Tools) != 1 || offer.Tools[0].Conditional {
				t.Fatalf("it offers %+v, %v", offer, err)
			}
			for _, caps := range []string{
				"", `{}`, everyone, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`,
				`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/plain"]},"x/y":{}}}`, `{"extensions":7,"tasks":{}}`,
			} {
				for _, tasks := range []bool{false, true} {
					req := toolCall("map", `{}`)
					req.Caller.Capabilities, req.Caller.Tasks = []byte(caps), tasks
					want := "here"
					if modern && !catalog.ShowsApps([]byte(caps)) {
						want = "as text"
					}
					if got := textOf(t, do(t, s, req)); got != want {
						t.Errorf("%s: %s, want %s", caps, got, want)
					}
				}
			}
			if report, err := s.Probe(ctxFor(t)); err != nil || report.State.Tools != 1 {
				t.Errorf("a probe finds %+v, %v", report, err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, caps := range c.asked {
				if !catalog.ShowsApps([]byte(caps)) || wire.CheckJSON([]byte(caps)) != nil || strings.Contains(caps, `"tasks":`) {
					t.Errorf("it was told %s", caps)
				}
			}
			for _, caps := range c.called {
				if wire.CheckJSON([]byte(caps)) != nil || strings.Contains(caps, `"tasks":`) {
					t.Errorf("with a call it was told %s", caps)
				}
			}
			if !modern && len(c.sessions) > 6 {
				t.Errorf("callers that declare the same do not share: %d sessions", len(c.sessions))
			}
		})
	}
}

package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// counting counts the requests that a client tries to send.
type counting struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// How often a server that does not let itself be connected to is tried by one
// call: three times where it does not answer in time, each time in both eras,
// twice where it is not there, once where it refuses the credential. Who waits
// to see whether a server can be added is told of the first failure.
func TestConnectAttempts(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that the end of a request is not noticed
		<-r.Context().Done()
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tt := range map[string]struct {
		handler     http.HandlerFunc // nil: nobody listens
		call, probe int64            // requests that are tried
	}{
		"no answer in time":  {silent, 3 * 2, 2},
		"nobody there":       {nil, 2, 1},
		"credential refused": {status(http.StatusUnauthorized), 1, 1},
		"not allowed":        {status(http.StatusForbidden), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(tt.handler)
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			if tt.handler == nil {
				web.Close()
			}
			var tried *counting
			s := newServer(t, web.URL, func(o *Options) {
				tried = &counting{RoundTripper: o.StreamClient.Transport}
				o.Client, o.Timeouts.Connect = o.StreamClient, 300*time.Millisecond
				o.StreamClient.Transport = tried
			})
			if _, err := s.Do(ctxFor(t), toolCall("echo", `{}`), &notes{}); err == nil || tried.n.Load() != tt.call {
				t.Errorf("a call: %v after %d requests, want %d", err, tried.n.Load(), tt.call)
			}
			tried.n.Store(0)
			if _, err := s.Connect(ctxFor(t)); err == nil || tried.n.Load() != tt.probe {
				t.Errorf("a probe: %v after %d requests, want %d", err, tried.n.Load(), tt.probe)
			}
		})
	}
}

// A server at a URL, too, is connected to once.
func TestBeginConnectsOnceOverHTTP(t *testing.T) {
	t.Parallel()
	var hellos atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := func(result string) { _, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		switch m.Method {
		case wire.MethodInitialize:
			hellos.Add(1)
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
		case wire.MethodToolsList:
			answer(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
		case wire.NotificationInitialized:
			w.WriteHeader(http.StatusAccepted)
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}))
	t.Cleanup(web.Close)
	s := newServer(t, web.URL)
	if _, err := s.Connect(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	o, err := s.Offer(ctxFor(t))
	if err != nil || len(o.Tools) != 1 || hellos.Load() != 1 {
		t.Errorf("%v, %v after %d handshakes", o, err, hellos.Load())
	}
	// Who watches it has a session that stays, and its list says who sees what.
	changed := make(chan catalog.Event, 4)
	s.Watch(func(e catalog.Event) { changed <- e })
	select {
	case <-changed:
	case <-ctxFor(t).Done():
		t.Fatal("the list was not read on the session that stays")
	}
	if tools := s.knownOffer().Tools; len(tools) != 1 || tools[0].Conditional || hellos.Load() != 2 {
		t.Errorf("%+v after %d handshakes", tools, hellos.Load())
	}
}

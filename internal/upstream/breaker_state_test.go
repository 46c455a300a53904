package upstream

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// A server whose calls are refused because the last ones failed is not shown as healthy.
func TestOpenBreakerIsShown(t *testing.T) {
	t.Parallel()
	s, err := New(Options{ID: "notes", Transport: TransportHTTP, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/mcp"}, Client: http.DefaultClient, StreamClient: http.DefaultClient, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.state.Connected = true
	for range failuresToOpen {
		if !s.State().Connected {
			t.Fatal("not healthy before the breaker is open")
		}
		s.breaker.recordFailure("", junctor.Errorf(junctor.CodeTimeout, "no answer"))
	}
	if st := s.State(); st.Connected || st.LastError == "" {
		t.Errorf("%+v", st)
	}
}

// A probe that succeeds is an answer of the server: the former failure is not shown any
// longer, and calls are made again at once. One that fails changes nothing.
func TestProbeClearsFormerFailure(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	peer := newPeer()
	h, err := url.Parse(peer.modern(t))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(h)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		r.URL.Path = ""
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s := newServer(t, front.URL)
	down.Store(true)
	for range failuresToOpen {
		if _, err := s.Do(ctxFor(t), toolCall("echo", `{}`), &notes{}); err == nil {
			t.Fatal("a call succeeded while the server was down")
		}
	}
	before := s.State()
	if before.Connected || before.LastError == "" {
		t.Fatalf("not shown as failing: %+v", before)
	}
	if _, err := s.Probe(ctxFor(t)); err == nil {
		t.Fatal("a probe succeeded while the server was down")
	}
	if st := s.State(); st.LastError != before.LastError {
		t.Errorf("a failed probe changed the state: %q, before %q", st.LastError, before.LastError)
	}
	down.Store(false)
	if _, err := s.Probe(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	if st := s.State(); !st.Connected || st.LastError != "" || st.LastSeen.IsZero() {
		t.Errorf("after a successful probe: %+v", st)
	}
	if res := do(t, s, toolCall("echo", `{"a":1}`)); res.IsError {
		t.Errorf("a call right after the probe: %s", res.Body)
	}
}

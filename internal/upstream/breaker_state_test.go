package upstream

import (
	"log/slog"
	"net/http"
	"net/url"
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

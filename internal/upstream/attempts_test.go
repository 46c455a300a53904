package upstream

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
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
				tried = &counting{RoundTripper: o.Stream.Transport}
				o.Client, o.Timeouts.Connect = o.Stream, 300*time.Millisecond
				o.Stream.Transport = tried
			})
			if _, err := s.Do(ctxFor(t), toolCall("echo", `{}`), &notes{}); err == nil || tried.n.Load() != tt.call {
				t.Errorf("a call: %v after %d requests, want %d", err, tried.n.Load(), tt.call)
			}
			tried.n.Store(0)
			if _, err := s.Begin(ctxFor(t)); err == nil || tried.n.Load() != tt.probe {
				t.Errorf("a probe: %v after %d requests, want %d", err, tried.n.Load(), tt.probe)
			}
		})
	}
}

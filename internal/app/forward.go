package app

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// headerPeer marks a request that another process sent on.
	headerPeer  = "Junctor-Peer"
	purposePeer = "peer"
)

// Forward implements gateway.Peers: the very request, with the client's own
// credential, which is judged there as it was here. It is sent on once: a mark
// that only processes with our keys can make says so. The mark gives no rights,
// so it is no harm that it does not expire before its key.
func (p *peers) Forward(w http.ResponseWriter, r *http.Request, node string, body []byte) error {
	if p.marked(r) { //nolint:contextcheck // a key that is not known yet is looked for in a time of its own
		return junctor.Errorf(junctor.CodeUnavailable, "a process that sent a request on took this one for another")
	}
	to := p.find(r.Context(), node)
	if to == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "there is no process %q", node)
	}
	out := r.Clone(r.Context())
	if body != nil {
		// A copy: what sends it may still read when the answer is there, and the
		// caller's buffer is another request's by then.
		body = bytes.Clone(body)
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it may be a stream
	var failed error
	proxy := httputil.ReverseProxy{
		Transport: to.client.Transport,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to.url)
			pr.Out.Header.Del("Origin") // it was judged, and is of this address
			pr.Out.Header.Set(headerPeer, sealer{p.app.ring}.Seal(purposePeer, []byte(p.self.ID)))
		},
		ModifyResponse: func(resp *http.Response) error {
			for name := range resp.Header { // both would say what every answer says
				w.Header().Del(name)
			}
			return nil
		},
		ErrorLog:     slog.NewLogLogger(p.app.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, out)
	return failed
}

// marked says whether another process sent a request on.
func (p *peers) marked(r *http.Request) bool {
	mark := r.Header.Get(headerPeer)
	if mark == "" {
		return false
	}
	_, err := sealer{p.app.ring}.Open(purposePeer, mark)
	return err == nil
}

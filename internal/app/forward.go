package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/gateway"
)

const (
	// headerPeer marks a request that another process sent on.
	headerPeer  = "Junctor-Peer"
	purposePeer = "peer"
	// showPath is where a process shows others the pages of its Views, which have a
	// listener of their own for browsers.
	showPath = "/peer/view"
)

// passage is what a process says of a request that it sends on: only processes
// with our keys can make one. It gives no rights, so it is no harm that it does not
// expire before its key.
type passage struct {
	From   string     `json:"from"`             // the process
	Client netip.Addr `json:"client,omitzero"`  // whose request it is
	Host   string     `json:"host"`             // as the client asked for it
	Origin string     `json:"origin,omitempty"` // that was judged there
}

type passageKey struct{}

// Forward implements gateway.Peers: the very request, with the client's own
// credential, which is judged there as it was here. It is sent on once.
func (p *peers) Forward(w http.ResponseWriter, r *http.Request, node string, body []byte) error {
	return p.forward(w, r, node, "", body)
}

// forward sends a request on to another process, below a path of its own where one
// is named.
func (p *peers) forward(w http.ResponseWriter, r *http.Request, node, below string, body []byte) error {
	if passed(r) {
		return junctor.Errorf(junctor.CodeUnavailable, "a process that sent a request on took this one for another")
	}
	to := p.find(r.Context(), node)
	if to == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "there is no process %q", node)
	}
	mark, err := json.Marshal(passage{
		From: p.self.ID, Client: gateway.Proxies(p.app.cfg.TrustedProxy).Client(r), Host: r.Host, Origin: r.Header.Get("Origin"),
	})
	if err != nil {
		return err
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
			pr.SetURL(to.below(below))
			pr.Out.Header.Del("Origin") // it was judged, and is of this address
			pr.Out.Header.Set(headerPeer, sealer{p.app.ring}.Seal(purposePeer, mark))
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

// below is an address of the process.
func (p *peer) below(path string) *url.URL {
	u := *p.url
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	return &u
}

// arriving has a request that another process sent on be the client's own again:
// where it comes from, what it asked for, and on whose page.
func (p *peers) arriving(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		marks := r.Header[headerPeer]
		if len(marks) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		var from passage
		mark, err := sealer{p.app.ring}.Open(purposePeer, marks[0]) //nolint:contextcheck // a key that is not known yet is looked for in a time of its own
		if err == nil {
			err = json.Unmarshal(mark, &from)
		}
		if err != nil { // it is of another kind, or nobody's
			next.ServeHTTP(w, r)
			return
		}
		r = r.Clone(context.WithValue(r.Context(), passageKey{}, from.From)) // a connection may use its header again
		r.Header.Del(headerPeer)
		r.RemoteAddr, r.Host = netip.AddrPortFrom(from.Client, 0).String(), from.Host
		if from.Origin != "" {
			r.Header.Set("Origin", from.Origin)
		}
		if path, ok := strings.CutPrefix(r.URL.Path, showPath); ok {
			r.URL.Path, r.URL.RawPath = path, ""
			p.app.apps.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// passed says whether another process sent a request on.
func passed(r *http.Request) bool { return r.Context().Value(passageKey{}) != nil }

package app

import (
	"bytes"
	"context"
	"encoding/base64"
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
	"github.com/junctor-mcp/junctor/internal/servers"
)

const (
	// headerPeer marks a request that another process sent on.
	headerPeer = "Junctor-Peer"
	// showPath is where a process shows others the pages of its Views, which have a
	// listener of their own for browsers.
	showPath = "/peer/view"
)

// passage is what a process says of a request that it sends on, in headerPeer. It
// counts on channels alone, which no other than our processes can make: it is good
// for the request that it stands in, once.
type passage struct {
	Client netip.Addr `json:"client,omitzero"`  // whose request it is
	Host   string     `json:"host"`             // as the client asked for it
	Origin string     `json:"origin,omitempty"` // that was judged there
}

// passageKey is the context key of the name of the process that sent a request on.
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
		Client: gateway.Proxies(p.app.cfg.TrustedProxy).Client(r), Host: r.Host, Origin: r.Header.Get("Origin"),
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
		Transport: to.client,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to.below(below))
			pr.Out.Header.Del("Origin") // it was judged, and is of this address
			pr.Out.Header.Set(headerPeer, base64.RawURLEncoding.EncodeToString(mark))
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
// where it comes from, what it asked for, and on whose page. What processes ask each
// other is answered here. Requests that came by no channel are passed on as they
// are, whatever they say of themselves.
func (p *peers) arriving(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	own := p.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := sendingReplica(r)
		if from == "" {
			next.ServeHTTP(w, r)
			return
		}
		text := r.Header.Get(headerPeer)
		if text == "" {
			own.ServeHTTP(w, r)
			return
		}
		var mark passage
		plain, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			err = json.Unmarshal(plain, &mark)
		}
		if err != nil {
			http.Error(w, "the header "+headerPeer+" cannot be read: the replica that sent this is of another version", http.StatusBadRequest)
			return
		}
		r = r.Clone(context.WithValue(r.Context(), passageKey{}, from)) // a connection may use its header again
		r.Header.Del(headerPeer)
		r.RemoteAddr, r.Host = netip.AddrPortFrom(mark.Client, 0).String(), mark.Host
		if mark.Origin != "" {
			r.Header.Set("Origin", mark.Origin)
		}
		if path, ok := strings.CutPrefix(r.URL.Path, showPath); ok {
			r.URL.Path, r.URL.RawPath = path, ""
			p.app.apps.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// routes are what processes ask each other.
func (p *peers) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statePath, p.app.tellState)
	mux.HandleFunc("POST "+tellPath, p.told)
	mux.HandleFunc("POST "+servers.ReplicaPath, p.app.servers.ServeReplica)
	return mux
}

// passed says whether another process sent a request on.
func passed(r *http.Request) bool { return r.Context().Value(passageKey{}) != nil }

// Post implements servers.Replicas. A replica that is not known is unreachable.
func (p *peers) Post(ctx context.Context, replica, path string, body []byte, header ...string) (*http.Response, error) {
	to := p.find(ctx, replica)
	if to == nil {
		return nil, junctor.Errorf(junctor.CodeUnreachable, "the replica %s is not known", replica)
	}
	return to.post(ctx, path, body, header...)
}

// post sends the process something. header are names, each with its value.
func (p *peer) post(ctx context.Context, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.below(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return p.client.Do(req)
}

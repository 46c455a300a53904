package cluster

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
)

const (
	// headerReplica holds the mark of a forwarded request.
	headerReplica = "Junctor-Replica"
	// viewPath is where a replica serves the pages of its App views to others. For
	// browsers these have their own listener.
	viewPath = "/replica/view"
)

// forwardMark describes the original of a forwarded request, in headerReplica. It counts
// only in channels, which nobody but a replica can open.
type forwardMark struct {
	Client netip.Addr `json:"client,omitzero"`  // address of the client
	Host   string     `json:"host"`             // as the client sent it
	Origin string     `json:"origin,omitempty"` // was checked by the sender
}

// forwardedKey is the context key of the id of the replica that forwarded a request.
type forwardedKey struct{}

// Forward implements gateway.Replicas. It sends the request unchanged, with the
// client's own credential, which the other replica checks as this one would. A
// request is forwarded at most once.
func (p *Replicas) Forward(w http.ResponseWriter, r *http.Request, replica string, body []byte) error {
	return p.forward(w, r, replica, "", body)
}

// forward sends a request to another replica, below a path if one is named.
func (p *Replicas) forward(w http.ResponseWriter, r *http.Request, replica, below string, body []byte) error {
	if wasForwarded(r) {
		return junctor.Errorf(junctor.CodeUnavailable, "another replica forwarded the request to the wrong replica; try again")
	}
	to := p.findReplica(r.Context(), replica)
	if to == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "unknown replica %q", replica)
	}
	mark, err := json.Marshal(forwardMark{
		Client: p.ClientAddress(r), Host: r.Host, Origin: r.Header.Get("Origin"),
	})
	if err != nil {
		return err
	}
	out := r.Clone(r.Context())
	if body != nil {
		// The transport may still read the body after the response has arrived, when
		// the caller's buffer already belongs to another request.
		body = bytes.Clone(body)
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it may be a stream
	var failed error
	proxy := httputil.ReverseProxy{
		Transport: to.client,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to.below(below))
			pr.Out.Header.Del("Origin") // it was checked, and names this address
			pr.Out.Header.Set(headerReplica, base64.RawURLEncoding.EncodeToString(mark))
		},
		ModifyResponse: func(resp *http.Response) error {
			for name := range resp.Header { // else headers that every response has would be there twice
				w.Header().Del(name)
			}
			return nil
		},
		ErrorLog:     slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, out)
	return failed
}

// below returns the URL of a path at the replica.
func (p *remoteReplica) below(path string) *url.URL {
	u := *p.url
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	return &u
}

// AcceptForwarded restores forwarded requests to what the client sent: its address,
// Host and Origin. It answers the requests of the replicas themselves. Requests that
// came through no channel pass unchanged, whatever headers they have.
func (p *Replicas) AcceptForwarded(next http.Handler) http.Handler {
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
		text := r.Header.Get(headerReplica)
		if text == "" {
			own.ServeHTTP(w, r)
			return
		}
		var mark forwardMark
		plain, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			err = json.Unmarshal(plain, &mark)
		}
		if err != nil {
			http.Error(w, "the header "+headerReplica+" cannot be read: the replica that sent this is of another version", http.StatusBadRequest)
			return
		}
		r = r.Clone(context.WithValue(r.Context(), forwardedKey{}, from)) // the connection may reuse its header
		r.Header.Del(headerReplica)
		r.RemoteAddr, r.Host = netip.AddrPortFrom(mark.Client, 0).String(), mark.Host
		if mark.Origin != "" {
			r.Header.Set("Origin", mark.Origin)
		}
		if path, ok := strings.CutPrefix(r.URL.Path, viewPath); ok {
			r.URL.Path, r.URL.RawPath = path, ""
			p.parts.Views.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// routes serves the requests that replicas make to each other.
func (p *Replicas) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statePath, p.serveState)
	mux.HandleFunc("POST "+messagePath, p.receiveMessage)
	mux.HandleFunc("POST "+p.parts.ReplicaPath, p.parts.Servers.ServeReplica)
	return mux
}

// wasForwarded reports whether another replica forwarded a request.
func wasForwarded(r *http.Request) bool { return r.Context().Value(forwardedKey{}) != nil }

// Post implements servers.Replicas. It fails with CodeUnreachable for an unknown replica.
func (p *Replicas) Post(ctx context.Context, replica, path string, body []byte, header ...string) (*http.Response, error) {
	to := p.findReplica(ctx, replica)
	if to == nil {
		return nil, junctor.Errorf(junctor.CodeUnreachable, "unknown replica %s", replica)
	}
	return to.post(ctx, path, body, header...)
}

// post sends a POST request. header holds names, each followed by its value.
func (p *remoteReplica) post(ctx context.Context, path string, body []byte, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.below(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return p.client.Do(req)
}

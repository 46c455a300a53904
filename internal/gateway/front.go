package gateway

import (
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Front stands before every handler of a listener: it refuses requests whose
// Host or Origin is not ours (a page elsewhere that made a browser send them),
// sets the headers that every answer has, and turns a panic into one failed
// answer.
type Front struct {
	hosts   []string // host:port, lower case
	origins []string
	log     *slog.Logger
	header  map[string][]string
}

// NewFront makes a Front for a listener at addr. Beyond loopback names it
// accepts the host of publicURL, the extra hosts (host or host:port) and the
// extra origins that the operator names.
func NewFront(addr string, publicURL *url.URL, hosts, origins []string, log *slog.Logger) (*Front, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a listening address: %w", addr, err)
	}
	f := &Front{log: log, header: map[string][]string{
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"no-referrer"},
		"Cache-Control":          {"no-store"},
	}}
	for _, name := range []string{"127.0.0.1", "localhost", "[::1]", "console.junctor.localhost"} {
		f.hosts = append(f.hosts, name+":"+port)
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		f.hosts = append(f.hosts, strings.ToLower(net.JoinHostPort(host, port)))
	}
	for _, h := range hosts {
		f.hosts = append(f.hosts, strings.ToLower(h))
	}
	for _, h := range f.hosts {
		f.origins = append(f.origins, "http://"+h, "https://"+h)
	}
	if publicURL != nil {
		f.hosts = append(f.hosts, strings.ToLower(publicURL.Host))
		f.origins = append(f.origins, strings.ToLower(publicURL.Scheme+"://"+publicURL.Host))
	}
	for _, o := range origins {
		f.origins = append(f.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	return f, nil
}

// Wrap puts the front before a handler.
func (f *Front) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(f.hosts, strings.ToLower(r.Host)) {
			http.Error(w, "this Host is not served here; add it with --allowed-hosts, or set --public-url", http.StatusMisdirectedRequest)
			return
		}
		if origins := r.Header["Origin"]; len(origins) > 0 {
			if len(origins) > 1 || !slices.Contains(f.origins, strings.ToLower(origins[0])) {
				http.Error(w, "requests from this Origin are refused; add it with --allowed-origins", http.StatusForbidden)
				return
			}
		}
		h := w.Header()
		maps.Copy(h, f.header)
		defer f.recover(w, r)
		next.ServeHTTP(w, r)
	})
}

// recover answers for a handler that panicked, when nothing was written yet;
// otherwise the connection is cut, so that half an answer is not taken for one.
func (f *Front) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		panic(p)
	}
	f.log.Error("a handler panicked", slog.String("path", r.URL.Path), telemetry.Panic(p))
	h := w.Header()
	if h.Get("Content-Type") != "" {
		panic(http.ErrAbortHandler)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"` + internalError + `"}}`))
}

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

// EdgeMiddleware is the outermost handler of a listener. It refuses requests whose Host or Origin
// is not ours, which protects against pages of other sites and DNS rebinding. It sets the
// headers that every response has, and turns a panic into one failed response. Behind a
// trusted proxy, the Host is the one that the proxy reports.
type EdgeMiddleware struct {
	hosts          []string // accepted hosts as host or host:port, lower case
	origins        []string // accepted origins, lower case
	proxies        TrustedProxies
	httpsHosts     []string // hosts that get Strict-Transport-Security
	log            *slog.Logger
	responseHeader map[string][]string // of every response
}

// EdgeOptions configures an EdgeMiddleware. Addr and Log are required.
type EdgeOptions struct {
	Addr      string   // listening address; loopback names with its port are always accepted
	PublicURL *url.URL // nil: clients use the listening address
	Hosts     []string // further hosts of the operator, as host or host:port
	Origins   []string // further origins of the operator
	Proxies   TrustedProxies
	Log       *slog.Logger
}

// NewEdgeMiddleware makes an EdgeMiddleware. The error is invalid if Addr is no listening address.
func NewEdgeMiddleware(o EdgeOptions) (*EdgeMiddleware, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a listening address: %w", o.Addr, err)
	}
	f := &EdgeMiddleware{log: o.Log, proxies: o.Proxies, responseHeader: map[string][]string{
		"X-Content-Type-Options": {"nosniff"},
		"Referrer-Policy":        {"no-referrer"},
		"Cache-Control":          {"no-store"},
	}}
	// The port is part of the name: a page on another port of this machine is
	// another origin.
	for _, name := range []string{"127.0.0.1", "localhost", "[::1]", "console.junctor.localhost"} {
		f.hosts = append(f.hosts, name+":"+port)
	}
	// With 0.0.0.0 or :: the address says nothing about the names of this host; the
	// operator must add them.
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		f.hosts = append(f.hosts, strings.ToLower(net.JoinHostPort(host, port)))
	}
	for _, h := range o.Hosts {
		f.hosts = append(f.hosts, strings.ToLower(h))
	}
	for _, h := range f.hosts {
		f.origins = append(f.origins, "http://"+h, "https://"+h)
	}
	if u := o.PublicURL; u != nil {
		names := hostForms(u)
		f.hosts = append(f.hosts, names...)
		for _, name := range names {
			f.origins = append(f.origins, u.Scheme+"://"+name)
		}
		if u.Scheme == "https" {
			f.httpsHosts = names
		}
	}
	for _, origin := range o.Origins {
		f.origins = append(f.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	return f, nil
}

// hostForms returns the forms in which clients send the host of a URL: with and without
// the default port of its scheme.
func hostForms(u *url.URL) []string {
	host, usual := strings.ToLower(u.Host), "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	switch u.Port() {
	case "":
		return []string{host, host + ":" + usual}
	case usual:
		return []string{host, strings.TrimSuffix(host, ":"+usual)}
	}
	return []string{host}
}

// isHealthCheck reports whether a request asks whether the instance runs. Load balancers ask
// by address, and some send no Host; the answer holds nothing that needs protection.
func isHealthCheck(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz")
}

// Wrap returns a handler that runs next for the requests that EdgeMiddleware accepts.
func (f *EdgeMiddleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, proto := f.proxies.forwardedHost(r)
		if host != "" {
			r.Host = host
		}
		name := strings.ToLower(r.Host)
		if !slices.Contains(f.hosts, name) && !isHealthCheck(r) {
			http.Error(w, "this Host is not served here; add it with --allowed-hosts, or set --public-url", http.StatusMisdirectedRequest)
			return
		}
		// Clients that are no browsers send no Origin.
		if origins := r.Header["Origin"]; len(origins) > 0 {
			if len(origins) > 1 || !slices.Contains(f.origins, strings.ToLower(origins[0])) {
				http.Error(w, "requests from this Origin are refused; add it with --allowed-origins", http.StatusForbidden)
				return
			}
		}
		h := w.Header()
		maps.Copy(h, f.responseHeader)
		if (r.TLS != nil || proto == "https") && slices.Contains(f.httpsHosts, name) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer f.recoverPanic(w, r)
		next.ServeHTTP(w, r)
	})
}

// recoverPanic answers for a handler that panicked, if it has written nothing yet.
// Otherwise it aborts the connection, so that the client does not take half a response
// for a whole one. It must be called by defer.
func (f *EdgeMiddleware) recoverPanic(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		panic(p)
	}
	f.log.Error("HTTP handler panicked", slog.String("path", r.URL.Path), telemetry.PanicAttr(p))
	h := w.Header()
	if h.Get("Content-Type") != "" {
		panic(http.ErrAbortHandler)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"` + internalErrorText + `"}}`))
}

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
// answer. Behind a proxy that is trusted, the Host is the one that it says.
type Front struct {
	hosts          []string // host or host:port, lower case
	origins        []string
	proxies        Proxies
	httpsHosts     []string // the hosts that are told to be reached by https alone
	log            *slog.Logger
	responseHeader map[string][]string
}

// FrontOptions say what a listener answers to. Addr and Log must be set.
type FrontOptions struct {
	Addr      string   // it listens on; loopback names at its port are always answered to
	PublicURL *url.URL // nil: there is none but the address
	Hosts     []string // that the operator adds, as host or host:port
	Origins   []string // likewise
	Proxies   Proxies
	Log       *slog.Logger
}

// NewFront makes a Front.
func NewFront(o FrontOptions) (*Front, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a listening address: %w", o.Addr, err)
	}
	f := &Front{log: o.Log, proxies: o.Proxies, responseHeader: map[string][]string{
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

// hostForms is how clients name the host of a URL: the port that its scheme has
// anyway may stand there or not.
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

// Wrap puts the front before a handler.
func (f *Front) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, proto := f.proxies.forwardedHost(r)
		if host != "" {
			r.Host = host
		}
		name := strings.ToLower(r.Host)
		if !slices.Contains(f.hosts, name) {
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
		maps.Copy(h, f.responseHeader)
		if (r.TLS != nil || proto == "https") && slices.Contains(f.httpsHosts, name) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer f.recoverPanic(w, r)
		next.ServeHTTP(w, r)
	})
}

// recoverPanic answers for a handler that panicked, when nothing was written yet;
// otherwise the connection is cut, so that half an answer is not taken for one.
func (f *Front) recoverPanic(w http.ResponseWriter, r *http.Request) {
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
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"` + internalErrorText + `"}}`))
}

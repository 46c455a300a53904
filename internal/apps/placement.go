package apps

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Sandbox is where pages are shown.
type Sandbox struct {
	// Addr is what the second listener listens on; "" where there is none.
	Addr string
	// Listen is the address of the first one: a console that is reached there
	// can reach Addr as well.
	Listen string
	// URL is where browsers reach the second listener, where the operator says
	// so. A host that begins with "*." stands for every name below it.
	URL *url.URL
	TLS bool // both listeners speak it
}

// LocalNames is below what Views have names on this machine: browsers take every
// name that ends in localhost for the machine itself.
const LocalNames = "junctor.localhost"

// viewFrames is where the two frames of a View are.
type viewFrames struct {
	isolation junctor.ViewIsolation
	console   string // the origin of who shows it
	proxy     url.URL
	page      url.URL
}

func (f *viewFrames) proxyOrigin() string { return f.proxy.Scheme + "://" + f.proxy.Host }

// pageOrigin is the origin that the page's messages come from.
func (f *viewFrames) pageOrigin() string {
	if f.isolation == junctor.IsolationOpaque {
		return "null"
	}
	return f.page.Scheme + "://" + f.page.Host
}

// frameSource is what the proxy may show in its frame, and nothing else: a View
// that leads its frame elsewhere, with what it knows in the address, leads it
// nowhere.
func (f *viewFrames) frameSource() string {
	if f.isolation == junctor.IsolationOpaque {
		return f.page.String()
	}
	return f.pageOrigin()
}

// outerSandbox is the attribute of the proxy's frame. Popups, dialogs, downloads
// and the window around it are nothing for a View.
const outerSandbox = "allow-scripts allow-same-origin allow-forms"

// pageSandbox is that of the page's frame.
func (f *viewFrames) pageSandbox() string {
	if f.isolation == junctor.IsolationOpaque {
		return "allow-scripts allow-forms"
	}
	return outerSandbox
}

// placeView says where a View that a console shows is to be.
func (s Sandbox) placeView(id, console string, wanted junctor.ViewIsolation) (viewFrames, error) {
	from, err := url.Parse(console)
	if err != nil || from.Host == "" || from.Scheme != "http" && from.Scheme != "https" {
		return viewFrames{}, junctor.Errorf(junctor.CodeInvalid, "a View is shown by a page at an http address, and %q is none", clipText(console))
	}
	f := viewFrames{isolation: junctor.IsolationOrigin, console: from.Scheme + "://" + from.Host}
	_, port, err := net.SplitHostPort(s.Addr)
	switch {
	case s.Addr == "" || err != nil:
		return viewFrames{}, junctor.Errorf(junctor.CodeUnavailable, "this instance has no listener for Views")
	case s.URL != nil && strings.HasPrefix(s.URL.Host, "*."):
		f.setOwnHosts(s.URL.Scheme, strings.TrimPrefix(s.URL.Host, "*."), id)
		if wanted != "" {
			f.isolation = wanted
		}
	case s.URL != nil:
		f.setSharedHost(s.URL.Scheme, s.URL.Host, id)
	case wanted != junctor.IsolationOpaque && !s.TLS && isLoopback(from.Hostname()):
		f.setOwnHosts("http", net.JoinHostPort(LocalNames, port), id)
	case s.isReachedDirectly(from):
		f.setSharedHost(from.Scheme, net.JoinHostPort(from.Hostname(), port), id)
	default:
		return viewFrames{}, junctor.Errorf(junctor.CodeUnavailable, "browsers cannot be told where Views are: set --sandbox-url to where they reach %s, best with a wildcard such as https://*.views.example.com", s.Addr)
	}
	return f, nil
}

// isReachedDirectly says whether the console is reached at the first listener itself, and
// not through something that stands before it.
func (s Sandbox) isReachedDirectly(console *url.URL) bool {
	_, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return false
	}
	at := console.Port()
	if at == "" {
		at = map[string]string{"http": "80", "https": "443"}[console.Scheme]
	}
	return at == port && (console.Scheme == "https") == s.TLS
}

// setOwnHosts gives each of the two frames a name of its own.
func (f *viewFrames) setOwnHosts(scheme, base, id string) {
	f.proxy = url.URL{Scheme: scheme, Host: "p-" + id + "." + base, Path: "/"}
	f.page = url.URL{Scheme: scheme, Host: "a-" + id + "." + base, Path: "/"}
}

// setSharedHost has them share a host: the page then gets no origin at all.
func (f *viewFrames) setSharedHost(scheme, host, id string) {
	f.isolation = junctor.IsolationOpaque
	f.proxy = url.URL{Scheme: scheme, Host: host, Path: "/p/" + id}
	f.page = url.URL{Scheme: scheme, Host: host, Path: "/a/" + id}
}

// FrameSources is what a console at an origin has to allow as frames.
func (s Sandbox) FrameSources(console string) []string {
	var out []string
	for _, isolation := range []junctor.ViewIsolation{"", junctor.IsolationOpaque} {
		f, err := s.placeView("*", console, isolation)
		if err != nil {
			continue
		}
		source := f.proxyOrigin()
		if scheme, host, ok := strings.Cut(source, "://p-*."); ok {
			source = scheme + "://*." + host
		}
		if len(out) == 0 || out[0] != source {
			out = append(out, source)
		}
	}
	return out
}

func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func clipText(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

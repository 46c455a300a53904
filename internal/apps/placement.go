package apps

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Sandbox describes how browsers reach the sandbox listener, which serves the pages of
// Views. It is another listener than that of the console, so that pages never share an
// origin with the console.
type Sandbox struct {
	// Addr is the address that the sandbox listener listens on; empty if there is none.
	Addr string
	// Listen is the address of the main listener. A browser that reaches the console
	// there can reach Addr on the same host.
	Listen string
	// URL is the public address of the sandbox listener, if the operator has set one. A
	// host that begins with "*." stands for all names below it: each View then gets an
	// origin of its own.
	URL *url.URL
	// TLS reports whether both listeners use TLS.
	TLS bool
}

// LocalDomain is the domain of Views on this machine. Browsers resolve all names that end
// in localhost to the machine itself, so each View gets an origin without any DNS entry.
const LocalDomain = "junctor.localhost"

// viewFrames holds the addresses of the two nested frames of a View: the proxy, which is
// ours, and the page inside it, which is the server's.
type viewFrames struct {
	isolation junctor.ViewIsolation
	console   string // origin of the page that shows the View
	proxy     url.URL
	page      url.URL
}

// proxyOrigin is the origin of the outer frame.
func (f *viewFrames) proxyOrigin() string { return f.proxy.Scheme + "://" + f.proxy.Host }

// pageOrigin is the origin that messages of the page come from. An opaque page has the
// origin "null".
func (f *viewFrames) pageOrigin() string {
	if f.isolation == junctor.IsolationOpaque {
		return "null"
	}
	return f.page.Scheme + "://" + f.page.Host
}

// frameSource is the only source that the proxy may show in its frame. A page that
// navigates its frame elsewhere, to leak data in the address, is blocked by it.
func (f *viewFrames) frameSource() string {
	if f.isolation == junctor.IsolationOpaque {
		return f.page.String()
	}
	return f.pageOrigin()
}

// outerSandbox is the sandbox attribute of the proxy's frame. It allows no popups,
// dialogs, downloads, or navigation of the window around it.
const outerSandbox = "allow-scripts allow-same-origin allow-forms"

// pageSandbox is the sandbox attribute of the page's frame. Without allow-same-origin the
// page is opaque.
func (f *viewFrames) pageSandbox() string {
	if f.isolation == junctor.IsolationOpaque {
		return "allow-scripts allow-forms"
	}
	return outerSandbox
}

// placeView decides where the frames of a View are. console is the origin of the page
// that shows it. wanted is the isolation that the caller asks for; empty means the
// strongest that the addresses allow. The error has CodeUnavailable if browsers could not
// reach the listener.
//
// A page that has no host of its own shares one with other Views. It must be opaque then:
// otherwise Views could read each other's storage.
func (s Sandbox) placeView(id, console string, wanted junctor.ViewIsolation) (viewFrames, error) {
	from, err := url.Parse(console)
	if err != nil || from.Host == "" || from.Scheme != "http" && from.Scheme != "https" {
		return viewFrames{}, junctor.Errorf(junctor.CodeInvalid, "an App view requires a console at an http or https origin, not %q", clipText(console))
	}
	f := viewFrames{isolation: junctor.IsolationOrigin, console: from.Scheme + "://" + from.Host}
	_, port, err := net.SplitHostPort(s.Addr)
	switch {
	case s.Addr == "" || err != nil:
		return viewFrames{}, junctor.Errorf(junctor.CodeUnavailable, "this instance has no listener for App views")
	case s.URL != nil && strings.HasPrefix(s.URL.Host, "*."):
		f.setOwnHosts(s.URL.Scheme, strings.TrimPrefix(s.URL.Host, "*."), id)
		if wanted != "" {
			f.isolation = wanted
		}
	case s.URL != nil:
		f.setSharedHost(s.URL.Scheme, s.URL.Host, id)
	case wanted != junctor.IsolationOpaque && !s.TLS && isLoopback(from.Hostname()):
		f.setOwnHosts("http", net.JoinHostPort(LocalDomain, port), id)
	case s.isReachedDirectly(from):
		f.setSharedHost(from.Scheme, net.JoinHostPort(from.Hostname(), port), id)
	default:
		return viewFrames{}, junctor.Errorf(junctor.CodeUnavailable, "the public address of App views is unknown: set --sandbox-url to the URL at which browsers reach %s, best with a wildcard such as https://*.views.example.com", s.Addr)
	}
	return f, nil
}

// isReachedDirectly reports whether the console is reached at the main listener itself,
// and not through a proxy whose ports say nothing about ours.
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

// setOwnHosts gives each of the two frames a host of its own below base, and so an
// origin.
func (f *viewFrames) setOwnHosts(scheme, base, id string) {
	f.proxy = url.URL{Scheme: scheme, Host: "p-" + id + "." + base, Path: "/"}
	f.page = url.URL{Scheme: scheme, Host: "a-" + id + "." + base, Path: "/"}
}

// setSharedHost puts both frames on one host, told apart by path. The page becomes
// opaque.
func (f *viewFrames) setSharedHost(scheme, host, id string) {
	f.isolation = junctor.IsolationOpaque
	f.proxy = url.URL{Scheme: scheme, Host: host, Path: "/p/" + id}
	f.page = url.URL{Scheme: scheme, Host: host, Path: "/a/" + id}
}

// FrameSources lists the sources that a console at an origin must allow as frames in its
// Content-Security-Policy.
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

// isLoopback reports whether a host name stands for this machine.
func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// clipText cuts text of a caller or server to what fits in an error message.
func clipText(s string) string { return junctor.ShortenText(s, 100) }

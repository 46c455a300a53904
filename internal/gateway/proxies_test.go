package gateway_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/junctor-mcp/junctor/internal/gateway"
)

func trusted() gateway.TrustedProxies {
	return gateway.TrustedProxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	type header = http.Header
	for _, tt := range []struct {
		name, peer string
		header     header
		want       string
	}{
		{"nothing before us", "203.0.113.9:1", nil, "203.0.113.9"},
		{"a stranger says so", "203.0.113.9:1", header{"X-Forwarded-For": {"1.1.1.1"}, "Forwarded": {"for=1.1.1.1"}}, "203.0.113.9"},
		{"one proxy", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7"},
		{"the client says more", "10.0.0.1:1", header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.7"}}, "198.51.100.7"},
		{"in lines of its own", "10.0.0.1:1", header{"X-Forwarded-For": {"1.1.1.1", "198.51.100.7"}}, "198.51.100.7"},
		{"two proxies", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7, 10.0.0.2"}}, "198.51.100.7"},
		{"behind a stranger's proxy", "10.0.0.1:1", header{"X-Forwarded-For": {"10.9.9.9, 198.51.100.7, 10.0.0.2"}}, "198.51.100.7"},
		{"from inside", "10.0.0.1:1", header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3"},
		{"no address", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7, unknown, 10.0.0.2"}}, "10.0.0.2"},
		{"empty", "10.0.0.1:1", header{"X-Forwarded-For": {""}}, "10.0.0.1"},
		{"with ports", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7:99"}}, "198.51.100.7"},
		{"mapped", "[::ffff:10.0.0.1]:1", header{"X-Forwarded-For": {"::ffff:198.51.100.7"}}, "198.51.100.7"},
		{"the standard's", "10.0.0.1:1", header{"Forwarded": {`for=1.1.1.1, for=198.51.100.7;proto=https;by=10.0.0.1`}}, "198.51.100.7"},
		{"quoted, with a port", "[fd00::1]:1", header{"Forwarded": {`For="[2001:db8::7]:4711";host="a,b"`}}, "2001:db8::7"},
		{"hidden", "10.0.0.1:1", header{"Forwarded": {`for=_hidden, for=10.0.0.2`}}, "10.0.0.2"},
		{"twice", "10.0.0.1:1", header{"Forwarded": {`for=1.1.1.1;for=198.51.100.7`}}, "10.0.0.1"},
		{"both agree", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7"}, "Forwarded": {"for=198.51.100.7"}}, "198.51.100.7"},
		{"both disagree", "10.0.0.1:1", header{"X-Forwarded-For": {"198.51.100.7"}, "Forwarded": {"for=1.1.1.1"}}, "10.0.0.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = tt.peer, tt.header
		if got := trusted().Client(r).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzClientAddress holds that no header makes a stranger somebody else, and
// that the client who is named behind a proxy is not the proxy's choice to crash us.
func FuzzClientAddress(f *testing.F) {
	f.Add("for=1.1.1.1", "1.1.1.1")
	f.Add(`for="[::1]:1";by="\"`, "[")
	f.Fuzz(func(t *testing.T, standard, common string) {
		r := &http.Request{RemoteAddr: "203.0.113.9:1", Header: http.Header{"Forwarded": {standard}, "X-Forwarded-For": {common}}}
		if got := trusted().Client(r).String(); got != "203.0.113.9" {
			t.Errorf("a stranger is %s", got)
		}
		r.RemoteAddr = "10.0.0.1:1"
		if !trusted().Client(r).IsValid() {
			t.Error("nobody")
		}
	})
}

func TestFrontBeyondLoopback(t *testing.T) {
	t.Parallel()
	const public = "junctor.example.com"
	type header = map[string]string
	for _, tt := range []struct {
		name, peer, host string
		tls              bool
		header           header
		status           int
		strict           bool
	}{
		{"its name", "203.0.113.9:1", public, false, nil, 200, false},
		{"with the usual port", "203.0.113.9:1", public + ":443", false, nil, 200, false},
		{"with another port", "203.0.113.9:1", public + ":8443", false, nil, 421, false},
		{"in capitals", "203.0.113.9:1", "Junctor.Example.Com", false, nil, 200, false},
		{"another name", "203.0.113.9:1", "evil.example", false, nil, 421, false},
		{"a name of ours inside another", "203.0.113.9:1", public + ".evil.example", false, nil, 421, false},
		{"loopback", "127.0.0.1:1", "127.0.0.1:8717", false, nil, 200, false},
		{"added", "203.0.113.9:1", "internal:8717", false, nil, 200, false},
		{"a stranger forwards", "203.0.113.9:1", "evil.example", false, header{"X-Forwarded-Host": public}, 421, false},
		{"the proxy forwards", "10.0.0.1:1", "upstream", false, header{"X-Forwarded-Host": public}, 200, false},
		{"the proxy forwards by the standard", "10.0.0.1:1", "upstream", false, header{"Forwarded": "for=1.1.1.1;host=" + public + ";proto=https"}, 200, true},
		{"the proxy forwards another", "10.0.0.1:1", public, false, header{"X-Forwarded-Host": "evil.example"}, 421, false},
		{"two that disagree", "10.0.0.1:1", public, false, header{"X-Forwarded-Host": "evil.example", "Forwarded": "host=other.example"}, 200, false},
		{"the nearest proxy's", "10.0.0.1:1", "upstream", false, header{"X-Forwarded-Host": "evil.example, " + public}, 200, false},
		{"TLS of ours", "203.0.113.9:1", public, true, nil, 200, true},
		{"TLS of the proxy", "10.0.0.1:1", public, false, header{"X-Forwarded-Proto": "https"}, 200, true},
		{"none at the proxy", "10.0.0.1:1", public, false, header{"X-Forwarded-Proto": "http"}, 200, false},
		{"a stranger's TLS", "203.0.113.9:1", public, false, header{"X-Forwarded-Proto": "https"}, 200, false},
		{"TLS under another name", "127.0.0.1:1", "127.0.0.1:8717", true, nil, 200, false},
		{"a page of ours", "203.0.113.9:1", public, false, header{"Origin": "https://" + public}, 200, false},
		{"with its port", "203.0.113.9:1", public, false, header{"Origin": "https://" + public + ":443"}, 200, false},
		{"a page of ours in the clear", "203.0.113.9:1", public, false, header{"Origin": "http://" + public}, 403, false},
		{"a page elsewhere", "203.0.113.9:1", public, false, header{"Origin": "https://evil.example"}, 403, false},
		{"a page of nowhere", "203.0.113.9:1", public, false, header{"Origin": "null"}, 403, false},
		{"a page that was added", "203.0.113.9:1", public, false, header{"Origin": "https://app.example"}, 200, false},
	} {
		front, err := gateway.NewEdgeMiddleware(gateway.EdgeOptions{
			Addr: "0.0.0.0:8717", PublicURL: &url.URL{Scheme: "https", Host: public}, Hosts: []string{"internal:8717"}, Origins: []string{"https://app.example"},
			Proxies: trusted(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr, r.Host = tt.peer, tt.host
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		for name, value := range tt.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		front.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, r)
		if strict := w.Header().Get("Strict-Transport-Security") != ""; w.Code != tt.status || strict != tt.strict {
			t.Errorf("%s: %d, HSTS %t; want %d, %t", tt.name, w.Code, strict, tt.status, tt.strict)
		}
	}
}

// TestHealthChecksByAnyHost holds that load balancers, which ask by address or without a
// Host, get the answer to a health check, and nothing else.
func TestHealthChecksByAnyHost(t *testing.T) {
	t.Parallel()
	front, err := gateway.NewEdgeMiddleware(gateway.EdgeOptions{
		Addr: "0.0.0.0:8717", PublicURL: &url.URL{Scheme: "https", Host: "junctor.example.com"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"", "10.0.0.7:8717"} {
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 421, "/mcp": 421, "/metrics": 421, "/readyz/": 421} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			front.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s by the host %q: %d, want %d", path, host, w.Code, want)
			}
		}
	}
}

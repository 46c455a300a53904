package egress

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// newProxy is an HTTP proxy that leads every tunnel to one address, and
// remembers what it was asked for.
func newProxy(t *testing.T, to string) (srv *httptest.Server, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var hosts []string
	var tunnels []chan struct{} // closed when a tunnel has ended; the server does not wait for those
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, ended := range tunnels {
			<-ended
		}
	})
	srv = serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hosts = append(hosts, r.Method+" "+r.Host)
		mu.Unlock()
		if r.Method != http.MethodConnect || r.Host == "forbidden.example.com:443" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		d := net.Dialer{}
		out, err := d.DialContext(r.Context(), "tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		in, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(in, "HTTP/1.1 200 OK\r\n\r\n")
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			ended := make(chan struct{})
			mu.Lock()
			tunnels = append(tunnels, ended)
			mu.Unlock()
			go func() {
				defer close(ended)
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
			}()
		}
	})
	return srv, func() []string { mu.Lock(); defer mu.Unlock(); return hosts }
}

func TestProxy(t *testing.T) {
	t.Parallel()
	target := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "target") }))
	t.Cleanup(target.Close)
	near := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "near") })
	proxy, asked := newProxy(t, target.Listener.Addr().String())
	_, proxyPort, _ := net.SplitHostPort(proxy.Listener.Addr().String())

	// The proxy is inside, and its range is not allowed: only the operator's
	// word leads there.
	c := newClient(t, Options{Proxy: mustURL(t, proxy.URL)}, ClientOptions{})
	c.trust(target)
	if got, err := c.get(t, "https://example.com/"); err != nil || got != "target" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := c.get(t, "https://forbidden.example.com/")
	wantCode(t, err, junctor.CodeUnreachable)
	for _, bad := range []string{
		"https://127.0.0.1:" + proxyPort, "http://127.0.0.1:" + proxyPort, "https://localhost:" + proxyPort,
		"https://10.0.0.1", "http://example.com", "https://169.254.169.254",
	} {
		_, err := c.get(t, bad)
		wantCode(t, err, junctor.CodeDenied)
	}
	if got := fmt.Sprint(asked()); got != "[CONNECT example.com:443 CONNECT forbidden.example.com:443]" {
		t.Errorf("the proxy was asked for %s", got)
	}

	// An allowed range is near, and is dialled without the proxy.
	both := newClient(t, Options{Proxy: mustURL(t, proxy.URL), Allow: prefixes("127.0.0.0/8")}, ClientOptions{})
	if got, err := both.get(t, near.URL); err != nil || got != "near" {
		t.Errorf("%q, %v", got, err)
	}
	if n := len(asked()); n != 2 {
		t.Errorf("the proxy was asked %d times", n)
	}
}

func TestProxyAbsent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := newClient(t, Options{Proxy: mustURL(t, "http://"+l.Addr().String())}, ClientOptions{})
	_, err = c.get(t, "https://example.com/")
	wantCode(t, err, junctor.CodeUnreachable)
}

// Only the way to the proxy itself is not judged.
func TestProxyDialJudgesTheRest(t *testing.T) {
	t.Parallel()
	near := serve(t, func(http.ResponseWriter, *http.Request) {})
	address := near.Listener.Addr().String()
	strict := &net.Dialer{Control: newJudge().checkHTTPSDial}
	for proxy, want := range map[string]junctor.Code{"http://" + address: "", "http://127.0.0.1:9": junctor.CodeDenied} {
		conn, err := dialProxyOr(mustURL(t, proxy), (&net.Dialer{}).DialContext, strict.DialContext)(t.Context(), "tcp", address)
		if junctor.CodeOf(err) != want {
			t.Errorf("with the proxy %s: %v", proxy, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
}

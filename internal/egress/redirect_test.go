package egress

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// secretHeaders are set on requests whose redirects are looked at: known
// credentials, ones that only their owner knows to be some, and one that is
// not in canonical form.
func secretHeaders() http.Header {
	return http.Header{
		"Authorization": {"Bearer s"}, "Cookie": {"s=1"}, "X-Api-Key": {"s"}, "Mcp-Session-Id": {"s"}, "x-raw": {"s"},
		"Accept": {"application/json"}, "User-Agent": {"test"},
	}
}

func TestRedirectHeaders(t *testing.T) {
	t.Parallel()
	show := func(w http.ResponseWriter, r *http.Request) {
		for name := range secretHeaders() {
			if r.Header.Get(name) != "" {
				fmt.Fprint(w, http.CanonicalHeaderKey(name), " ")
			}
		}
		if r.Header.Get("Referer") != "" {
			fmt.Fprint(w, "Referer ")
		}
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if back := r.URL.Query().Get("back"); back != "" {
			http.Redirect(w, r, back, http.StatusFound)
			return
		}
		show(w, r)
	})
	var home *httptest.Server
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/show":
			show(w, r)
		case "/home":
			http.Redirect(w, r, "/show", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/boomerang":
			http.Redirect(w, r, other.URL+"?back="+home.URL+"/show", http.StatusFound)
		}
	})
	c := newClient(t, loopback(), ClientOptions{})
	for path, want := range map[string]bool{"/show": true, "/home": true, "/away": false, "/boomerang": false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = secretHeaders()
		got, err := c.do(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Mcp-Session-Id", "X-Raw"} {
			if strings.Contains(got, name+" ") != want {
				t.Errorf("%s: %s arrived is %v, want %v", path, name, !want, want)
			}
		}
		if !want && strings.Contains(got, "Referer") {
			t.Errorf("%s: another origin is told the address", path)
		}
		for _, name := range []string{"Accept", "User-Agent"} {
			if !strings.Contains(got, name+" ") {
				t.Errorf("%s: %s did not arrive", path, name)
			}
		}
	}
}

func TestRedirectsRefused(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	trap := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(trap.Listener.Addr().String())
	tests := map[string]struct {
		to   string
		code junctor.Code
	}{
		"to another loopback address": {"http://127.0.0.2:" + port, junctor.CodeDenied},
		"to a blocked name":           {"http://blocked.test:" + port, junctor.CodeDenied},
		"to metadata":                 {"http://169.254.169.254/", junctor.CodeDenied},
		"to userinfo":                 {"http://u:p@127.0.0.1:" + port, junctor.CodeDenied},
		"to a file":                   {"file:///etc/passwd", junctor.CodeDenied},
		"to gopher":                   {"gopher://127.0.0.1:" + port, junctor.CodeDenied},
		"to a short address":          {"http://127.1:" + port, junctor.CodeInvalid},
		"to public http":              {"http://93.184.216.34/", junctor.CodeDenied},
	}
	dns := newDNS(t, map[string]string{"blocked.test.": "127.0.0.2"})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", tt.to)
				w.WriteHeader(http.StatusFound)
			})
			c := newClientWith(t, loopback(), ClientOptions{}, dns.resolver())
			_, err := c.get(t, srv.URL)
			wantCode(t, err, tt.code)
		})
	}
	t.Cleanup(func() {
		if hits.Load() != 0 {
			t.Errorf("%d requests arrived", hits.Load())
		}
	})
}

func TestRedirectFromHTTPS(t *testing.T) {
	t.Parallel()
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request arrived in the clear") })
	srv := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(srv.Close)
	c := newClient(t, loopback(), ClientOptions{})
	c.trust(srv)
	_, err := c.get(t, srv.URL)
	wantCode(t, err, junctor.CodeDenied)
}

func TestRedirectCount(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			fmt.Fprint(w, "there")
			return
		}
		http.Redirect(w, r, r.URL.Path[:len(r.URL.Path)-1], http.StatusFound) // one step nearer
	})
	c := newClient(t, loopback(), ClientOptions{})
	if got, err := c.get(t, srv.URL+"/xxx"); err != nil || got != "there" {
		t.Errorf("three redirects: %q, %v", got, err)
	}
	_, err := c.get(t, srv.URL+"/xxxx")
	wantCode(t, err, junctor.CodeUpstream)
}

func TestRedirectBody(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, r.ContentLength) })
	home := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/home":
			http.Redirect(w, r, "/show", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/see":
			http.Redirect(w, r, other.URL, http.StatusSeeOther)
		default:
			fmt.Fprint(w, r.Method, r.ContentLength)
		}
	})
	c := newClient(t, loopback(), ClientOptions{})
	for _, tt := range []struct {
		path, want string
		code       junctor.Code
	}{{"/home", "POST 6", ""}, {"/see", "GET 0", ""}, {"/away", "", junctor.CodeDenied}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, home.URL+tt.path, strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.do(r)
		wantCode(t, err, tt.code)
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(tt.want, " ", "") {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
}

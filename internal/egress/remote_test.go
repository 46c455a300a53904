package egress

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// socketPath is short: the path of a unix socket has room for about 100 bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "egress") //nolint:usetesting // t.TempDir holds the test's name and may be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func TestLocal(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.URL.Path)
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	c := &bundle{Client: Local(socket)}
	t.Cleanup(c.CloseIdleConnections)
	if got, err := c.get(t, "http://junctor/api/v1/tools"); err != nil || got != "/api/v1/tools" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := c.get(t, "http://junctor/redirect"); err != nil {
		t.Errorf("a redirect is not an answer: %v", err)
	}

	conn, err := DialUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /raw HTTP/1.0\r\n\r\n")
	if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "/raw") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLocalAbsent(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	_, err := (&bundle{Client: Local(socket)}).get(t, "http://junctor/")
	wantCode(t, err, junctor.CodeUnreachable)
	if err == nil || !strings.Contains(err.Error(), socket) || !strings.Contains(err.Error(), "junctor up") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	_, err = DialUnix(t.Context(), socket)
	wantCode(t, err, junctor.CodeUnreachable)
}

func TestRemote(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		fmt.Fprint(w, "hello")
	})
	client, err := Remote(mustURL(t, srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	c := &bundle{Client: client}
	t.Cleanup(c.CloseIdleConnections)
	if got, err := c.get(t, srv.URL+"/x"); err != nil || got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.get(t, srv.URL+"/redirect"); err != nil || strings.Contains(got, "hello") {
		t.Errorf("a redirect was followed: %q, %v", got, err)
	}
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("went to another origin") })
	_, err = c.get(t, other.URL)
	wantCode(t, err, junctor.CodeDenied)

	for _, bad := range []string{"", "ftp://x", "http://", "http://u:p@127.0.0.1", "127.0.0.1:8717"} {
		u, err := url.Parse(bad)
		if err != nil {
			u = nil
		}
		if _, err := Remote(u); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRemotePlainHTTP(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]junctor.Code{
		"127.0.0.1:80": "", "[::1]:80": "", "10.0.0.1:80": "", "[fd00::1]:80": "", "[::ffff:127.0.0.1]:80": "",
		"93.184.216.34:80": junctor.CodeDenied, "[2606:4700:4700::1111]:80": junctor.CodeDenied, "nonsense": junctor.CodeDenied,
	} {
		if got := junctor.CodeOf(checkPrivateDial("tcp", address, nil)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

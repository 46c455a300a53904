package egress

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A data directory may lie deeper than the address of a socket has room for.
func TestSocketBelowALongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 20), strings.Repeat("down", 20))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	if l, err := net.Listen("unix", socket); err == nil {
		_ = l.Close()
		t.Fatalf("%d bytes fit into an address: this test would see nothing", len(socket))
	}
	l, err := ListenUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })}}
	srv.Start()
	t.Cleanup(srv.Close)
	c := &bundle{Client: Local(socket)}
	if got, err := c.get(t, "http://junctor/x"); err != nil || got != "/x" {
		t.Errorf("%q, %v", got, err)
	}
	c.CloseIdleConnections()
	srv.Close()
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	// The next listener's file stays if the first is closed once more.
	next, err := ListenUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	_ = l.Close()
	if info, err := os.Lstat(socket); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("the next listener's file is gone: %v", err)
	}
}

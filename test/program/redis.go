package program

import (
	"os/exec"
	"strings"
	"testing"
)

// Redis starts one of the test's own, which keeps nothing on disk, and gives its
// address.
func Redis(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Missing(t, "redis-server; tools/install.sh debian installs it")
	}
	addr := FreeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	Serve(t, addr, nil, path, "--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	return addr
}

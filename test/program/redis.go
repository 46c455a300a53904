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
	addr := FreeAddr(t)
	RedisAt(t, addr)
	return addr
}

// RedisAt is Redis on an address, for tests that end it and start another there.
func RedisAt(t testing.TB, addr string) *Process {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Missing(t, "redis-server; tools/install.sh debian installs it")
	}
	host, port, _ := strings.Cut(addr, ":")
	return Serve(t, addr, nil, path, "--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
}

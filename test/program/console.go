package program

import (
	"os/exec"
	"strings"
	"testing"
)

// Console is an instance that a browser looks at: Chromium, driven by scripts of
// test/node.
type Console struct {
	*Instance
	Node *Node
}

// StartConsole starts an instance with an admin ada, who may sign in, and with
// these flags. Without a browser the test is skipped, or fails in CI.
func StartConsole(t testing.TB, flags ...string) *Console {
	t.Helper()
	node := FindNode(t)
	NeedChromium(t)
	c := &Console{Start(t, FreeAddr(t), t.TempDir(), append([]string{"--egress-allow", "127.0.0.0/8"}, flags...)...), node}
	c.Tell(t, "user", "add", "ada", "--role", "admin")
	return c
}

// NeedChromium skips the test where there is no browser, and fails it in CI.
func NeedChromium(t testing.TB) {
	t.Helper()
	if findChromium() == "" {
		Missing(t, "chromium-headless-shell, or chromium; tools/install.sh debian installs it")
	}
}

// findChromium gives the path of the browser, "" where there is none. The headless
// shell is the same engine without windows, and starts in a fifth of the time.
func findChromium() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Tell runs a command of the operator's, which has to work, and gives what it
// printed.
func (c *Console) Tell(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := c.Operate(t, args...)
	if code != 0 {
		t.Fatalf("junctor %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return strings.TrimSpace(stdout)
}

// Link is an address that signs somebody in, once.
func (c *Console) Link(t testing.TB, user string) string {
	t.Helper()
	return c.Tell(t, "login", "--user", user)
}

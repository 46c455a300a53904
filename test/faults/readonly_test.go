package faults

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// runAsNobody lets an instance run as a user whom the modes of folders bind. dir is
// a folder that this user owns.
func runAsNobody(t *testing.T) (prefix []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	if os.Getuid() != 0 {
		return nil, dir
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("modes do not bind root, and there is no setpriv to be somebody else")
	}
	// The user must reach the binary, too.
	bin := filepath.Join(t.TempDir(), "junctor")
	copyFile(t, program.Binary(t), bin)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", bin}, dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// chmodAll changes every folder below dir.
func chmodAll(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	folders := []string{dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, filepath.Join(dir, e.Name()))
		}
	}
	for _, f := range folders {
		if err := os.Chmod(f, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadOnlyFolder takes the right to write into the folders of the data
// directory from a running instance. Files that are open can still be written:
// calls go on as long as they are recorded, and the rest is made up for.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	prefix, data := runAsNobody(t)
	in := program.Launch(t, program.Spec{Addr: program.FreeAddr(t), DataDir: data, Prefix: prefix, Args: []string{"--rate-limit", "0"}})
	in.WaitReady(t)
	s := newSite(t, in)
	s.checkHealthy("before")
	chmodAll(t, data, 0o500)
	t.Cleanup(func() { chmodAll(t, data, 0o700) })
	for range 20 {
		for _, a := range s.callOnce() {
			if !strings.Contains(a.Body, "recorded") {
				t.Errorf("a refusal does not say that the call could not be recorded: %d %s", a.Status, a.Body)
			}
		}
	}
	s.waitForLog("cannot sign the journal's head")

	chmodAll(t, data, 0o700)
	s.eventually("ready again", healing, s.ready)
	for range 5 {
		s.checkHealthy("after")
	}
	s.verifyJournal()
}

// TestReadOnlyAtStart starts on a folder that cannot be written to, and again
// when it can.
func TestReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	prefix, data := runAsNobody(t)
	if err := os.Chmod(data, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(data, 0o700) })
	spec := program.Spec{Addr: program.FreeAddr(t), DataDir: data, Prefix: prefix}
	in := program.Launch(t, spec)
	code, ended := in.Wait(healing)
	if !ended || code != 1 || !strings.Contains(in.Log(), data) || strings.Contains(in.Log(), "panic") {
		t.Errorf("in a folder that cannot be written to: ended %t with exit code %d:\n%s", ended, code, in.Log())
	}
	in.Kill()
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	in = program.Launch(t, spec)
	in.WaitReady(t)
	s := newSite(t, in)
	s.checkHealthy("once it can be written to")
	s.verifyJournal()
}

package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// never is a grace or a wait that no working test uses up.
const never = time.Minute

// start plays a role. What it writes can be read line by line; the end of the
// text comes when everybody who inherited the pipe has ended.
func start(t *testing.T, ctx context.Context, role string) (*proc.Process, *bufio.Reader) {
	t.Helper()
	return startBy(t, ctx, proc.Start, role)
}

type starter func(context.Context, proc.Command) (*proc.Process, error)

// starters are both ways to start, for what they have in common.
func starters() map[string]starter {
	return map[string]starter{"plain": proc.Start, "reaped": proc.StartReaped}
}

func startBy(t *testing.T, ctx context.Context, by starter, role string) (*proc.Process, *bufio.Reader) {
	t.Helper()
	self, err := proc.ExecutablePath()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := by(ctx, proc.Command{Path: self, Args: []string{"play-" + role}, Stdin: in, Stdout: w, Stderr: os.Stderr})
	_, _ = w.Close(), in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0); _, _ = hold.Close(), r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(never)); err != nil {
		t.Fatal(err)
	}
	return p, bufio.NewReader(r)
}

func expectLine(t *testing.T, r *bufio.Reader, prefix string) {
	t.Helper()
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, prefix) {
		t.Fatalf("read %q, %v; want %s…", line, err, prefix)
	}
}

// expectNobody proves that every process that holds the pipe has ended.
func expectNobody(t *testing.T, r *bufio.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil {
		t.Fatalf("somebody still lives: read %q, %v", rest, err)
	}
}

func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	for how, by := range starters() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p, out := startBy(t, t.Context(), by, "polite")
			expectLine(t, out, "armed")
			if killed := p.Stop(never); killed {
				t.Error("Stop killed a process that ends when asked")
			}
			if err := p.Err(); err != nil {
				t.Errorf("Err() = %v, want nil after a clean end", err)
			}
			p.Stop(never) // again: nothing to do
			expectNobody(t, out)
		})
	}
}

func TestStopKillsTheGroup(t *testing.T) {
	t.Parallel()
	for how, by := range starters() {
		for _, role := range []string{"stubborn", "parent"} {
			t.Run(how+" "+role, func(t *testing.T) {
				t.Parallel()
				needGroups(t)
				p, out := startBy(t, t.Context(), by, role)
				expectLine(t, out, "armed")
				// The leader of "parent" ends when asked; its child does not.
				grace, want := never, false
				if role == "stubborn" {
					grace, want = 50*time.Millisecond, true
				}
				if killed := p.Stop(grace); killed != want {
					t.Errorf("Stop = %v, want %v", killed, want)
				}
				if p.Err() == nil {
					t.Error("Err() = nil for a process ended by a signal")
				}
				expectNobody(t, out)
			})
		}
	}
}

func TestEndOfLeaderEndsTheGroup(t *testing.T) {
	t.Parallel()
	for how, by := range starters() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			needGroups(t)
			p, out := startBy(t, t.Context(), by, "deserter")
			select {
			case <-p.Done():
			case <-time.After(never):
				t.Fatal("the process was not reaped")
			}
			if err := p.Err(); err != nil {
				t.Errorf("Err() = %v, want nil", err)
			}
			expectNobody(t, out)
		})
	}
}

func TestContextEndsTheGroup(t *testing.T) {
	t.Parallel()
	for how, by := range starters() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			needGroups(t)
			ctx, cancel := context.WithCancel(t.Context())
			p, out := startBy(t, ctx, by, "parent")
			expectLine(t, out, "armed")
			cancel()
			<-p.Done()
			expectNobody(t, out)
			if _, err := by(ctx, proc.Command{Path: "true"}); junctor.CodeOf(err) != junctor.CodeCanceled {
				t.Errorf("start under an ended context: %v, want canceled", err)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	p, _ := start(t, t.Context(), "exit3")
	<-p.Done()
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("Err() = %v, want exit status 3", p.Err())
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("JUNCTOR_PROC_TEST_SECRET", "hidden")
	t.Setenv("LANG", "C.UTF-8")
	for how, by := range starters() {
		t.Run(how, func(t *testing.T) { testEnvironment(t, by) })
	}
}

func testEnvironment(t *testing.T, by starter) {
	t.Helper()
	self, err := proc.ExecutablePath()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p, err := by(t.Context(), proc.Command{
		Path: self, Args: []string{"play-env"}, Stdout: &out,
		Env: []string{"NAMED=yes", "HOME=/nowhere"},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	got := strings.Split(out.String(), "\n")
	for _, want := range []string{"NAMED=yes", "HOME=/nowhere", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	allowed := []string{"PATH", "HOME", "LANG", "TMPDIR", "NAMED", "USERPROFILE", "TEMP", "TMP", "SYSTEMROOT"}
	for _, kv := range got {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(allowed, name) {
			t.Errorf("%q was passed on", kv)
		}
	}
}

func TestStartNamesTheProblem(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cmd  proc.Command
		want junctor.Code
	}{
		{"empty", proc.Command{}, junctor.CodeInvalid},
		{"no such name", proc.Command{Path: "no-such-program-here"}, junctor.CodeNotFound},
		{"no such path", proc.Command{Path: "/no/such/program"}, junctor.CodeNotFound},
		{"not executable", proc.Command{Path: plain}, junctor.CodeDenied},
		{"no such directory", proc.Command{Path: "true", Dir: "/no/such/directory"}, junctor.CodeNotFound},
	} {
		for how, by := range starters() {
			t.Run(how+" "+c.name, func(t *testing.T) {
				t.Parallel()
				if runtime.GOOS == "windows" && c.want == junctor.CodeDenied {
					t.Skip("files have no executable bit on Windows")
				}
				p, err := by(t.Context(), c.cmd)
				if junctor.CodeOf(err) != c.want || p != nil {
					t.Errorf("start = %v, %v; want %s", p, err, c.want)
				}
			})
		}
	}
}

func needGroups(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no process groups of this kind")
	}
}

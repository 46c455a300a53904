package program

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Build compiles a package, of this module or of one that it requires, and gives
// the path of the program. The program is gone when the test ends.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, pkg)
	cmd.Dir = Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// Process is a running peer: a server that Junctor is tested against.
type Process struct {
	cmd  *exec.Cmd
	log  logged
	done chan struct{}
	err  error
}

// Serve starts a program that listens on addr and waits until it does. env comes
// on top of Env. It is killed when the test ends.
func Serve(t testing.TB, addr string, env []string, argv ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Env = Env(env...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(argv[0]), p.log.tail())
		}
	})
	p.await(t, addr)
	return p
}

// await waits until somebody listens on addr.
func (p *Process) await(t testing.TB, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	for {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", addr); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-p.done:
			t.Fatalf("%s ended before it listened: %v", p.cmd.Path, p.err)
		case <-ctx.Done():
			t.Fatalf("%s does not listen on %s after %v", p.cmd.Path, addr, readyLimit)
		case <-time.After(2 * time.Millisecond): // another process: nothing to wait on but its endpoint
		}
	}
}

// signInFile finds the file that has the link to sign in, in what an instance prints.
var signInFile = regexp.MustCompile(`open the link in (\S+)`)

// SignInLink returns the link to sign in that the process, a started instance, has written
// to a file because nobody has signed in yet.
func (p *Process) SignInLink(t testing.TB) string {
	t.Helper()
	var found []string
	if !poll.Holds(readyLimit, func() bool { // another process: nothing to wait on but what it prints
		found = signInFile.FindStringSubmatch(p.Log())
		return found != nil
	}) {
		t.Fatalf("the instance names no file with a link to sign in:\n%s", p.Log())
	}
	link, err := os.ReadFile(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(link))
}

// Kill ends the process the hard way and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// Log is what the process has written to stdout and stderr so far.
func (p *Process) Log() string { return p.log.String() }

// Add adds a server to the instance as an operator does: `server add` with these
// arguments.
func (in *Instance) Add(t testing.TB, args ...string) {
	t.Helper()
	args = append([]string{"server", "add", "--yes"}, args...)
	if out, errs, code := in.Operate(t, args...); code != 0 {
		t.Fatalf("junctor %q: exit %d\n%s%s", args, code, out, errs)
	}
}

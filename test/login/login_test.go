// Package login has people log in to servers by way of a whole instance: with
// the command line, the API and a browser, until their tokens expire, are
// renewed and revoked.
package login

import (
	"bufio"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestCommandLine logs in with the command line, once with a browser on the same
// machine and once by pasting, calls, lets the token expire, and logs out.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, way := range []upstreams.Way{upstreams.Legacy, upstreams.Modern} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			g := upstreams.NewGuarded(t, way)
			in := program.Start(t, program.FreeAddr(t), t.TempDir())
			newCommand(t, in, "server", "add", "plain", g.URL)(1, "requires an OAuth login")
			newCommand(t, in, "server", "add", "notes", g.URL, "--oauth")(0, "")
			newCommand(t, in, "tool", "call", "notes__whoami")(-1, "notes") // it is not known which tools there are

			out := logIn(t, in, g, "zoe", nil, "server", "login", "notes", "--trace")
			for _, want := range []string{"live", g.Issuer, "yes"} {
				if !strings.Contains(out, want) {
					t.Errorf("the login does not say %q:\n%s", want, out)
				}
			}
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "zoe")

			g.ExpireAll()
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "zoe")
			if n := g.Refreshes.Load(); n != 1 {
				t.Errorf("the token was renewed %d times, want once", n)
			}
			newCommand(t, in, "server", "trace", "notes")(0, "the token was renewed")

			newCommand(t, in, "server", "logout", "notes")(0, "")
			if g.Revocations.Load() != 2 {
				t.Errorf("%d tokens were revoked, want both", g.Revocations.Load())
			}
			newCommand(t, in, "tool", "call", "notes__whoami")(4, "junctor server login notes")

			paste := func(address string) string { return g.Browse(t, address, "yan").String() + "\n" }
			logIn(t, in, g, "yan", paste, "server", "login", "notes", "--paste")
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "yan")

			// What happened is known after a restart, too.
			in.Stop(t, 20*time.Second)
			in = program.Start(t, program.FreeAddr(t), in.DataDir)
			newCommand(t, in, "server", "trace", "notes")(0, "the token was renewed")
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "yan")

			// Nothing secret is in the log, in what is told, or on the disk.
			shown, _, _ := in.Operate(t, "server", "trace", "notes", "--format", "json")
			shown += in.Log()
			calls, _, _ := in.Operate(t, "call", "ls", "--format", "json")
			shown += calls + onDisk(t, in.DataDir)
			for _, secret := range g.Secrets() {
				if strings.Contains(shown, secret) {
					t.Errorf("a secret shows: %s", secret[:8])
				}
			}
		})
	}
}

// onDisk is everything that an instance has written.
func onDisk(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil || all.Len() < 4096 {
		t.Fatalf("%v: %d bytes in %s", err, all.Len(), dir)
	}
	return all.String()
}

// newCommand runs a command of the operator, and looks at its end: with code -1 any
// but 0 will do.
func newCommand(t *testing.T, in *program.Instance, args ...string) func(code int, says string) {
	t.Helper()
	out, errs, code := in.Operate(t, args...)
	return func(want int, says string) {
		t.Helper()
		if want >= 0 && code != want || want < 0 && code == 0 || !strings.Contains(out+errs, says) {
			t.Fatalf("junctor %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), code, want, says, out, errs)
		}
	}
}

// logIn runs a command that logs in, with a person at the browser.
func logIn(t *testing.T, in *program.Instance, g *upstreams.Guarded, user string, paste func(address string) string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Binary(t), args...)
	cmd.Env = program.Env("JUNCTOR_DATA_DIR="+in.DataDir, "DISPLAY=", "WAYLAND_DISPLAY=")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	talk, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(talk, &said))
	for lines.Scan() {
		address := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(address, "http") {
			continue
		}
		if paste != nil {
			_, _ = io.WriteString(stdin, paste(address))
			continue
		}
		resp, err := http.Get(g.Browse(t, address, user).String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.String()
}

// TestBrowserOpens has the command line open the browser of a machine that has a
// display, and not where it is told not to.
func TestBrowserOpens(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the command that opens a browser is another elsewhere")
	}
	g := upstreams.NewGuarded(t, upstreams.Modern)
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	newCommand(t, in, "server", "add", "notes", g.URL, "--oauth")(0, "")
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf '%s\\n' \"$1\" >>"+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program.Binary(t), append([]string{"server", "login", "notes"}, args...)...)
		cmd.Env = program.Env("JUNCTOR_DATA_DIR="+in.DataDir, "DISPLAY=:9", "PATH="+dir+":"+os.Getenv("PATH"))
		talk, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(talk); lines.Scan(); {
			address := strings.TrimSpace(lines.Text())
			if !strings.HasPrefix(address, "http") {
				continue
			}
			if len(args) == 0 { // the browser has it, too
				poll.Until(t, "an opened browser", 20*time.Second, func() bool {
					said, err := os.ReadFile(opened)
					address = strings.TrimSpace(string(said))
					return err == nil && strings.Contains(string(said), "\n")
				})
			}
			resp, err := http.Get(g.Browse(t, address, "zoe").String())
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	newCommand(t, in, "tool", "call", "notes__whoami")(0, "zoe")
	if err := os.Remove(opened); err != nil {
		t.Fatal(err)
	}
	run("--no-browser")
	if _, err := os.Stat(opened); err == nil {
		t.Error("a browser was opened although none was wanted")
	}
}

// TestHundredAtTheEnd has a hundred calls under way when the token ends: it is
// renewed once, and no call fails.
func TestHundredAtTheEnd(t *testing.T) {
	t.Parallel()
	g := upstreams.NewGuarded(t, upstreams.Modern)
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	newCommand(t, in, "server", "add", "notes", g.URL, "--oauth")(0, "")
	logIn(t, in, g, "zoe", nil, "server", "login", "notes")
	for round := range 3 {
		before := g.Refreshes.Load()
		g.ExpireAll()
		ends := make(chan string, 100)
		for range 100 {
			go func() {
				a, err := in.Request(t.Context(), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__whoami","arguments":{}}}`)
				if err != nil {
					a.Body = err.Error()
				}
				ends <- a.Body
			}()
		}
		failed := 0
		for range 100 {
			if body := <-ends; !strings.Contains(body, `"zoe"`) {
				if failed++; failed == 1 {
					t.Errorf("a call failed: %s", body)
				}
			}
		}
		if n := g.Refreshes.Load() - before; n != 1 || failed > 0 {
			t.Errorf("round %d: %d renewals, want 1; %d of 100 calls failed", round, n, failed)
		}
	}
	t.Logf("figure: 3 times 100 calls when a token expires: %d renewals", g.Refreshes.Load())
}

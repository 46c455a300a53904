package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// TestMain lets scripts run this test binary as the junctor command.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"junctor": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}, "mcpserver": playServer})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// Short names: the path of a unix socket has to fit into 104 bytes.
			env.Setenv("XDG_DATA_HOME", env.WorkDir)
			env.Setenv("HOME", env.WorkDir)
			// A race-enabled program sleeps a second before it exits.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			// Tools to call. A script that starts without them sets it to "".
			env.Setenv("JUNCTOR_BUILTIN", "demo,ocr")
			env.Setenv("ONLY", filepath.SplitList(env.Getenv("PATH"))[0]) // a PATH with nothing but junctor
			env.Setenv("D", filepath.Join(env.WorkDir, "junctor"))
			env.Defer(func() { endBackground(filepath.Join(env.WorkDir, "junctor")) })
			addr, err := freeAddress()
			env.Setenv("ADDR", addr)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"changeof":  changeOf,
			"edit":      edit,
			"exits":     exits,
			"keyof":     keyof,
			"keyprefix": keyPrefix,
			"opens":     opens,
			"private":   private,
			"ready":     ready,
			"shortid":   shortID,
			"subst":     subst,
			"urlof":     urlof,
			"until":     until,
		},
	})
}

// endBackground kills the instance that a failed script left in the background.
func endBackground(dataDir string) {
	text, err := os.ReadFile(filepath.Join(dataDir, pidFile))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 || pid == os.Getpid() {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// exits CODE program args... runs a program that must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// keyof FILE takes the id and the key out of what key create --format json has
// printed, as KEY_ID and JUNCTOR_KEY.
func keyof(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: keyof FILE")
	}
	var key struct{ ID, Key string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &key))
	ts.Setenv("KEY_ID", key.ID)
	ts.Setenv("JUNCTOR_KEY", key.Key)
}

// changeof FILE takes the id of a change out of what audit ls --format json has printed, as
// CHANGE.
func changeOf(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: changeof FILE")
	}
	var list struct {
		Items []struct{ Record struct{ Change string } }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	if len(list.Items) == 0 || list.Items[0].Record.Change == "" {
		ts.Fatalf("%s begins with no change", args[0])
	}
	ts.Setenv("CHANGE", list.Items[0].Record.Change)
}

// keyprefix FILE takes the key and the letters of its prefix out of what key create
// --format json has printed, as KEY and PREFIX.
func keyPrefix(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: keyprefix FILE")
	}
	var key struct{ Key, Prefix string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &key))
	ts.Setenv("KEY", key.Key)
	ts.Setenv("PREFIX", strings.TrimPrefix(key.Prefix, "jct_"))
}

// private FILE checks that only the user can read a file.
func private(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: private FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if info.Mode().Perm() != 0o600 {
		ts.Fatalf("%s has the mode %s", args[0], info.Mode())
	}
}

// opens STATUS ADDRESS FILE confirms the sign-in link in a file, as a browser does, at the
// instance on an address. The answer must have that status.
func opens(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: opens STATUS ADDRESS FILE")
	}
	link, err := url.Parse(strings.TrimSpace(ts.ReadFile(args[2])))
	ts.Check(err)
	form := strings.NewReader(url.Values{"token": {link.Query().Get("token")}}.Encode())
	req, err := http.NewRequest(http.MethodPost, "http://"+args[1]+"/login", form)
	ts.Check(err)
	req.Host = link.Host
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", link.Scheme+"://"+link.Host)
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	ts.Check(res.Body.Close())
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("the link was answered with %s, want %s", got, args[0])
	}
}

// ready DIR waits until an instance answers on the socket of a data directory.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: ready DIR")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client := newLocalClient(ts.MkAbs(args[0]))
	if !poll.Holds(30*time.Second, func() bool { return client.get(ctx, "/version", nil) == nil }) {
		ts.Fatalf("no instance came up on %s", args[0])
	}
}

// shortid takes the first cell of the second line of the last output as SHORT.
func shortID(ts *testscript.TestScript, _ bool, _ []string) {
	_, rows, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	id, _, ok := strings.Cut(rows, " ")
	if !ok {
		ts.Fatalf("the output has no rows")
	}
	ts.Setenv("SHORT", id)
}

// edit DIR OLD NEW replaces the first OLD in the first file of a folder that has
// it.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit DIR OLD NEW")
	}
	dir := ts.MkAbs(args[0])
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(file)
		ts.Check(err)
		if next := strings.Replace(string(text), args[1], args[2], 1); next != string(text) {
			ts.Check(os.WriteFile(file, []byte(next), 0o600))
			return
		}
	}
	ts.Fatalf("no file in %s has %q", args[0], args[1])
}

// until PATTERN program args... runs a program again and again until its output
// has the pattern.
func until(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until PATTERN program args...")
	}
	want := regexp.MustCompile(args[0])
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never printed %s", args[1], args[0])
}

package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// AdminKey is the admin key of every instance that Start starts.
const AdminKey = "test-admin-key-0123456789"

// readyLimit is far above what a start takes: it is here to end a broken test.
const readyLimit = 2 * time.Minute

type build struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// built is the one binary of this test process.
var built build

// given has the ports that FreeAddr has given to this test process: two tests must
// not get the same one before either listens on it.
var given sync.Map

// Main runs the tests of a package and removes the binary that they built. Call
// it in TestMain.
func Main(m *testing.M) int {
	defer Clean()
	return m.Run()
}

// SetParallel has n tests of a package run at a time, whatever the flag -parallel says,
// because they wait for most of their time. Call it in TestMain.
func SetParallel(n int) {
	flag.Parse() // here, because Run would do it after this
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // the flag exists in every test binary
	}
}

// Clean removes the binary that tests built, for a TestMain that has more to do
// than Main.
func Clean() {
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

// binaryEnv names a binary that was built from this tree already: tools/test.sh
// builds one for all its tests.
const binaryEnv = "JUNCTOR_TEST_BINARY"

// Binary is the path of the junctor binary, built from this tree the first time
// it is asked for, unless there is one for all tests.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(binaryEnv); path != "" {
		return path
	}
	root := Root(t)
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "junctor-test-")
		if built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "junctor")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "./cmd/junctor")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build ./cmd/junctor: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// FreeAddr is a loopback address that nobody listens on at this moment. Its port
// is none that the system gives to connections, which could have it a moment
// later, and the next one is nobody's either: an instance takes both.
func FreeAddr(t testing.TB) string {
	t.Helper()
	const lowest, most = 10_000, 11_000 // below the ports of connections, on the systems that we test on
	for range 1000 {
		port := lowest + 2*rand.IntN(most)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port was found")
	return ""
}

// Instance is a running junctor.
type Instance struct {
	URL     string // http://127.0.0.1:port
	DataDir string
	Ready   time.Duration // from start until /readyz said yes

	key   string
	db    string // the database that its arguments name; "" for the one in its data directory
	began time.Time
	cmd   *exec.Cmd
	log   logged
	done  chan struct{}
	err   error
}

// Spec says how to start an instance.
type Spec struct {
	Addr     string // to listen on; see FreeAddr
	DataDir  string
	Args     []string // further arguments of `junctor up`
	Env      []string // on top of Env
	AdminKey string   // default AdminKey
	Prefix   []string // a command that ends in the path of a binary and runs it in its own place; default Binary
}

// Start starts `junctor up` on the address and the data directory and waits
// until it is ready. It is killed when the test ends.
func Start(t testing.TB, addr, dataDir string, args ...string) *Instance {
	t.Helper()
	in := Launch(t, Spec{Addr: addr, DataDir: dataDir, Args: args})
	in.WaitReady(t)
	return in
}

// Launch starts `junctor up` and does not wait. It is killed when the test ends.
func Launch(t testing.TB, s Spec) *Instance {
	t.Helper()
	in := &Instance{URL: "http://" + s.Addr, DataDir: s.DataDir, key: cmp.Or(s.AdminKey, AdminKey), done: make(chan struct{})}
	if at := slices.Index(s.Args, "--db"); at >= 0 && at+1 < len(s.Args) {
		in.db = s.Args[at+1]
	}
	argv := s.Prefix
	if argv == nil {
		argv = []string{Binary(t)}
	}
	argv = slices.Concat(argv, []string{"up", "--listen", s.Addr, "--data-dir", s.DataDir}, s.Args)
	in.cmd = exec.Command(argv[0], argv[1:]...)
	in.cmd.Env = append(Env("JUNCTOR_ADMIN_KEY="+in.key), s.Env...)
	in.cmd.Stdout, in.cmd.Stderr = &in.log, &in.log
	in.began = time.Now()
	if err := in.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		in.err = in.cmd.Wait()
		close(in.done)
	}()
	t.Cleanup(func() {
		in.Kill()
		if t.Failed() {
			t.Logf("junctor up:\n%s", in.log.tail())
		}
	})
	return in
}

// At is an instance that something else has started, with AdminKey: it takes
// requests.
func At(url string) *Instance { return &Instance{URL: url, key: AdminKey} }

// WaitReady waits until the instance is ready, and fails the test where it ends
// before.
func (in *Instance) WaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	for !in.ready(ctx) {
		select {
		case <-in.done:
			t.Fatalf("junctor up ended before it was ready: %v", in.err)
		case <-ctx.Done():
			t.Fatalf("junctor up is not ready after %v", readyLimit)
		case <-time.After(2 * time.Millisecond): // another process: nothing to wait on but its endpoint
		}
	}
	if in.Ready == 0 {
		in.Ready = time.Since(in.began)
	}
}

// PID is the number of the process.
func (in *Instance) PID() int { return in.cmd.Process.Pid }

// Log is what the instance has written to stdout and stderr so far.
func (in *Instance) Log() string { return in.log.String() }

// Wait waits until the instance has ended by itself and gives its exit code; ok
// is false when it still runs after the limit.
func (in *Instance) Wait(limit time.Duration) (code int, ok bool) {
	select {
	case <-in.done:
		return in.cmd.ProcessState.ExitCode(), true
	case <-time.After(limit):
		return 0, false
	}
}

func (in *Instance) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Request sends one request with the admin key, and a body of JSON unless it is
// empty. header lines are "Name: value" and come last.
func (in *Instance) Request(ctx context.Context, method, path, body string, header ...string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, in.URL+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Close = true // no connection outlives the process it leads to
	req.Header.Set("Authorization", "Bearer "+in.key)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		req.Header.Set(name, strings.TrimSpace(value))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return Answer{Status: res.StatusCode, Body: string(text), Header: res.Header}, err
}

// Kill ends the instance the hard way, kill -9, and waits until it is gone.
func (in *Instance) Kill() {
	if err := in.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	<-in.done
}

// Signal sends the instance a signal.
func (in *Instance) Signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := in.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Stop asks the instance to end, and fails the test unless it does so with
// exit code 0 within the limit.
func (in *Instance) Stop(t testing.TB, limit time.Duration) {
	t.Helper()
	if err := in.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-in.done:
		if in.err != nil {
			t.Errorf("after SIGTERM: %v", in.err)
		}
	case <-time.After(limit):
		t.Errorf("still running %v after SIGTERM", limit)
	}
}

// Env is a small environment, without what the machine may set for junctor,
// plus the entries given.
func Env(extra ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "JUNCTOR_BUILTIN=demo,ocr"}
	return append(env, extra...)
}

// CLI runs a junctor command against the instance, as somebody with the admin
// key does, and gives its stdout, its stderr and its exit code.
func (in *Instance) CLI(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return in.command(t, args, "JUNCTOR_URL="+in.URL, "JUNCTOR_KEY="+in.key)
}

// CLIAs is CLI with another key.
func (in *Instance) CLIAs(t testing.TB, key string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return in.command(t, args, "JUNCTOR_URL="+in.URL, "JUNCTOR_KEY="+key)
}

// Operate is CLI as the operator does it, on the machine itself, by the socket in
// the data directory.
func (in *Instance) Operate(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return in.command(t, args)
}

// OperateOn runs a command of the operator on a data directory, which no instance need
// have.
func OperateOn(t testing.TB, dataDir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return (&Instance{DataDir: dataDir}).command(t, args)
}

// OperateWith is Operate with more variables in the environment of the command.
func (in *Instance) OperateWith(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return in.command(t, args, env...)
}

// VerifyJournal runs `junctor audit verify` against the database of the instance.
func (in *Instance) VerifyJournal(t testing.TB) (stdout, stderr string, code int) {
	t.Helper()
	args := []string{"audit", "verify"}
	if in.db != "" {
		args = append(args, "--db", in.db)
	}
	return in.command(t, args)
}

func (in *Instance) command(t testing.TB, args []string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	binary := Binary(t) // first: it may have to be built
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(Env("JUNCTOR_DATA_DIR="+in.DataDir), env...)
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

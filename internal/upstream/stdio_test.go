//go:build unix

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// rig is a command that the test binary plays.
type rig struct {
	*Options
	roll string // the numbers of its processes
}

// runs is a command that somebody was allowed to have run.
func runs(argv ...string) admission.Command {
	return admission.Stored(junctor.Server{Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: argv}}).Connection().Command()
}

func newRig(t testing.TB, role string) *rig {
	t.Helper()
	roll := filepath.Join(t.TempDir(), "roll")
	o := &Options{
		ID: "raw", Transport: TransportStdio, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Command: &Command{Program: runs(os.Args[0], "play-"+role), Env: []string{"ROLL=" + roll, "SECRET=s3cr3t-canary"}},
	}
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	o.setDefaults()
	o.Command.timeouts = childTimeouts{discover: 5 * time.Second, trailing: never, inputEnd: 5 * time.Second, terminate: 5 * time.Second}
	return &rig{o, roll}
}

func (r *rig) open(t testing.TB, op linkSettings) *stdioLink {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), never)
	defer cancel()
	l, err := openStdio(ctx, r.Options, op)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close() })
	return l.(*stdioLink)
}

func openRole(t *testing.T, role string) *stdioLink {
	t.Helper()
	return newRig(t, role).open(t, linkSettings{})
}

// pids are the processes that were started so far.
func pids(t *testing.T, roll string) (all []int) {
	t.Helper()
	b, err := os.ReadFile(roll)
	if err != nil {
		t.Fatal(err)
	}
	for f := range strings.FieldsSeq(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// recordingHandler is a message handler that records notifications and gives one reply.
type recordingHandler struct {
	notes chan string
	reply string
}

func newRecordingHandler() *recordingHandler {
	return &recordingHandler{notes: make(chan string, 100), reply: `{"action":"accept"}`}
}

func (e *recordingHandler) handleNotification(method string, params []byte) {
	e.notes <- method + " " + string(params)
}

func (e *recordingHandler) answerRequest(_ context.Context, method string, params []byte) ([]byte, error) {
	e.notes <- "asked " + method + " " + string(params)
	return []byte(e.reply), nil
}

// anyID stands for the id of a request in what is expected: nobody knows those before.
const anyID = "ID"

var requestID = regexp.MustCompile(`(":)[1-9][0-9]{4,9}(\})`)

func (e *recordingHandler) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-e.notes:
		if strings.Contains(want, anyID) {
			got = requestID.ReplaceAllString(got, "${1}"+anyID+"${2}")
		}
		if got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	case <-time.After(never):
		t.Fatalf("did not hear %s", want)
	}
}

func TestStdioEras(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]struct {
		version string
		starts  int
		silence time.Duration
		code    junctor.Code
		says    string
	}{
		"sdk":       {version: wire.ModernVersion, starts: 1},
		"plain":     {version: "2025-11-25", starts: 1},
		"modern":    {version: wire.ModernVersion, starts: 1},
		"older":     {version: "2025-11-25", starts: 1},
		"both":      {version: "2025-11-25", starts: 1},
		"silent":    {version: "2025-11-25", starts: 1, silence: 50 * time.Millisecond},
		"late":      {version: wire.ModernVersion, starts: 1, silence: 50 * time.Millisecond},
		"overtaken": {version: wire.ModernVersion, starts: 1, silence: 50 * time.Millisecond},
		"dying":     {version: "2025-11-25", starts: 2},
		"newer":     {code: junctor.CodeUpstream, says: "not that one"},
		"future":    {code: junctor.CodeUpstream, says: "1999-01-01"},
		"crash":     {code: junctor.CodeUnreachable, says: "(exit status 3); its owner and admins see why with junctor server show "},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, role)
			if want.silence > 0 {
				r.Command.timeouts.discover = want.silence
			}
			l, err := openStdio(t.Context(), r.Options, linkSettings{})
			if want.code != "" {
				if junctor.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.says) {
					t.Fatalf("open = %v (%s), want %s and %q", err, junctor.CodeOf(err), want.code, want.says)
				}
				for _, pid := range pids(t, r.roll) {
					if alive(pid) {
						t.Errorf("process %d was left", pid)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			if l.protocolVersion() != want.version || l.isModern() != (want.version == wire.ModernVersion) {
				t.Errorf("version %s, modern %v", l.protocolVersion(), l.isModern())
			}
			if role != "sdk" && (l.serverInstructions() != "be kind" || string(l.serverCapabilities()) != `{"tools":{}}` || wire.Get(l.serverInfo(), "name") == nil) {
				t.Errorf("greeting %q %s %s", l.serverInstructions(), l.serverCapabilities(), l.serverInfo())
			}
			if got := len(pids(t, r.roll)); got != want.starts {
				t.Errorf("%d starts, want %d", got, want.starts)
			}
		})
	}
}

// Ten callers share one child; nobody gets another's answer, nobody is left.
func TestStdioSharedChild(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sdk")
	l := r.open(t, linkSettings{})
	var group sync.WaitGroup
	for i := range 10 {
		for k := range 100 {
			group.Go(func() {
				text := fmt.Sprintf("caller %d call %d", i, k)
				if got, err := echo(t.Context(), l, text); err != nil || got != text {
					t.Errorf("%s: got %q, %v", text, got, err)
				}
			})
		}
	}
	group.Wait()
	started := pids(t, r.roll)
	if len(started) != 1 || !alive(started[0]) || started[0] != l.process.Pid() {
		t.Errorf("processes %v, want one, %d", started, l.process.Pid())
	}
	_ = l.close()
	if alive(started[0]) {
		t.Error("the child was left")
	}
	if _, err := echo(t.Context(), l, "x"); !errors.Is(err, errNotBegun) || !cannotHaveRun(err) {
		t.Errorf("a call after close: %v, want one that did not run", err)
	}
}

func TestStdioNothingOutlivesAKilledGateway(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("reapers need Linux")
	}
	children := filepath.Join(t.TempDir(), "children")
	c := exec.Command(os.Args[0], "play-gateway")
	c.Env = append(os.Environ(), "CHILDREN="+children)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "armed\n" {
		t.Fatalf("the gateway said %q, %v", line, err)
	}
	started := pids(t, children)
	_ = c.Process.Kill()
	_ = c.Wait()
	if len(started) != 1 {
		t.Errorf("%d children, want 1", len(started))
	}
	poll.Until(t, "the end of the child after its gateway's", 30*time.Second, func() bool { return !alive(started[0]) })
}

func TestStdioCrash(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"crash", "mute"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "plain")
			if how == "mute" { // it does not end by itself
				r.Command.timeouts = childTimeouts{discover: never, trailing: 50 * time.Millisecond, inputEnd: 50 * time.Millisecond, terminate: 50 * time.Millisecond}
			}
			l := r.open(t, linkSettings{})
			fails := make(chan error)
			for range 20 {
				go func() {
					_, err := l.roundTrip(t.Context(), "hang", nil, nil)
					fails <- err
				}()
			}
			_, err := l.roundTrip(t.Context(), how, nil, nil)
			for range 20 {
				if werr := <-fails; !errors.Is(werr, errInterrupted) && !errors.Is(werr, errNotBegun) {
					t.Errorf("waiter: %v", werr)
				}
			}
			if junctor.CodeOf(err) != junctor.CodeUpstream || !errors.Is(err, errInterrupted) {
				t.Errorf("the call that did it: %v (%s)", err, junctor.CodeOf(err))
			}
			// Who calls a tool gets the message; what the command wrote is for the state.
			if how == "crash" && (strings.Contains(err.Error(), "cheese") || !strings.HasSuffix(err.Error(), "junctor server show "+r.ID)) {
				t.Errorf("message: %s", err)
			}
			if how == "crash" && !strings.HasSuffix(describeError(err), "; its last output: first line | panic: out of cheese, token is ***") {
				t.Errorf("described: %s", describeError(err))
			}
			if err := l.listen(t.Context(), nil, newRecordingHandler()); !errors.Is(err, errNotBegun) {
				t.Errorf("listen on a dead link: %v", err)
			}
			// The next one gets a new child, after a short rest.
			again := r.open(t, linkSettings{})
			if got, err := again.roundTrip(t.Context(), "echo", []byte(`{"text":"back"}`), nil); err != nil || string(got) != `{"text":"back"}` {
				t.Errorf("after the restart: %s, %v", got, err)
			}
			if got := len(pids(t, r.roll)); got != 2 {
				t.Errorf("%d starts, want 2", got)
			}
			_ = again.close()
			for _, pid := range pids(t, r.roll) {
				if alive(pid) {
					t.Errorf("process %d was left", pid)
				}
			}
		})
	}
}

func TestStdioStop(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{"plain": "exit status 0", "deaf": "signal: terminated", "stubborn": "signal: killed"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, role)
			if role != "plain" {
				r.Command.timeouts.inputEnd = 30 * time.Millisecond
			}
			if role == "stubborn" {
				r.Command.timeouts.terminate = 30 * time.Millisecond
			}
			l := r.open(t, linkSettings{})
			waiting := make(chan error)
			go func() {
				_, err := l.roundTrip(t.Context(), "hang", nil, newRecordingHandler())
				waiting <- err
			}()
			_ = l.close()
			if err := <-waiting; !isLinkOver(err) {
				t.Errorf("a call that waited: %v", err)
			}
			if l.describeExit() != want {
				t.Errorf("ended by %s, want %s", l.describeExit(), want)
			}
			_ = l.close() // again: nothing to do
		})
	}
}

func TestStdioCancel(t *testing.T) {
	t.Parallel()
	l := openRole(t, "plain")
	listening := newRecordingHandler()
	ctx, stop := context.WithCancel(t.Context())
	listened := make(chan error)
	go func() { listened <- l.listen(ctx, nil, listening) }()
	poll.Until(t, "the listener", never, func() bool {
		l.pending.mu.Lock()
		defer l.pending.mu.Unlock()
		return l.pending.listeners != nil
	})
	call, cancel := context.WithTimeout(t.Context(), time.Second) // enough for it to be sent
	defer cancel()
	_, err := l.roundTrip(call, "hang", nil, nil)
	if junctor.CodeOf(err) != junctor.CodeTimeout {
		t.Errorf("roundTrip = %v, want timeout", err)
	}
	listening.expect(t, `notifications/tools/list_changed {"cancelled":`+anyID+`}`)
	stop()
	if err := <-listened; junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("listen = %v, want canceled", err)
	}
}

func TestStdioNotes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain")
	l := r.open(t, linkSettings{})
	mine, other := newRecordingHandler(), newRecordingHandler()
	if _, err := l.roundTrip(t.Context(), "progress", []byte(`{"text":"t","_meta":{"progressToken":1}}`), mine); err != nil {
		t.Fatal(err)
	}
	mine.expect(t, `notifications/progress {"progressToken":1,"progress":1}`)
	mine.expect(t, `notifications/message {"level":"info","data":"t"}`)
	if got := r.Command.Output(); !strings.Contains(got, "log line on the wrong stream") {
		t.Errorf("said %q, without what was no message", got)
	}
	// With a second call under way progress finds its own; a log message is nobody's.
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan struct{})
	go func() { _, _ = l.roundTrip(ctx, "hang", nil, other); close(hung) }()
	poll.Until(t, "a request under way", never, func() bool { l.pending.mu.Lock(); defer l.pending.mu.Unlock(); return len(l.pending.byID) == 1 })
	if _, err := l.roundTrip(t.Context(), "progress", []byte(`{"text":"t","_meta":{"progressToken":2}}`), mine); err != nil {
		t.Fatal(err)
	}
	mine.expect(t, `notifications/progress {"progressToken":2,"progress":1}`)
	cancel()
	<-hung
	if len(mine.notes)+len(other.notes) != 0 {
		t.Error("a message of nobody in particular was heard")
	}
	if got, err := l.roundTrip(t.Context(), "batch", nil, nil); err != nil || string(got) != `{"batch":true}` {
		t.Errorf("an answer in a batch: %s, %v", got, err)
	}
}

func TestStdioModernListen(t *testing.T) {
	t.Parallel()
	l := openRole(t, "modern")
	e := newRecordingHandler()
	ctx, stop := context.WithCancel(t.Context())
	listened := make(chan error)
	go func() { listened <- l.listen(ctx, []byte(`{"notifications":{"toolsListChanged":true}}`), e) }()
	e.expect(t, `notifications/subscriptions/acknowledged {"_meta":{"io.modelcontextprotocol/subscriptionId":`+anyID+`}}`)
	stop()
	if err := <-listened; junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("listen = %v", err)
	}
}

func TestStdioQuestions(t *testing.T) {
	t.Parallel()
	ambiguous := make(chan struct{}, 1)
	l := newRig(t, "plain").open(t, linkSettings{onAmbiguous: func() bool { ambiguous <- struct{}{}; return false }})
	e := newRecordingHandler()
	for method, want := range map[string]string{
		"ping":                    `{"said":{}}`,
		"elicitation/create":      `{"said":{"action":"accept"}}`,
		"sampling/createMessage":  `{"said":{"action":"accept"}}`,
		"roots/list":              `{"said":{"action":"accept"}}`,
		"something/else":          `-32601`,
		"notifications/elsewhere": `-32601`,
	} {
		got, err := l.roundTrip(t.Context(), "ask", []byte(`{"method":"`+method+`"}`), e)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, %v; want %s", method, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan struct{})
	go func() { _, _ = l.roundTrip(ctx, "hang", nil, newRecordingHandler()); close(hung) }()
	poll.Until(t, "a request under way", never, func() bool { l.pending.mu.Lock(); defer l.pending.mu.Unlock(); return len(l.pending.byID) == 1 })
	asked := len(e.notes)
	got, err := l.roundTrip(t.Context(), "ask", []byte(`{"method":"elicitation/create"}`), e)
	if err != nil || !strings.Contains(string(got), "several calls are in progress") || len(e.notes) != asked {
		t.Errorf("with two calls: %s, %v", got, err)
	}
	select {
	case <-ambiguous:
	default:
		t.Error("nobody was told that callers must not share")
	}
	if got, err := l.roundTrip(t.Context(), "ask", []byte(`{"method":"ping"}`), e); err != nil || string(got) != `{"said":{}}` {
		t.Errorf("ping with two calls: %s, %v", got, err)
	}
	cancel()
	<-hung
}

func TestStdioLongAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain")
	r.MaxBytes = 100_000
	l := r.open(t, linkSettings{})
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan struct{})
	go func() { _, _ = l.roundTrip(ctx, "hang", nil, newRecordingHandler()); close(hung) }()
	for _, last := range []bool{true, false} {
		if got, err := l.roundTrip(t.Context(), "long", fmt.Appendf(nil, `{"bytes":90000,"last":%v}`, last), nil); err != nil || len(got) != 90_010 {
			t.Errorf("last %v: %d bytes, %v", last, len(got), err)
		}
		if _, err := l.roundTrip(t.Context(), "long", fmt.Appendf(nil, `{"bytes":300000,"last":%v}`, last), nil); junctor.CodeOf(err) != junctor.CodeTooLarge {
			t.Errorf("last %v: %v, want too_large", last, err)
		}
	}
	cancel()
	<-hung
}

// A child that does not read holds nobody beyond his time, and what was begun
// arrives whole.
func TestStdioChildThatDoesNotRead(t *testing.T) {
	t.Parallel()
	l := openRole(t, "wall")
	big := fmt.Appendf(nil, "{\n\"text\":\"%s\"\r\n}", bytes.Repeat([]byte("x"), 300_000))
	for i := range 3 { // the first is half sent, the others not at all
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := l.roundTrip(ctx, "echo", bytes.Clone(big), nil)
		cancel()
		if junctor.CodeOf(err) != junctor.CodeTimeout {
			t.Errorf("call %d: %v, want timeout", i, err)
		}
	}
	if err := syscall.Kill(l.process.Pid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := l.roundTrip(t.Context(), "echo", bytes.Clone(big), nil)
		if err != nil || len(got) < 300_000 {
			t.Fatalf("after it read again: %d bytes, %v", len(got), err)
		}
	}
}

func TestStdioEnvironmentAndStart(t *testing.T) {
	t.Parallel()
	l := openRole(t, "plain")
	got, err := l.roundTrip(t.Context(), "env", nil, nil)
	if err != nil || !strings.Contains(string(got), "SECRET=s3cr3t-canary") || strings.Contains(string(got), "GOFLAGS") || strings.Contains(string(got), "JUNCTOR") {
		t.Errorf("environment %s, %v", got, err)
	}
	r := newRig(t, "plain")
	r.Command.Program = runs("/no/such/program")
	_, err = openStdio(t.Context(), r.Options, linkSettings{})
	if junctor.CodeOf(err) != junctor.CodeUnreachable || !strings.Contains(describeError(err), "no such program") || strings.Contains(err.Error(), "no such program") || !cannotHaveRun(err) {
		t.Errorf("open = %v (%s)", err, junctor.CodeOf(err))
	}
	r = newRig(t, "plain")
	one := linkSettings{maxProcesses: 1}
	first := r.open(t, one)
	if _, err := openStdio(t.Context(), r.Options, one); junctor.CodeOf(err) != junctor.CodeUnavailable || junctor.AsError(err).RetryAfter <= 0 {
		t.Errorf("a second child where one is allowed: %v", err)
	}
	go first.stopChild() // the next waits until it has ended
	select {
	case <-first.ctx.Done():
	case <-time.After(never):
		t.Fatal("it was not told to end")
	}
	_ = r.open(t, one).close()
	if n := r.Command.pool.countRunning(); n != 0 {
		t.Errorf("%d children are counted where none is", n)
	}
}

// A server that never answers does not hold the opening beyond its time.
func TestStdioOpeningEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "plain")
	r.Command.Program = runs("sh", "-c", "echo waiting for the moon >&2; cat >/dev/null")
	for wait := 2 * time.Second; ; wait *= 4 { // a shell takes its time to start on a busy machine
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := openStdio(ctx, r.Options, linkSettings{})
		cancel()
		if junctor.CodeOf(err) == junctor.CodeTimeout && strings.Contains(describeError(err), "waiting for the moon") {
			return
		}
		if junctor.CodeOf(err) != junctor.CodeTimeout || wait > 20*time.Second {
			t.Fatalf("open = %v (%s)", err, junctor.CodeOf(err))
		}
	}
}

func BenchmarkStdioRoundTrip(b *testing.B) {
	r := newRig(b, "plain")
	l := r.open(b, linkSettings{})
	params := []byte(`{"text":"` + strings.Repeat("x", 200) + `"}`)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.roundTrip(b.Context(), "echo", params, nil); err != nil {
				b.Error(err)
			}
		}
	})
}

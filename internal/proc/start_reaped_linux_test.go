package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// soon is how long after a death whatever it leaves behind may still be there.
const soon = 30 * time.Second

// playReaped are the roles that only reapers are tested with.
func playReaped(role string) int {
	switch role {
	case "secretive", "talkative": // what others can read of a process, with and without protection
		return playSecretive(role == "secretive")
	case "snoop":
		playSnoop(os.Args[2])
	case "host": // starts the rest of the command line reaped and waits to be killed
		_, err := proc.StartReaped(context.Background(), proc.Command{
			Path: os.Args[2], Args: os.Args[3:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		idle()
	case "hermits": // has two children with sessions of their own, and says who guards it
		for range 2 {
			if code := startChild("play-hermit", func() {}); code != 0 {
				return code
			}
		}
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("guard", os.Getppid())
		idle()
	case "hermit": // leaves the group, and has a child of its own that outlives it
		if _, err := syscall.Setsid(); err != nil {
			fmt.Println(err)
			return 1
		}
		return startChild("play-stubborn", func() { signal.Ignore(syscall.SIGTERM); idle() })
	case "deserters": // leaves hermits behind
		return startChild("play-hermits", func() {})
	case "orphans": // its grandchildren end as orphans, one after the other
		for range 5 {
			c := exec.Command(os.Args[0], "play-deserter-briefly")
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if err := c.Run(); err != nil {
				fmt.Println(err)
				return 1
			}
		}
		fmt.Println("guard", os.Getppid())
		idle()
	case "deserter-briefly":
		return startChild("play-exit3", func() {})
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		idle()
	case "files":
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			// Standard error is whatever the tests have, which may be a file. Of further
			// ones only pipes count: others the runtime opened.
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			if err == nil && (slices.Contains([]string{"0", "1", "2"}, e.Name()) || to == os.DevNull || strings.HasPrefix(to, "pipe:")) {
				fmt.Println(e.Name())
			}
		}
	default:
		return 99
	}
	return 0
}

// guardOf reads the line that says who guards a command.
func guardOf(t *testing.T, out *bufio.Reader) int {
	t.Helper()
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("no word about the guard: %v", err)
		}
		if n, ok := strings.CutPrefix(line, "guard "); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
}

// stateOf is the letter that the system has for what a process does; "" for one
// that is no more.
func stateOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
}

// expectGone waits for the end of a process that nobody here can wait for.
func expectGone(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("the end of process %d", pid), within, func() bool {
		s := stateOf(pid)
		return s == "" || s == "Z"
	})
}

func TestNobodyOutlivesAKilledHost(t *testing.T) {
	t.Parallel()
	me, err := proc.ExecutablePath()
	if err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"a shell and two":       {"sh", "-c", "sleep 600 & sleep 600 & echo guard $PPID; wait"},
		"sessions of their own": {me, "play-hermits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, out := startHost(t, argv)
			guard := guardOf(t, out)
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			began := time.Now()
			expectNobody(t, out)
			if took := time.Since(began); took > soon {
				t.Errorf("the last one ended %v after its host", took)
			}
			expectGone(t, guard, soon)
		})
	}
}

// startHost starts a process that starts argv reaped. The text ends when all of
// them, the host included, have ended.
func startHost(t *testing.T, argv []string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(os.Args[0], append([]string{"play-host"}, argv...)...)
	host.Stdin, host.Stdout, host.Stderr = in, w, os.Stderr
	err = host.Start()
	_, _ = w.Close(), in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = host.Process.Kill(), hold.Close(), r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(never)); err != nil {
		t.Fatal(err)
	}
	return host, bufio.NewReader(r)
}

// Those who left the group end as well, however the command ends.
func TestHermitsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*proc.Process, context.CancelFunc){
		"by Stop":    func(p *proc.Process, _ context.CancelFunc) { p.Stop(time.Millisecond) },
		"by context": func(_ *proc.Process, cancel context.CancelFunc) { cancel() },
		"by leader":  func(p *proc.Process, _ context.CancelFunc) { _ = syscall.Kill(p.Pid(), syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, out := startBy(t, ctx, proc.StartReaped, "hermits")
			guard := guardOf(t, out)
			end(p, cancel)
			<-p.Done()
			var exit *proc.ExitError
			if !errors.As(p.Err(), &exit) || exit.Signal != syscall.SIGKILL {
				t.Errorf("Err() = %v, want the signal that ended it", p.Err())
			}
			expectNobody(t, out)
			expectGone(t, guard, 0)
		})
	}
	t.Run("left behind", func(t *testing.T) {
		t.Parallel()
		p, out := startBy(t, t.Context(), proc.StartReaped, "deserters")
		<-p.Done()
		if p.Err() != nil {
			t.Errorf("Err() = %v", p.Err())
		}
		expectNobody(t, out)
	})
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	p, out := startBy(t, t.Context(), proc.StartReaped, "orphans")
	guard := guardOf(t, out)
	children := func() string {
		var all []string
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", guard))
		for _, th := range threads {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", guard, th.Name()))
			all = append(all, strings.Fields(string(b))...)
		}
		return strings.Join(all, " ")
	}
	want := strconv.Itoa(p.Pid())
	if !poll.Holds(soon, func() bool { return children() == want }) {
		t.Fatalf("the guard has the children %s, want only %s: the dead must not pile up", children(), want)
	}
}

func TestReapedExitStatus(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]proc.ExitError{
		"exit3":  {Code: 3},
		"killed": {Code: -1, Signal: syscall.SIGKILL},
	} {
		p, _ := startBy(t, t.Context(), proc.StartReaped, role)
		<-p.Done()
		var exit *proc.ExitError
		if !errors.As(p.Err(), &exit) || *exit != want {
			t.Errorf("%s: Err() = %v, want %v", role, p.Err(), &want)
		}
	}
	p, err := proc.StartReaped(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "kill -ABRT $$"}})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if got := fmt.Sprint(p.Err()); got != "signal: aborted" {
		t.Errorf("Err() = %q, want the signal's name", got)
	}
}

func TestReaperHandsOverItsFilesOnly(t *testing.T) {
	far, stray, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	defer stray.Close()
	if err := unix.Dup3(int(stray.Fd()), 200, 0); err != nil { // without the mark that keeps it from children
		t.Fatal(err)
	}
	defer unix.Close(200)
	p, out := startBy(t, t.Context(), proc.StartReaped, "files")
	var got []string
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		got = append(got, strings.TrimSpace(line))
	}
	<-p.Done()
	if want := []string{"0", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("the command has the files %v, want %v", got, want)
	}
}

// A guard may be killed by mistake, or for want of memory: the command goes with it.
func TestKilledReaperTakesTheGroupAlong(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := proc.StartReaped(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "sleep 600 & echo guard $PPID; wait"}, Stdout: w})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(never)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if err := syscall.Kill(guardOf(t, out), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "reaper") {
		t.Errorf("Err() = %v, want the loss of the reaper", p.Err())
	}
	expectNobody(t, out)
}

func TestReapIsNoCommandForPeople(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0], proc.ReaperVerb, "/bin/true", "true")
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "no command for people") {
		t.Errorf("ran by hand: %v, %q", err, out)
	}
}

// A program that does not know the verb starts itself again and again: refused.
func TestReaperThatIsNoneStartsNone(t *testing.T) {
	old := os.Args
	defer func() { os.Args = old }()
	os.Args = []string{old[0], proc.ReaperVerb}
	if _, err := proc.StartReaped(t.Context(), proc.Command{Path: "true"}); junctor.CodeOf(err) != junctor.CodeInternal {
		t.Errorf("StartReaped = %v, want a refusal", err)
	}
}

// It goes also when nobody is there to end the group.
func TestKilledReaperTakesTheCommandAlong(t *testing.T) {
	t.Parallel()
	host, out := startHost(t, []string{"sh", "-c", "echo $$; echo guard $PPID; exec sleep 600"})
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	guard := guardOf(t, out)
	if err := errors.Join(syscall.Kill(host.Process.Pid, syscall.SIGSTOP), syscall.Kill(guard, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	expectGone(t, pid, soon)
	_, _ = host.Process.Kill(), host.Wait()
}

// What the command closes is closed: the reaper holds no second end.
func TestReaperKeepsNoEndOfThePipes(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := proc.StartReaped(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "exec sleep 600 >/dev/null"}, Stdout: w})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(0)
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	expectNobody(t, bufio.NewReader(r))
	if p.Err() != nil || stateOf(p.Pid()) == "" {
		t.Error("the command has ended, which proves nothing")
	}
}

package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/junctor-mcp/junctor/internal/proc"
)

const canary = "canary-0f3a9c"

// playSecretive is a gateway with secrets in its environment, which starts a process
// that looks for them, in each way that there is.
func playSecretive(protected bool) int {
	if protected {
		_, err := proc.TakeEnvironment(func(name string) bool { return name == "OWN_SECRET" })
		if err != nil {
			fmt.Println("problem:", err)
		}
		if err := proc.ProtectMemory(); err != nil {
			fmt.Println("problem:", err)
		}
	}
	_, own := os.LookupEnv("OWN_SECRET")
	fmt.Printf("own:%t other:%s\n", own, os.Getenv("OTHER_SECRET"))
	for _, start := range []func(context.Context, proc.Command) (*proc.Process, error){proc.Start, proc.StartReaped} {
		var out bytes.Buffer
		p, err := start(context.Background(), proc.Command{Path: "/proc/self/exe", Args: []string{"play-snoop", strconv.Itoa(os.Getpid())}, Stdout: &out})
		if err != nil {
			fmt.Println("problem:", err)
			return 1
		}
		<-p.Done()
		fmt.Printf("%s, ended with %v\n", strings.TrimSpace(out.String()), p.Err())
	}
	proc.ReleaseMemory() // reads /proc/self/smaps
	if _, _, err := proc.Usage(os.Getpid()); err != nil {
		fmt.Println("problem:", err)
	}
	fmt.Println("ready")
	idle()
	return 0
}

// playSnoop says what it can read of another process of the same user, and whether
// others can read of it.
func playSnoop(pid string) {
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	memory, merr := os.Open("/proc/" + pid + "/mem")
	if merr == nil {
		_ = memory.Close()
	}
	dumpable, derr := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Printf("canary:%t environ:%t mem:%t dumpable:%d %v", bytes.Contains(environ, []byte(canary)), err == nil, merr == nil, dumpable, derr)
}

// secretive starts such a gateway, not as root where that can be chosen, and gives
// what it printed up to ready.
func secretive(t *testing.T, role string) (pid int, lines []string) {
	t.Helper()
	// By the link, since who is not root may not look into the folder of the test's binary.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "play-"+role)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "OWN_SECRET=" + canary, "OTHER_SECRET=" + canary, "EMPTY=", "PLAIN=" + canary}
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if sc.Text() == "ready" {
			return cmd.Process.Pid, lines
		}
		lines = append(lines, sc.Text())
	}
	t.Fatalf("it ended early, after %q", lines)
	return 0, nil
}

// A child of the same user reads neither environment nor memory of a protected
// process; it does of another.
func TestProtect(t *testing.T) {
	t.Parallel()
	_, lines := secretive(t, "talkative")
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "canary:true environ:true mem:true") {
			t.Errorf("without protection: %q: this test would see nothing", line)
		}
	}
	pid, lines := secretive(t, "secretive")
	want := []string{
		"own:false other:" + canary,
		"canary:false environ:false mem:false dumpable:1 <nil>, ended with <nil>",
		"canary:false environ:false mem:false dumpable:1 <nil>, ended with <nil>",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if os.Getuid() != 0 {
		return
	}
	// Who may read it all the same sees names, and no values.
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, fs.ErrPermission) {
		return // root without CAP_SYS_PTRACE, as in a container: it may not even look
	}
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(environ, []byte(canary)) || !bytes.Contains(environ, []byte("OWN_SECRET=\x00")) || !bytes.HasPrefix(environ, []byte("PATH=/usr/bin:/bin\x00")) {
		t.Errorf("the superuser sees %q", environ)
	}
}

package kill_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/kill"
)

// TestMain is also the program that is killed: it writes each line that it is
// told to its file, and then says so.
func TestMain(m *testing.M) {
	if path := os.Getenv("KILL_TEST_FILE"); path != "" {
		keep(path, os.Getenv("KILL_TEST_LIE") != "")
		return
	}
	os.Exit(m.Run())
}

func keep(path string, lie bool) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	w := io.Writer(f)
	if lie { // it says so before it is true
		w = bufio.NewWriterSize(f, 1<<20)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Fprintln(w, in.Text())
		fmt.Println(in.Text())
	}
}

// keeper is a running one.
type keeper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (k *keeper) Kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

// lost runs rounds and gives how many lines were acknowledged, and lost.
func lost(t *testing.T, rounds int, env ...string) (acknowledged, missing int, r kill.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kept")
	var k *keeper
	var said []string
	var stray atomic.Bool
	r = kill.Loop{
		Rounds: rounds,
		Least:  time.Millisecond, Most: 20 * time.Millisecond,
		Start: func(int) (kill.Process, time.Duration) {
			began := time.Now()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(append(os.Environ(), "KILL_TEST_FILE="+path), env...)
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil || err1 != nil || err2 != nil {
				t.Fatal(err, err1, err2)
			}
			k = &keeper{cmd, in, bufio.NewScanner(out)}
			k.out.Scan()
			return k, time.Since(began)
		},
		Load: func(ctx context.Context, round int) {
			for n := 0; ctx.Err() == nil; n++ {
				line := fmt.Sprintf("%d.%d", round, n)
				if _, err := fmt.Fprintln(k.in, line); err != nil || !k.out.Scan() {
					<-ctx.Done()
					return
				}
				if k.out.Text() != line {
					stray.Store(true)
				}
				said = append(said, line)
			}
		},
		Check: func(int) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			have := map[string]bool{}
			for line := range strings.Lines(string(b)) {
				have[strings.TrimSpace(line)] = true
			}
			missing = 0
			for _, line := range said {
				if !have[line] {
					missing++
				}
			}
		},
	}.Run(t)
	if stray.Load() {
		t.Error("an answer to another line")
	}
	return len(said), missing, r
}

func TestLoop(t *testing.T) {
	t.Parallel()
	const rounds = 5
	acknowledged, missing, r := lost(t, rounds)
	if r.Rounds != rounds || len(r.Ready) != rounds || r.Slowest <= 0 || acknowledged == 0 || missing != 0 {
		t.Errorf("%d acknowledged, %d missing, %+v", acknowledged, missing, r)
	}
}

// TestLoopNotices kills a program that acknowledges too early.
func TestLoopNotices(t *testing.T) {
	t.Parallel()
	if acknowledged, missing, _ := lost(t, 3, "KILL_TEST_LIE=1"); acknowledged == 0 || missing == 0 {
		t.Errorf("of %d acknowledged lines %d are missing", acknowledged, missing)
	}
}

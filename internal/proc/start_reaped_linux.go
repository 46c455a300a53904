package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	junctor "github.com/junctor-mcp/junctor"
)

// ReaperVerb is the first argument of this program when it is started again as a
// reaper. The main function must then call RunReaper with the remaining arguments, and
// do nothing else.
const ReaperVerb = "reap"

// selfExecutable is the running program, even if its file was replaced by a newer
// one.
const selfExecutable = "/proc/self/exe"

// reaper is our side of the process between us and a command.
type reaper struct {
	pid int // of the command
	// Its end tells the reaper to kill everything; the kernel closes it when we
	// die.
	lifePipe  *os.File
	closeOnce sync.Once
}

// terminate asks the command's group to end: the reaper passes the signal on.
func (r *reaper) terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

// kill makes the reaper kill the command and all of its descendants.
func (r *reaper) kill() { r.closeOnce.Do(func() { _ = r.lifePipe.Close() }) }

// StartReaped starts c so that neither c nor any of its descendants, in whatever
// group or session, outlives this process, however it ends. They do not outlive
// Stop, the end of ctx or the end of c either. For that, this program starts
// itself again as a reaper (see RunReaper), which starts c. Files in Stdin, Stdout and
// Stderr go directly to the command. Pid, and the exit status and signal of Err,
// are those of the command.
func StartReaped(ctx context.Context, c Command) (*Process, error) {
	if err := checkStartable(ctx, c); err != nil {
		return nil, err
	}
	if len(os.Args) > 1 && os.Args[1] == ReaperVerb {
		return nil, junctor.Errorf(junctor.CodeInternal, "this program was started as a reaper but does not act as one: its main function must call RunReaper")
	}
	path := c.Path
	if !strings.Contains(path, "/") {
		var err error
		if path, err = exec.LookPath(c.Path); err != nil {
			return nil, startError(c, err)
		}
	}
	cmd := buildCommand(c, selfExecutable, append([]string{ReaperVerb, path, c.Path}, c.Args...))
	cmd.Args[0] = os.Args[0]
	p := &Process{cmd: cmd, done: make(chan struct{})}
	reports, err := p.startReaper()
	if err != nil {
		return nil, startError(c, err)
	}
	stop := context.AfterFunc(ctx, p.kill)
	lines := bufio.NewReader(reports)
	p.reaper.pid, err = awaitStarted(lines)
	if err != nil {
		stop()
		p.kill()
		_, _ = cmd.Wait(), reports.Close()
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		return nil, startError(c, err)
	}
	go func() {
		defer close(p.done)
		defer stop()
		defer reports.Close()
		p.err = p.awaitEnd(lines)
	}()
	return p, nil
}

// startReaper starts the reaper with the two pipes that RunReaper expects, and returns
// our end of the pipe for its reports.
func (p *Process) startReaper() (reports *os.File, err error) {
	life, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer life.Close()
	reports, report, err := os.Pipe()
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	defer report.Close()
	p.reaper = &reaper{lifePipe: hold}
	p.cmd.ExtraFiles = []*os.File{life, report}
	if err := p.cmd.Start(); err != nil {
		_, _ = hold.Close(), reports.Close()
		return nil, err
	}
	return reports, nil
}

// awaitStarted reads the first report: the command's pid, or the system's error
// of starting it.
func awaitStarted(lines *bufio.Reader) (pid int, err error) {
	line, err := lines.ReadString('\n')
	if err != nil {
		return 0, errors.New("its reaper ended before it was started")
	}
	var errno uintptr
	if _, err := fmt.Sscanf(line, reportFailed, &errno); err == nil {
		return 0, syscall.Errno(errno)
	}
	if _, err := fmt.Sscanf(line, reportStarted, &pid); err != nil {
		return 0, fmt.Errorf("its reaper does not act as one: it said %.40q", line)
	}
	return pid, nil
}

// awaitEnd waits until the reaper has ended, and with it all processes that it
// guarded.
func (p *Process) awaitEnd(lines *bufio.Reader) error {
	line, lost := lines.ReadString('\n')
	err := p.cmd.Wait()
	p.reaper.kill() // only closes our end: the reaper has ended
	if lost != nil {
		// The reaper was killed. The command dies with it, so kill the rest of its
		// group, as far as that still exists.
		_ = syscall.Kill(-p.reaper.pid, syscall.SIGKILL)
		return fmt.Errorf("its reaper ended before it: %w", err)
	}
	var code, signal int
	if _, bad := fmt.Sscanf(line, reportEnded, &code, &signal); bad != nil {
		return fmt.Errorf("its reaper said %.40q", line)
	}
	var status *exec.ExitError
	switch {
	case code != 0:
		return &ExitError{Code: code, Signal: syscall.Signal(signal)}
	case err != nil && !errors.As(err, &status):
		return err // its output could not be copied
	}
	return nil
}

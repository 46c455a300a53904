package proc

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// outputDelay is how long a process's output is read after its end. It matters
// only if a process outside the group holds the pipe open.
const outputDelay = 2 * time.Second

// Command is what to start. There is no shell: Args reach the program
// unchanged.
type Command struct {
	// The program: a path, or a name to look up in PATH.
	Path string
	Args []string // without the program's own name
	// KEY=VALUE, added to the base environment; the last of several with the
	// same key counts.
	Env []string
	// Working directory; default: that of this process.
	Dir string

	// nil stands for the null device. An *os.File is passed to the process; any
	// other value is copied by a goroutine.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Process is a started process, the leader of its own group. The package reaps
// it. Its methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; set before done is closed

	// mu guards groupEnded. A group is signalled only before its leader is
	// reaped, because afterwards the pid may belong to another process.
	mu         sync.Mutex
	groupEnded bool

	// The process between us and the command; only of StartReaped.
	reaper *reaper
}

// Start starts c. The process runs until it ends by itself, Stop is called or ctx
// ends. The end of ctx kills its group at once. When the process ends, the rest
// of its group is killed, too.
//
// The error is CodeInvalid for an empty command, CodeNotFound or CodeDenied for a
// program that does not exist or is not executable, and CodeUnavailable
// otherwise.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := checkStartable(ctx, c); err != nil {
		return nil, err
	}
	p := &Process{cmd: buildCommand(c, c.Path, c.Args), done: make(chan struct{})}
	if err := p.cmd.Start(); err != nil {
		return nil, startError(c, err)
	}
	stop := context.AfterFunc(ctx, p.kill)
	go func() {
		defer stop()
		p.reapLeader()
	}()
	return p, nil
}

// checkStartable refuses an empty command and a ctx that has ended.
func checkStartable(ctx context.Context, c Command) error {
	if c.Path == "" {
		return junctor.Errorf(junctor.CodeInvalid, "no program to start: the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return junctor.AsError(err)
	}
	return nil
}

// buildCommand returns path with args, with the environment, directory and files
// of c.
func buildCommand(c Command, path string, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the caller's consent to a command is not decided here; its end is the process's own
	cmd.Env = append(baseEnv(os.LookupEnv), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = outputDelay
	setOwnGroup(cmd)
	return cmd
}

// startError returns the error of a start with its code.
func startError(c Command, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return junctor.Errorf(junctor.CodeNotFound, "cannot start %q: there is no such program or directory; check the path: %w", c.Path, err)
	case errors.Is(err, fs.ErrPermission):
		return junctor.Errorf(junctor.CodeDenied, "cannot start %q: not allowed; check that the file is executable: %w", c.Path, err)
	}
	return junctor.Errorf(junctor.CodeUnavailable, "cannot start %q: %w", c.Path, err)
}

// reapLeader reaps the leader and kills the rest of its group. If the system
// allows it, the group is killed before the leader is reaped, while its pid is
// still ours.
func (p *Process) reapLeader() {
	defer close(p.done)
	if awaitExit(p.Pid()) {
		p.endGroup()
		p.err = p.cmd.Wait()
		return
	}
	p.err = p.cmd.Wait()
	p.endGroup()
}

// endGroup kills the group and forbids later signals.
func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.groupEnded = true
}

// Pid returns the pid of the process, which is also the id of its group.
func (p *Process) Pid() int {
	if p.reaper != nil {
		return p.reaper.pid
	}
	return p.cmd.Process.Pid
}

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended. It is nil for exit status 0, and before Done is
// closed. For another status or a signal it is an *exec.ExitError or, from
// StartReaped, an *ExitError.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop asks the group to end, kills it if it has not ended after grace, and
// returns when the process was reaped. It reports whether the process had to be
// killed. Stopping an ended process does nothing.
func (p *Process) Stop(grace time.Duration) (killed bool) {
	p.terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return false
	case <-timer.C:
	}
	p.kill()
	<-p.done
	return true
}

// terminate asks the group to end.
func (p *Process) terminate() {
	if p.reaper != nil {
		p.reaper.terminate(p.cmd.Process)
		return
	}
	p.signalGroup(terminateGroup)
}

// kill kills the group.
func (p *Process) kill() {
	if p.reaper != nil {
		p.reaper.kill()
		return
	}
	p.signalGroup(killGroup)
}

// signalGroup calls group unless the leader was reaped.
func (p *Process) signalGroup(group func(*os.Process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.groupEnded {
		group(p.cmd.Process)
	}
}

// ExecutablePath returns the path of the running program, to start it again.
func ExecutablePath() (string, error) {
	path, err := os.Executable()
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot find the file of the running program; was it moved or replaced meanwhile? %w", err)
	}
	return path, nil
}

// HasProgram reports whether the PATH of this process has a program.
func HasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// Package proc is the only package that starts processes. It is ground: a
// backend that runs a server as a child, and bench, which runs the program
// beside itself, ask it and nothing else. A process gets a group of its own, so
// that ending it ends what it started, and an environment that holds what was
// named and little more, so that no secret of this process leaks into it.
//
// What Start starts ends with this process only when this process ends it in an
// orderly way. StartReaped is for what must never outlive this process, however
// it ends: see there, and reaper_linux.go for how.
//
// Beside that it knows what processes use, and gives back what this one does not
// need (Release).
//
// Groups need a Unix system. Elsewhere the process alone is ended, and what it
// started lives on.
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

// outputDelay is how long a process's output is waited for after its end. It
// only matters when something outside the group holds the pipe open.
const outputDelay = 2 * time.Second

// Command says what to start. There is no shell: Args reach the program as
// they are.
type Command struct {
	Path string   // the program: a path, or a name to look up in PATH
	Args []string // without the program's own name
	Env  []string // KEY=VALUE, on top of the clean environment; of two with one key the last holds
	Dir  string   // working directory; "" is that of this process

	// nil is the null device. A pipe is copied by a goroutine of its own; an
	// *os.File is handed over as it is.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Process is a started process, the leader of its own group. It is reaped by
// itself; the methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; set before done is closed

	// mu guards ended: a group is signalled only before its leader is reaped,
	// because afterwards the number may belong to somebody else.
	mu         sync.Mutex
	groupEnded bool

	reaper *reaper // what stands between, of StartReaped; nil elsewhere
}

// Start starts c. The process runs until it ends by itself, Stop is called or
// ctx ends, which kills its group at once. Whatever the process leaves behind
// in its group when it ends is killed too.
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

func checkStartable(ctx context.Context, c Command) error {
	if c.Path == "" {
		return junctor.Errorf(junctor.CodeInvalid, "no program to start: the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return junctor.AsError(err)
	}
	return nil
}

// buildCommand is path with args in the surroundings that c asks for.
func buildCommand(c Command, path string, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the caller's consent to a command is not decided here; its end is the process's own
	cmd.Env = append(baseEnv(os.LookupEnv), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = outputDelay
	setOwnGroup(cmd)
	return cmd
}

func startError(c Command, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return junctor.Errorf(junctor.CodeNotFound, "cannot start %q: there is no such program or directory; check the path: %w", c.Path, err)
	case errors.Is(err, fs.ErrPermission):
		return junctor.Errorf(junctor.CodeDenied, "cannot start %q: not allowed; check that the file is executable: %w", c.Path, err)
	}
	return junctor.Errorf(junctor.CodeUnavailable, "cannot start %q: %w", c.Path, err)
}

// reapLeader takes the leader's exit status and ends what is left of its group, where
// the system allows it while the leader is dead but its number still ours.
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

func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.groupEnded = true
}

// Pid is the process's number, and that of its group.
func (p *Process) Pid() int {
	if p.reaper != nil {
		return p.reaper.pid
	}
	return p.cmd.Process.Pid
}

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended: nil for exit status 0, for another status or a
// signal an *exec.ExitError, or an *ExitError from StartReaped. It is nil before Done
// is closed.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop asks the group to end, kills it when it has not done so after grace,
// and returns when the process has been reaped. It says whether the process
// had to be killed. Stopping an ended process does nothing.
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

func (p *Process) terminate() {
	if p.reaper != nil {
		p.reaper.terminate(p.cmd.Process)
		return
	}
	p.signalGroup(terminateGroup)
}

func (p *Process) kill() {
	if p.reaper != nil {
		p.reaper.kill()
		return
	}
	p.signalGroup(killGroup)
}

func (p *Process) signalGroup(group func(*os.Process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.groupEnded {
		group(p.cmd.Process)
	}
}

// Self is the path of the running program, to start it once more.
func Self() (string, error) {
	path, err := os.Executable()
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot find the file of the running program; was it moved or replaced meanwhile? %w", err)
	}
	return path, nil
}

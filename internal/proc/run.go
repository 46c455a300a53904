package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"

	junctor "github.com/junctor-mcp/junctor"
)

// maxStderr is how much of a program's error output is kept: the beginning, where
// programs report the first problem.
const maxStderr = 16 << 10

// Limits bound a program that runs to its end.
type Limits struct {
	// Bytes of standard output; a program that writes more is killed.
	Output int
	// Bytes of address space; 0 for no limit. Only Linux can bound another
	// process.
	Memory uint64
}

// Result is the output of a program that ran to its end.
type Result struct {
	Stdout []byte
	Stderr []byte // its first 16 KiB
	Exit   int    // exit status; -1 if a signal ended it
}

// Run starts c and waits for its end. Its Stdout and Stderr must be nil. An exit
// status other than 0 is no error: it is in the result. Errors are those of
// Start, CodeTimeout and CodeCanceled if ctx ended first, and CodeTooLarge if
// there was more output than the limit. The program is dead by then.
func Run(ctx context.Context, c Command, l Limits) (Result, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return Result{}, junctor.Errorf(junctor.CodeInternal, "the output of %q cannot go elsewhere when it is to be collected", c.Path)
	}
	running, kill := context.WithCancel(ctx)
	defer kill()
	out := &collector{remaining: l.Output, onOverflow: kill}
	complaints := &collector{remaining: maxStderr}
	c.Stdout, c.Stderr = out, complaints
	p, err := Start(running, c)
	if err != nil {
		return Result{}, err
	}
	if l.Memory > 0 {
		p.signalGroup(func(child *os.Process) { limitMemory(child.Pid, l.Memory) })
	}
	<-p.Done()
	var exit *exec.ExitError
	switch err := p.Err(); {
	case out.overflowed:
		return Result{}, junctor.Errorf(junctor.CodeTooLarge, "%q wrote more than the %d bytes that are taken", c.Path, l.Output)
	case err == nil:
		return Result{Stdout: out.buf.Bytes(), Stderr: complaints.buf.Bytes()}, nil
	case ctx.Err() != nil:
		return Result{}, junctor.AsError(ctx.Err())
	case errors.As(err, &exit):
		return Result{Stdout: out.buf.Bytes(), Stderr: complaints.buf.Bytes(), Exit: exit.ExitCode()}, nil
	default:
		return Result{}, junctor.Errorf(junctor.CodeUnavailable, "%q could not be fed, or its output not be read: %w", c.Path, err)
	}
}

// collector keeps the first bytes and discards the rest. One goroutine writes to
// it, and it is read after that goroutine has ended.
type collector struct {
	buf       bytes.Buffer
	remaining int
	// Called once if there is more; may be nil.
	onOverflow func()
	overflowed bool
}

// Write implements io.Writer. It never fails, so the program is not blocked.
func (c *collector) Write(p []byte) (int, error) {
	keep := p[:min(len(p), c.remaining)]
	c.buf.Write(keep)
	c.remaining -= len(keep)
	if len(keep) < len(p) && !c.overflowed {
		c.overflowed = true
		if c.onOverflow != nil {
			c.onOverflow()
		}
	}
	return len(p), nil
}

package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"

	junctor "github.com/junctor-mcp/junctor"
)

// maxStderr is how much of what a program complains is kept: its beginning,
// where programs say what went wrong first.
const maxStderr = 16 << 10

// Limits bound a program that runs to its end.
type Limits struct {
	Output int    // bytes of standard output; a program that writes more is killed
	Memory uint64 // bytes of address space, where the system can bound another process (Linux); 0 is no bound
}

// Result is what a program that ran to its end left.
type Result struct {
	Stdout []byte
	Stderr []byte // its first 16 KiB
	Exit   int    // its exit status; -1 when a signal ended it
}

// Run starts c, whose Stdout and Stderr must be nil, and waits for its end. An
// exit status other than 0 is no error: the result says it. Errors are those of
// Start, CodeTimeout and CodeCanceled when ctx ended first, and CodeTooLarge
// when there was more output than the limit; the program is dead by then.
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

// collector keeps the first bytes and takes the rest without keeping it. One
// goroutine writes to it, and it is read after that goroutine's end.
type collector struct {
	buf        bytes.Buffer
	remaining  int
	onOverflow func() // told once when there is more; nil for nobody
	overflowed bool
}

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

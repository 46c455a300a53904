package upstream

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// childProcess is a running process of a command, with our ends of its pipes.
type childProcess struct {
	process       *proc.Process
	stdin, stdout *os.File
	output        *maskingWriter // writes to the tail of the command
	startedAt     time.Time
	timeouts      childTimeouts

	handshakeDone atomic.Bool // it shook hands
	stopping      atomic.Bool // we are ending it
	faultless     atomic.Bool // it is ended before it answered, through no fault of its own

	exitOnce sync.Once // its exit is counted once

	// writeLock is a lock as a channel: writers stop waiting for it when their context
	// ends.
	writeLock chan struct{}
	// unsentBytes are the rest of a message whose writer gave up. They are sent before
	// the next message, since half a line would make the next one unreadable.
	unsentBytes []byte
}

// startChild starts the command, under a reaper if there is one: none of its processes
// outlives this one. The process does not end with ctx.
func startChild(ctx context.Context, o *Options) (*childProcess, error) {
	c := o.Command
	env := c.Env
	if c.MoreEnv != nil {
		more, err := c.MoreEnv(ctx)
		if err != nil {
			return nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + o.ID + " is not started: " + junctor.AsError(err).Message, Cause: err}
		}
		env = append(slices.Clone(env), more...)
	}
	said := newMaskingWriter(&c.output, env, c.Secrets)
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot start server %s: no pipe: %w", o.ID, err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot start server %s: no pipe: %w", o.ID, err)
	}
	p, err := proc.StartReaped(context.WithoutCancel(ctx), proc.Command{
		Path: c.Program.Path(), Args: c.Program.Args(), Env: env, Dir: c.Program.Dir(), Stdin: theirIn, Stdout: theirOut, Stderr: said,
	})
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		// The message quotes the command, which callers must not see.
		return nil, o.commandError(junctor.CodeUnreachable, "server "+o.ID+" cannot be started", junctor.AsError(err).Message, err)
	}
	return &childProcess{process: p, stdin: in, stdout: out, output: said, startedAt: time.Now(), timeouts: c.timeouts.withDefaults(), writeLock: make(chan struct{}, 1)}, nil
}

// writeMessage sends one message, on a line of its own. If ctx ends while the child does
// not read, the rest of the message is sent before the next one. An error means that
// nothing of the message was sent, unless the child is broken.
func (child *childProcess) writeMessage(ctx context.Context, message []byte) error {
	message = append(joinLines(message), '\n')
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case child.writeLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-child.writeLock }()
	defer child.interruptOnDone(ctx)()
	if len(child.unsentBytes) > 0 {
		n, err := child.stdin.Write(child.unsentBytes)
		child.unsentBytes = child.unsentBytes[n:]
		if err != nil {
			return err
		}
	}
	n, err := child.stdin.Write(message)
	if err != nil && n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		child.unsentBytes = append(child.unsentBytes[:0:0], message[n:]...)
		return nil // the rest is sent later; the caller no longer waits for the answer
	}
	return err
}

// joinLines makes one line of a JSON text, in place. Valid JSON has line ends only
// between its tokens.
func joinLines(text []byte) []byte {
	for _, c := range []byte{'\n', '\r'} {
		for rest := text; ; {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return text
}

// stopProcess ends the process and waits: it closes the input, then terminates the
// process, then kills it.
func (child *childProcess) stopProcess() {
	_ = child.stdin.Close()
	select {
	case <-child.process.Done():
	case <-time.After(child.timeouts.inputEnd):
		child.process.Stop(child.timeouts.terminate)
	}
}

// interruptOnDone interrupts writes when ctx ends. The returned function must be called
// after the write; it makes the pipe writable again.
func (child *childProcess) interruptOnDone(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = child.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(ran)
	})
	return func() {
		if !stop() {
			<-ran
			_ = child.stdin.SetWriteDeadline(time.Time{})
		}
	}
}

// exitKind tells how the exit of the child counts for the pool.
func (child *childProcess) exitKind() exitKind {
	switch {
	case child.stopping.Load() && child.handshakeDone.Load():
		return exitStopped
	case child.stopping.Load() && child.faultless.Load():
		return exitNeutral
	case child.handshakeDone.Load() && time.Since(child.startedAt) >= stableAfter:
		return exitAfterLongRun
	}
	return exitFault
}

// describeExit describes how the process ended, for messages.
func (child *childProcess) describeExit() string {
	select {
	case <-child.process.Done():
	default:
		return "its output is closed"
	}
	if err := child.process.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

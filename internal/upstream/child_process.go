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

	handshakeDone atomic.Bool // the handshake succeeded
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
	env, program := c.Env, c.Program
	notStarted := func(err error) error {
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + o.ID + " was not started: " + junctor.AsError(err).Message, Cause: err}
	}
	var secrets []string
	if c.OpenArgs != nil {
		args, found, err := c.OpenArgs(ctx)
		if err == nil {
			program, err = program.WithSecrets(args)
		}
		if err != nil {
			return nil, notStarted(err)
		}
		secrets = found
	}
	if c.MoreEnv != nil {
		more, err := c.MoreEnv(ctx)
		if err != nil {
			return nil, notStarted(err)
		}
		env = append(slices.Clone(env), more...)
	}
	said := newMaskingWriter(&c.output, env, secrets)
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot start server %s: cannot create a pipe: %w", o.ID, err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot start server %s: cannot create a pipe: %w", o.ID, err)
	}
	p, err := proc.StartReaped(context.WithoutCancel(ctx), proc.Command{
		Path: program.Path(), Args: program.Args(), Env: env, Dir: program.Dir(), Stdin: theirIn, Stdout: theirOut, Stderr: said,
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
func (c *childProcess) writeMessage(ctx context.Context, message []byte) error {
	message = append(joinLines(message), '\n')
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.writeLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writeLock }()
	defer c.interruptOnDone(ctx)()
	if len(c.unsentBytes) > 0 {
		n, err := c.stdin.Write(c.unsentBytes)
		c.unsentBytes = c.unsentBytes[n:]
		if err != nil {
			return err
		}
	}
	n, err := c.stdin.Write(message)
	if err != nil && n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		c.unsentBytes = append(c.unsentBytes[:0:0], message[n:]...)
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
func (c *childProcess) stopProcess() {
	_ = c.stdin.Close()
	select {
	case <-c.process.Done():
	case <-time.After(c.timeouts.inputEnd):
		c.process.Stop(c.timeouts.terminate)
	}
}

// interruptOnDone interrupts writes when ctx ends. The returned function must be called
// after the write; it makes the pipe writable again.
func (c *childProcess) interruptOnDone(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(ran)
	})
	return func() {
		if !stop() {
			<-ran
			_ = c.stdin.SetWriteDeadline(time.Time{})
		}
	}
}

// exitKind is how the exit of the child counts for the pool.
func (c *childProcess) exitKind() exitKind {
	switch {
	case c.stopping.Load() && c.handshakeDone.Load():
		return exitStopped
	case c.stopping.Load() && c.faultless.Load():
		return exitNeutral
	case c.handshakeDone.Load() && time.Since(c.startedAt) >= stableAfter:
		return exitAfterLongRun
	}
	return exitFault
}

// describeExit describes how the process ended, for messages.
func (c *childProcess) describeExit() string {
	select {
	case <-c.process.Done():
	default:
		return "it closed its output"
	}
	if err := c.process.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

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

// child is a running process of a server, with our ends of its pipes.
type child struct {
	process  *proc.Process
	in, out  *os.File
	said     *lines // to the command's tail
	began    time.Time
	patience patience

	greeted   atomic.Bool // it shook hands
	stopping  atomic.Bool // it is ended on purpose
	blameless atomic.Bool // it is ended before it answered, for no fault of its own

	leaving sync.Once // the crew hears of it once

	turn chan struct{} // held by who writes
	rest []byte        // of a message whose writer had to leave: it goes first
}

// startChild starts the command, reaped: nothing of it outlives this process.
// It does not end with ctx.
func startChild(ctx context.Context, o *Options) (*child, error) {
	c := o.Command
	env := c.Env
	if c.MoreEnv != nil {
		more, err := c.MoreEnv(ctx)
		if err != nil {
			return nil, &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + o.ID + " is not started: " + junctor.AsError(err).Message, Cause: err}
		}
		env = append(slices.Clone(env), more...)
	}
	said := newLines(&c.said, env, c.Secrets)
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
		// It quotes the command.
		return nil, o.commandError(junctor.CodeUnreachable, "server "+o.ID+" cannot be started", junctor.AsError(err).Message, err)
	}
	return &child{process: p, in: in, out: out, said: said, began: time.Now(), patience: c.patience.orDefault(), turn: make(chan struct{}, 1)}, nil
}

// write sends one message, on a line of its own. Where ctx ends while the child
// does not read, what is left goes out before the next message. An error means
// that nothing of the message was sent, unless the child is broken.
func (c *child) write(ctx context.Context, message []byte) error {
	message = append(flat(message), '\n')
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	defer c.leaveWith(ctx)()
	if len(c.rest) > 0 {
		n, err := c.in.Write(c.rest)
		c.rest = c.rest[n:]
		if err != nil {
			return err
		}
	}
	n, err := c.in.Write(message)
	if err != nil && n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		c.rest = append(c.rest[:0:0], message[n:]...)
		return nil // it will be sent whole; its answer is not waited for
	}
	return err
}

// flat makes one line of a JSON text, in place: line ends can only stand between
// its tokens.
func flat(text []byte) []byte {
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

// leave ends the process: its input ends, then it is asked, then it is killed.
func (c *child) leave() {
	_ = c.in.Close()
	select {
	case <-c.process.Done():
	case <-time.After(c.patience.leave):
		c.process.Stop(c.patience.obey)
	}
}

// leaveWith interrupts the write that follows when ctx ends; the function that
// it gives must be called after it.
func (c *child) leaveWith(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.in.SetWriteDeadline(time.Unix(1, 0))
		close(ran)
	})
	return func() {
		if !stop() {
			<-ran
			_ = c.in.SetWriteDeadline(time.Time{})
		}
	}
}

// verdict is how the child's end counts.
func (c *child) verdict() end {
	switch {
	case c.stopping.Load() && c.greeted.Load():
		return endGood
	case c.stopping.Load() && c.blameless.Load():
		return endNeutral
	case c.greeted.Load() && time.Since(c.began) >= steady:
		return endLate
	}
	return endFault
}

// exit says how the process ended.
func (c *child) exit() string {
	select {
	case <-c.process.Done():
	default:
		return "its output is closed"
	}
	if err := c.process.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

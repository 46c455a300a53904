package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// ServeStdio speaks MCP over a pair of byte streams, one message a line, as a
// host that starts a process does. It returns when in ends or ctx does. What
// still runs has a moment to answer when in has ended, and is cancelled then.
// who says whose the client is, and is asked again for each message: what its
// party may do changes, and a credential that is good no more ends it. With a
// server it is that one alone, under its own names.
func (g *Gateway) ServeStdio(ctx context.Context, server string, who func() (*junctor.Principal, error), in io.Reader, out io.Writer) error {
	if !g.options.Doors.Stdio {
		return junctor.Errorf(junctor.CodeNotFound, "the stdio door is switched off in the configuration")
	}
	p, err := who()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer g.registerStream(p, 0, cancel)()
	stop := context.AfterFunc(g.ctx, cancel) //nolint:contextcheck // the door ends with either
	defer stop()
	c := g.newDuplexConn(ctx, p, junctor.DoorStdio, func(message []byte) error {
		_, err := out.Write(append(removeLineBreaks(message), '\n'))
		return err
	})
	c.view.Server = server
	defer c.close()

	lines := wire.NewLineReader(in, int(g.options.MaxBody))
	room := g.options.Bytes.Growth(ctx, limit.PartyOf(p), g.options.MaxBody)
	lines.GrowWith(room.Grow)
	read := make(chan error, 1)
	go func() { read <- c.readLines(who, lines, room) }() //nolint:contextcheck // the pipe holds the context of what it starts
	select {
	case err := <-read:
		if err == nil {
			c.awaitCalls(drainTimeout)
		}
		return err
	case <-c.ctx.Done():
		return nil // the reader ends with the stream that it reads
	}
}

// drainTimeout is what is left to requests when their client's half has ended: less
// than a host waits before it kills the process.
const drainTimeout = 1500 * time.Millisecond

func (c *duplexConn) readLines(who func() (*junctor.Principal, error), lines *wire.LineReader, room *limit.ByteGrowth) error {
	for {
		line, err := lines.Next()
		room.Settle()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, wire.ErrTooLong):
			c.sendMessage(wire.AppendError(nil, nil, &wire.Error{Code: codeTooLarge, Message: "the line is longer than this door takes; --max-body sets the limit"}))
		case isOwnError(err):
			c.sendMessage(wire.AppendError(nil, nil, toClientError(err, false, "").rpcError))
		case err != nil:
			return err
		case len(line) > 0:
			p, err := who()
			if err != nil {
				c.cancel() // what runs on it ends too
				return err
			}
			c.handleMessage(p, line)
		}
	}
}

// isOwnError says whether a line was not read because there was no room for it.
func isOwnError(err error) bool {
	_, own := errors.AsType[*junctor.Error](err)
	return own
}

// removeLineBreaks gives a message without line breaks, which JSON has only between
// tokens.
func removeLineBreaks(message []byte) []byte {
	for i, b := range message {
		if b == '\n' || b == '\r' {
			out := append([]byte(nil), message...)
			for j := i; j < len(out); j++ {
				if out[j] == '\n' || out[j] == '\r' {
					out[j] = ' '
				}
			}
			return out
		}
	}
	return message
}

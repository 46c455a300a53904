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

// ServeStdio serves MCP over a pair of byte streams, one message per line, for a host
// that starts this program. It returns when in or ctx ends. After in has ended, running
// requests have a moment to finish; then they are cancelled.
//
// who returns the principal of the client. It is called again for every message, because
// the rights of a party change; if it returns an error, the connection ends. If server is
// not empty, the client sees only that server, with the server's own names.
func (g *Gateway) ServeStdio(ctx context.Context, server string, who func() (*junctor.Principal, error), in io.Reader, out io.Writer) error {
	if !g.options.EntryPoints.Stdio {
		return junctor.Errorf(junctor.CodeNotFound, "the stdio endpoint is disabled in the configuration")
	}
	p, err := who()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The connection ends when its key is revoked or expires. The limit of streams
	// does not apply to it.
	defer g.registerStream(p, 0, cancel)()
	stop := context.AfterFunc(g.ctx, cancel) //nolint:contextcheck // the connection ends with either context
	defer stop()
	c := g.newDuplexConn(ctx, p, junctor.EntryStdio, func(message []byte) error {
		_, err := out.Write(append(removeLineBreaks(message), '\n'))
		return err
	})
	c.view.Server = server
	defer c.close()

	lines := wire.NewLineReader(in, int(g.options.MaxBody))
	room := g.options.ByteBudget.NewGrowth(ctx, limit.PartyOf(p), g.options.MaxBody)
	lines.GrowWith(room.Grow)
	read := make(chan error, 1)
	go func() { read <- c.readLines(who, lines, room) }() //nolint:contextcheck // requests use the context of the connection
	select {
	case err := <-read:
		if err == nil {
			c.awaitCalls(drainTimeout)
		}
		return err
	case <-c.ctx.Done():
		return nil // the reading goroutine ends when in does
	}
}

// drainTimeout is the time that running requests have after the client has closed its
// half. It is shorter than the time after which hosts kill the process.
const drainTimeout = 1500 * time.Millisecond

// readLines handles the lines of the client until its stream ends. A line that is too
// long is answered with an error, and the next one is read.
func (c *duplexConn) readLines(who func() (*junctor.Principal, error), lines *wire.LineReader, room *limit.ByteGrowth) error {
	for {
		line, err := lines.Next()
		room.FinishMessage()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, wire.ErrTooLong):
			c.sendMessage(wire.AppendError(nil, nil, &wire.Error{Code: codeTooLarge, Message: "the line is longer than this endpoint accepts; --max-body sets the limit"}))
		case isOwnError(err):
			c.sendMessage(wire.AppendError(nil, nil, toClientError(err, false, "").rpcError))
		case err != nil:
			return err
		case len(line) > 0:
			p, err := who()
			if err != nil {
				c.cancel() // the running requests end, too
				return err
			}
			c.handleMessage(p, line)
		}
	}
}

// isOwnError reports whether a line was not read because there was no memory for it.
func isOwnError(err error) bool {
	_, own := errors.AsType[*junctor.Error](err)
	return own
}

// removeLineBreaks returns a message without line breaks, which JSON has only between
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

package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// RedisError is an error that a Redis returned, such as "WRONGTYPE Operation against …".
type RedisError string

// Error implements error.
func (e RedisError) Error() string { return string(e) }

// HasRedisErrorPrefix reports whether err is an error of a Redis of one kind, which is its
// first word.
func HasRedisErrorPrefix(err error, kind string) bool {
	e, ok := errors.AsType[RedisError](err)
	return ok && (string(e) == kind || strings.HasPrefix(string(e), kind+" "))
}

// firstRedisError returns the first error among replies.
func firstRedisError(replies []any) error {
	for _, r := range replies {
		if err, ok := r.(RedisError); ok {
			return err
		}
	}
	return nil
}

var errRedisProtocol = errors.New("not a valid reply in the Redis protocol")

// Limits of a reply. The largest value that a Redis holds has 512 MiB.
const (
	maxRedisReply = 512 << 20 // bytes in all
	maxRedisDepth = 8         // arrays in arrays
	maxRedisLine  = 64 << 10
)

// redisConn is one connection. It speaks version 2 of the protocol (RESP2), which needs
// no handshake.
type redisConn struct {
	conn   net.Conn
	r      *bufio.Reader
	usedAt time.Time
}

// newRedisConn returns a connection.
func newRedisConn(conn net.Conn) *redisConn {
	return &redisConn{conn: conn, r: bufio.NewReaderSize(conn, 16<<10)}
}

// Close closes the connection.
func (c *redisConn) Close() error { return c.conn.Close() }

// sendCommand sends one command whose reply says only whether it worked.
func (c *redisConn) sendCommand(deadline time.Time, args ...any) error {
	request, err := appendRedisCommands(nil, [][]any{args})
	if err != nil {
		return err
	}
	replies, err := c.exchangeRequest(request, 1, deadline)
	if err != nil {
		return err
	}
	return firstRedisError(replies)
}

// exchangeRequest sends a request and reads n replies. After an error the connection cannot be
// used any more.
func (c *redisConn) exchangeRequest(request []byte, n int, deadline time.Time) ([]any, error) {
	if err := c.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	// A long request is written while its first replies are read: otherwise both
	// sides could wait for each other with full buffers.
	written := make(chan error, 1)
	if len(request) > 32<<10 {
		go func() {
			_, err := c.conn.Write(request)
			written <- err
		}()
	} else {
		_, err := c.conn.Write(request)
		if err != nil {
			return nil, err
		}
		written <- nil
	}
	replies := make([]any, 0, n)
	var readErr error
	for range n {
		budget := int64(maxRedisReply)
		var reply any
		if reply, readErr = readRedisReply(c.r, &budget, 0); readErr != nil {
			_ = c.conn.Close() // ends the writer
			break
		}
		replies = append(replies, reply)
	}
	writeErr := <-written
	if readErr != nil {
		return nil, readErr
	}
	if writeErr != nil {
		return nil, writeErr
	}
	// Nothing follows the last reply: more would be taken for that of the next command.
	if c.r.Buffered() > 0 {
		return nil, errRedisProtocol
	}
	return replies, nil
}

// appendRedisCommands appends commands as arrays of strings.
func appendRedisCommands(dst []byte, commands [][]any) ([]byte, error) {
	for _, args := range commands {
		dst = append(dst, '*')
		dst = strconv.AppendInt(dst, int64(len(args)), 10)
		dst = append(dst, "\r\n"...)
		for _, arg := range args {
			switch arg := arg.(type) {
			case string:
				dst = appendRedisString(dst, arg)
			case []byte:
				dst = appendRedisString(dst, arg)
			case int:
				dst = appendRedisString(dst, strconv.Itoa(arg))
			case int64:
				dst = appendRedisString(dst, strconv.FormatInt(arg, 10))
			case uint64:
				dst = appendRedisString(dst, strconv.FormatUint(arg, 10))
			default:
				return nil, junctor.Errorf(junctor.CodeInternal, "a command of a Redis has an argument of type %T", arg)
			}
		}
	}
	return dst, nil
}

// appendRedisString appends a string with its length.
func appendRedisString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(s)), 10)
	dst = append(dst, "\r\n"...)
	dst = append(dst, s...)
	return append(dst, "\r\n"...)
}

// readRedisReply reads one reply: nil, an int64, a string, a RedisError, or a []any of
// replies. budget is how many bytes it may still have.
func readRedisReply(r *bufio.Reader, budget *int64, depth int) (any, error) {
	line, err := readRedisLine(r)
	if err != nil {
		return nil, err
	}
	// Each reply costs what it takes in memory at least, so that many empty ones
	// reach the limit too.
	if *budget -= int64(len(line)) + 16; *budget < 0 {
		return nil, fmt.Errorf("%w: it is larger than %d MiB", errRedisProtocol, maxRedisReply>>20)
	}
	if len(line) == 0 {
		return nil, errRedisProtocol
	}
	kind, text := line[0], string(line[1:])
	switch kind {
	case '+':
		return text, nil
	case '-':
		return RedisError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, errRedisProtocol
	}
	switch {
	case kind == ':':
		return n, nil
	case kind != '$' && kind != '*' || n < -1:
		return nil, errRedisProtocol
	case n == -1:
		return nil, nil
	case kind == '$':
		return readRedisString(r, n, budget)
	}
	if depth++; depth > maxRedisDepth {
		return nil, errRedisProtocol
	}
	replies := []any{} // the announced length is not believed
	for range n {
		reply, err := readRedisReply(r, budget, depth)
		if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// readRedisString reads n bytes and the line end behind them.
func readRedisString(r *bufio.Reader, n int64, budget *int64) (any, error) {
	if *budget -= n; *budget < 0 {
		return nil, fmt.Errorf("%w: it is larger than %d MiB", errRedisProtocol, maxRedisReply>>20)
	}
	var text bytes.Buffer // grows as bytes arrive: the announced length is not believed
	text.Grow(int(min(n, 64<<10)) + 2)
	if _, err := io.CopyN(&text, r, n+2); err != nil {
		return nil, unexpectedEnd(err)
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\r\n")) {
		return nil, errRedisProtocol
	}
	text.Truncate(int(n))
	return text.String(), nil
}

// readRedisLine reads a line without its end. It is valid until the next read.
func readRedisLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		// Only an error can be that long.
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxRedisLine {
			line, err = r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errRedisProtocol
	}
	if err != nil {
		return nil, unexpectedEnd(err)
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return nil, errRedisProtocol
	}
	return line, nil
}

// unexpectedEnd names the end of a connection before the end of a reply.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

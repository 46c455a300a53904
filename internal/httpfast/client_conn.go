package httpfast

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// errWouldBlock means that a socket has nothing to read, or no room to write, now.
var errWouldBlock = errors.New("the socket would have to be waited for")

// errStaleConn means that an idle connection cannot take a request: the server closed
// it, or sent bytes on it that belong to no request.
var errStaleConn = errors.New("the connection was closed, or the server sent data before a request")

const (
	// maxSingleWrite is the largest request that is sent in one write. The send buffer
	// of an idle socket has room for it, so sending never waits for the server.
	maxSingleWrite = 16 << 10
	// releaseTimeout is how long the rest of a released response may take.
	releaseTimeout = 250 * time.Millisecond
	// contextWatchDelay is how long an exchange runs before it watches the context of
	// its caller. Most exchanges are over by then, and context.AfterFunc costs more
	// than all else that is done for them here.
	contextWatchDelay = 20 * time.Millisecond
)

// clientConn is one HTTP/1.1 connection to a server. It has no goroutine of its own.
// One exchange at a time uses it; between exchanges the pool has it.
type clientConn struct {
	net.Conn
	socket    *rawSocket
	reader    responseReader
	outBuffer []byte // the head and first bytes of the request

	probeByte [1]byte

	hasSent    bool       // the socket may have taken a byte of the request
	isUnusable bool       // close it after this exchange
	writeDone  chan error // gets the result while a goroutine sends the rest of a large request; has room for one

	idleUntil   time.Time // while idle: do not use it after this
	restPending bool      // while idle: the rest of the last response has not arrived

	exchange     atomic.Pointer[Response] // the exchange that uses the connection
	contextTimer *time.Timer              // calls watchContext; reused, since a new timer for each exchange is expensive
}

// newClientConn takes over c, which must be a socket. It closes c if it fails.
func newClientConn(c net.Conn) (*clientConn, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the connection is no socket")
	}
	r, err := newRawSocket(sc)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	nc := &clientConn{Conn: c, socket: r}
	nc.reader.src = c
	return nc, nil
}

// scheduleContextWatch makes an exchange watch its context after contextWatchDelay, or
// at its deadline if that is earlier.
func (c *clientConn) scheduleContextWatch(r *Response) {
	wait := contextWatchDelay
	if at, ok := r.ctx.Deadline(); ok {
		wait = min(wait, time.Until(at))
	}
	c.exchange.Store(r)
	if c.contextTimer == nil {
		c.contextTimer = time.AfterFunc(wait, c.watchContext)
		return
	}
	c.contextTimer.Reset(wait)
}

// cancelContextWatch undoes scheduleContextWatch at the end of an exchange.
func (c *clientConn) cancelContextWatch() {
	c.contextTimer.Stop()
	c.exchange.Store(nil)
}

// watchContext runs on the timer. If it comes late, it finds no exchange or the next
// one, which then watches its context earlier than needed: that does no harm.
func (c *clientConn) watchContext() {
	if r := c.exchange.Load(); r != nil {
		r.watchContext()
	}
}

// sendRequest writes a request. On a reused connection that the server has closed or
// written to meanwhile, it sends nothing and returns errStaleConn. The first bytes of
// the response may be read with it.
//
// If the socket does not take the whole request at once, a goroutine sends the rest
// while the response is read: the server may respond before it has read everything,
// or without reading it. The parts must not change until finishWriting.
func (c *clientConn) sendRequest(q *outgoingRequest, reused bool) error {
	c.hasSent, c.writeDone = false, nil
	c.outBuffer = q.appendHead(c.outBuffer[:0])
	parts := q.parts
	for len(parts) > 0 && len(c.outBuffer) < maxSingleWrite {
		room := maxSingleWrite - len(c.outBuffer)
		if len(parts[0]) <= room {
			c.outBuffer = append(c.outBuffer, parts[0]...)
			parts = parts[1:]
			continue
		}
		c.outBuffer = append(c.outBuffer, parts[0][:room]...)
		rest := parts[0][room:]
		return c.sendLargeRequest(reused, rest, parts[1:])
	}
	if len(parts) > 0 {
		return c.sendLargeRequest(reused, nil, parts)
	}
	out := c.outBuffer
	if reused {
		n, err := c.sendOnIdle(out)
		if out = out[n:]; err != nil || len(out) == 0 {
			return err
		}
	}
	n, err := c.Write(out)
	c.hasSent = c.hasSent || n > 0
	return err
}

// sendOnIdle sends a request on an idle connection and reads the first bytes of the
// response. It returns the error of sending; an error of reading is kept for the
// reader.
func (c *clientConn) sendOnIdle(out []byte) (sent int, err error) {
	sent, n, err := c.socket.exchangeBytes(out, c.reader.buf)
	c.hasSent, c.reader.w = sent > 0, n
	if sent == len(out) {
		c.reader.readErr = err
		return sent, nil
	}
	return sent, err
}

// sendLargeRequest sends the buffered beginning of a request, then rest and parts,
// without copying them. It never waits for the server.
func (c *clientConn) sendLargeRequest(reused bool, rest []byte, parts [][]byte) error {
	if reused && !c.isSilent() {
		return errStaleConn
	}
	all := append(net.Buffers{c.outBuffer, rest}, parts...)
	for len(all) > 0 {
		if len(all[0]) == 0 {
			all = all[1:]
			continue
		}
		n, err := c.socket.writeNow(all[0])
		c.hasSent = c.hasSent || n > 0
		all[0] = all[0][n:]
		if errors.Is(err, errWouldBlock) {
			break
		}
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	c.hasSent = true // the goroutine may send at any moment
	c.writeDone = make(chan error, 1)
	go func(done chan<- error) {
		_, err := all.WriteTo(c.Conn)
		done <- err
	}(c.writeDone)
	return nil
}

// finishWriting ends the sending of a large request, so that its parts belong to the
// caller again. If not all of it was sent, the connection is closed.
func (c *clientConn) finishWriting() {
	if c.writeDone == nil {
		return
	}
	select {
	case err := <-c.writeDone:
		c.isUnusable = c.isUnusable || err != nil
	default:
		c.isUnusable = true
		_ = c.Close()
		<-c.writeDone
	}
	c.writeDone = nil
}

// isUsable reports whether an idle connection can take a request: its last response
// has ended.
func (c *clientConn) isUsable() bool { return !c.restPending || c.drainArrived() }

// isSilent reports whether the server has neither closed an idle connection nor sent
// anything on it. It does not wait.
func (c *clientConn) isSilent() bool {
	_, err := c.socket.readNow(c.probeByte[:])
	return err == errWouldBlock //nolint:errorlint // readNow returns it unwrapped
}

// isReusable reports whether the connection can go back to the pool after a response.
// With release, the rest of the response may still be on its way.
func (c *clientConn) isReusable(release bool) bool {
	if c.restPending = !c.reader.isComplete(); !c.restPending {
		return true
	}
	return release && c.reader.kind != bodyUntilClose && (c.drainArrived() || c.reader.bodyErr == nil)
}

// drainArrived reads the part of the last response that has arrived by now, and
// reports whether it was complete. It does not wait.
func (c *clientConn) drainArrived() bool {
	c.reader.src = socketReader{c.socket}
	defer func() { c.reader.src = c.Conn }()
	for waste := c.outBuffer[:cap(c.outBuffer)]; ; {
		if _, err := c.reader.readBody(waste); err != nil {
			break
		}
	}
	if c.reader.isComplete() {
		c.restPending = false
		return true
	}
	return false
}

// socketReader reads from a socket without waiting.
type socketReader struct{ socket *rawSocket }

func (r socketReader) Read(p []byte) (int, error) { return r.socket.readNow(p) }

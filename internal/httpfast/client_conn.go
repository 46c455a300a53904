package httpfast

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// errWouldBlock says that a socket has nothing to read, or no room to write.
var errWouldBlock = errors.New("the socket would have to be waited for")

// errStaleConn says that an idle connection cannot take a request: the other side
// closed it, or said something on it that nobody asked for.
var errStaleConn = errors.New("the connection was closed, or something unasked was said on it")

const (
	// maxSingleWrite is up to where a request is sent in one piece. An idle socket has
	// room for it, so that sending never waits for the other side.
	maxSingleWrite = 16 << 10
	// releaseTimeout is how long the rest of an answer may take that nobody waits for.
	releaseTimeout = 250 * time.Millisecond
	// contextWatchDelay is how long an exchange runs before it is tied to the context of its
	// caller. Most are over by then, and a tie costs more than all else that is done
	// for them here.
	contextWatchDelay = 20 * time.Millisecond
)

// clientConn is one HTTP/1.1 connection. It has no goroutine: whoever makes a request
// on it writes and reads by itself.
type clientConn struct {
	net.Conn
	socket    *rawSocket
	reader    responseReader
	outBuffer []byte // the request

	probeByte [1]byte

	hasSent    bool       // the socket has taken a byte of the request
	isUnusable bool       // not to be used again
	writeDone  chan error // the rest of a large request is on its way; holds one

	idleUntil   time.Time // when idle: not to be used after this
	restPending bool      // when idle: the rest of the last answer is still to come

	exchange     atomic.Pointer[Reply] // whose exchange this is
	contextTimer *time.Timer           // ties it
}

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

// scheduleContextWatch ties an exchange to its context after a while, or at its deadline.
func (c *clientConn) scheduleContextWatch(r *Reply) {
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

func (c *clientConn) cancelContextWatch() {
	c.contextTimer.Stop()
	c.exchange.Store(nil)
}

// watchContext may come late, and then ties the next exchange early.
func (c *clientConn) watchContext() {
	if r := c.exchange.Load(); r != nil {
		r.watchContext()
	}
}

// sendRequest writes a request, on a connection that was used before only if that is as
// it was left: else it gives errStale. The first of the answer may be read with it.
// Where the other side does not take all of it at once, the rest is sent beside the
// reading: it may answer before it has read everything, or without ever doing so.
// The parts must stay as they are until finishWriting.
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

// sendOnIdle sends a request on an idle connection and reads the first of the answer. The
// error is that of sending; one of reading is found by who reads on.
func (c *clientConn) sendOnIdle(out []byte) (sent int, err error) {
	sent, n, err := c.socket.exchangeBytes(out, c.reader.buf)
	c.hasSent, c.reader.w = sent > 0, n
	if sent == len(out) {
		c.reader.readErr = err
		return sent, nil
	}
	return sent, err
}

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
	c.hasSent = true // it may be, from now on
	c.writeDone = make(chan error, 1)
	go func(done chan<- error) {
		_, err := all.WriteTo(c.Conn)
		done <- err
	}(c.writeDone)
	return nil
}

// finishWriting gives the request's parts back to their owner: what was not
// sent by now will not be.
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

// isUsable says whether an idle connection may be asked: its last answer has ended.
func (c *clientConn) isUsable() bool { return !c.restPending || c.drainArrived() }

// isSilent says whether an idle connection is as it was left. It does not wait.
func (c *clientConn) isSilent() bool {
	_, err := c.socket.readNow(c.probeByte[:])
	return err == errWouldBlock //nolint:errorlint // read gives it as it is
}

// isReusable says whether a connection can wait for its next request, or, when its
// answer is left, for the end of that.
func (c *clientConn) isReusable(leave bool) bool {
	if c.restPending = !c.reader.isComplete(); !c.restPending {
		return true
	}
	return leave && c.reader.kind != bodyUntilClose && (c.drainArrived() || c.reader.bodyErr == nil)
}

// drainArrived takes the rest of an answer that has arrived by now.
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

type socketReader struct{ raw *rawSocket }

func (r socketReader) Read(p []byte) (int, error) { return r.raw.readNow(p) }

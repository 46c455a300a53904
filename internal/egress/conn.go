package egress

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// errWouldWait says that a socket has nothing to read, or no room to write.
var errWouldWait = errors.New("the socket would have to be waited for")

// errStale says that an idle connection cannot take a request: the other side
// closed it, or said something on it that nobody asked for.
var errStale = errors.New("the connection was closed, or something unasked was said on it")

const (
	// oneWrite is up to where a request is sent in one piece. An idle socket has
	// room for it, so that sending never waits for the other side.
	oneWrite = 16 << 10
	// leaveFor is how long the rest of an answer may take that nobody waits for.
	leaveFor = 250 * time.Millisecond
	// tieAfter is how long an exchange runs before it is tied to the context of its
	// caller. Most are over by then, and a tie costs more than all else that is done
	// for them here.
	tieAfter = 20 * time.Millisecond
)

// conn is one HTTP/1.1 connection. It has no goroutine: whoever makes a request
// on it writes and reads by itself.
type conn struct {
	net.Conn
	raw *raw
	in  incoming
	out []byte // the request

	probe [1]byte

	sent    bool       // the socket has taken a byte of the request
	spoilt  bool       // not to be used again
	writing chan error // the rest of a large request is on its way; holds one

	until   time.Time // when idle: not to be used after this
	pending bool      // when idle: the rest of the last answer is still to come

	of   atomic.Pointer[Reply] // whose exchange this is
	late *time.Timer           // ties it
}

func newConn(c net.Conn) (*conn, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the connection is no socket")
	}
	r, err := newRaw(sc)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	nc := &conn{Conn: c, raw: r}
	nc.in.src = c
	return nc, nil
}

// watch ties an exchange to its context after a while, or at its deadline.
func (c *conn) watch(r *Reply) {
	wait := tieAfter
	if at, ok := r.ctx.Deadline(); ok {
		wait = min(wait, time.Until(at))
	}
	c.of.Store(r)
	if c.late == nil {
		c.late = time.AfterFunc(wait, c.tie)
		return
	}
	c.late.Reset(wait)
}

func (c *conn) unwatch() {
	c.late.Stop()
	c.of.Store(nil)
}

// tie may come late, and then ties the next exchange early.
func (c *conn) tie() {
	if r := c.of.Load(); r != nil {
		r.tie()
	}
}

// send writes a request, on a connection that was used before only if that is as
// it was left: else it gives errStale. The first of the answer may be read with it.
// Where the other side does not take all of it at once, the rest is sent beside the
// reading: it may answer before it has read everything, or without ever doing so.
// The parts must stay as they are until finishWriting.
func (c *conn) send(q *request, reused bool) error {
	c.sent, c.writing = false, nil
	c.out = q.appendHead(c.out[:0])
	parts := q.parts
	for len(parts) > 0 && len(c.out) < oneWrite {
		room := oneWrite - len(c.out)
		if len(parts[0]) <= room {
			c.out = append(c.out, parts[0]...)
			parts = parts[1:]
			continue
		}
		c.out = append(c.out, parts[0][:room]...)
		rest := parts[0][room:]
		return c.sendLarge(reused, rest, parts[1:])
	}
	if len(parts) > 0 {
		return c.sendLarge(reused, nil, parts)
	}
	out := c.out
	if reused {
		n, err := c.ask(out)
		if out = out[n:]; err != nil || len(out) == 0 {
			return err
		}
	}
	n, err := c.Write(out)
	c.sent = c.sent || n > 0
	return err
}

// ask sends a request on an idle connection and reads the first of the answer. The
// error is that of sending; one of reading is found by who reads on.
func (c *conn) ask(out []byte) (sent int, err error) {
	sent, n, err := c.raw.ask(out, c.in.buf)
	c.sent, c.in.w = sent > 0, n
	if sent == len(out) {
		c.in.failed = err
		return sent, nil
	}
	return sent, err
}

func (c *conn) sendLarge(reused bool, rest []byte, parts [][]byte) error {
	if reused && !c.silent() {
		return errStale
	}
	all := append(net.Buffers{c.out, rest}, parts...)
	for len(all) > 0 {
		if len(all[0]) == 0 {
			all = all[1:]
			continue
		}
		n, err := c.raw.write(all[0])
		c.sent = c.sent || n > 0
		all[0] = all[0][n:]
		if errors.Is(err, errWouldWait) {
			break
		}
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	c.sent = true // it may be, from now on
	c.writing = make(chan error, 1)
	go func(done chan<- error) {
		_, err := all.WriteTo(c.Conn)
		done <- err
	}(c.writing)
	return nil
}

// finishWriting gives the request's parts back to their owner: what was not
// sent by now will not be.
func (c *conn) finishWriting() {
	if c.writing == nil {
		return
	}
	select {
	case err := <-c.writing:
		c.spoilt = c.spoilt || err != nil
	default:
		c.spoilt = true
		_ = c.Close()
		<-c.writing
	}
	c.writing = nil
}

// usable says whether an idle connection may be asked: its last answer has ended.
func (c *conn) usable() bool { return !c.pending || c.settle() }

// silent says whether an idle connection is as it was left. It does not wait.
func (c *conn) silent() bool {
	_, err := c.raw.read(c.probe[:])
	return err == errWouldWait //nolint:errorlint // read gives it as it is
}

// ready says whether a connection can wait for its next request, or, when its
// answer is left, for the end of that.
func (c *conn) ready(leave bool) bool {
	if c.pending = !c.in.done(); !c.pending {
		return true
	}
	return leave && c.in.kind != bodyToEnd && (c.settle() || c.in.err == nil)
}

// settle takes the rest of an answer that has arrived by now.
func (c *conn) settle() bool {
	c.in.src = rawReader{c.raw}
	defer func() { c.in.src = c.Conn }()
	for waste := c.out[:cap(c.out)]; ; {
		if _, err := c.in.readBody(waste); err != nil {
			break
		}
	}
	if c.in.done() {
		c.pending = false
		return true
	}
	return false
}

type rawReader struct{ raw *raw }

func (r rawReader) Read(p []byte) (int, error) { return r.raw.read(p) }

package entrance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// firstBuffer is what a connection has to read into: enough for a call of the
// usual size with its head, little enough for many idle connections.
const firstBuffer = 4 << 10

// lingerFor is how long a connection that ends while its client still sends
// stays open, so that the client can read the answer.
const lingerFor = 500 * time.Millisecond

// A connection is in one of these phases. The goroutine that serves it moves on
// by compare-and-swap, and so does whoever ends it: a request is either begun, or
// its connection was closed before.
const (
	waiting uint64 = iota // for the next request
	reading               // a head of which the end has not come
	running               // a request
	closed
	phases
)

// conn is one connection. Its own goroutine reads, and runs the handler.
type conn struct {
	s     *Server
	nc    *net.TCPConn
	raw   syscall.RawConn
	state atomic.Uint64 // the phase, and above it the number of requests answered
	now   atomic.Pointer[turn]
	watch watched

	ctx  context.Context
	buf  []byte
	r, w int // what of buf is unread

	head head         // of the last plain request
	last []byte       // its bytes: most clients send the same again
	like http.Request // and what it gave, but for the body
	url  *url.URL
}

func newConn(s *Server, nc net.Conn) (*conn, error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctx := context.WithValue(context.WithValue(context.Background(), http.ServerContextKey, s.http), http.LocalAddrContextKey, nc.LocalAddr())
	return &conn{
		s: s, nc: tcp, raw: raw, ctx: ctx, buf: make([]byte, firstBuffer),
		like: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: nc.RemoteAddr().String()},
	}, nil
}

// to moves the connection to a phase; false when it was closed meanwhile.
func (c *conn) to(phase uint64) bool {
	was := c.state.Load()
	next := was - was%phases + phase
	if phase == waiting {
		next += phases
	}
	return was%phases != closed && c.state.CompareAndSwap(was, next)
}

// closeIdle closes the connection unless a request runs.
func (c *conn) closeIdle() {
	for {
		was := c.state.Load()
		if p := was % phases; p == running || p == closed {
			return
		}
		if c.closeAs(was) {
			return
		}
	}
}

// closeAs closes the connection if it is as it was seen.
func (c *conn) closeAs(was uint64) bool {
	if !c.state.CompareAndSwap(was, was-was%phases+closed) {
		return false
	}
	_ = c.nc.Close()
	return true
}

// cut ends the connection and what runs on it.
func (c *conn) cut() {
	c.state.Store(closed)
	_ = c.nc.Close() // first: what ends by the context has nothing to say any more
	if t := c.now.Load(); t != nil {
		t.cancel()
	}
}

// serve answers one request after the other.
func (c *conn) serve() {
	defer c.s.forget(c)
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
				c.s.log.Error("a handler panicked", telemetry.Panic(p))
			}
			c.cut()
		}
	}()
	for {
		ours, err := c.next()
		if err != nil {
			_ = c.nc.Close()
			return
		}
		if !ours {
			c.giveAway()
			return
		}
		t := c.begin()
		c.now.Store(t) // first: who cuts the connection finds it there
		if !c.to(running) {
			t.cancel()
			return
		}
		c.s.stir()
		c.s.http.Handler.ServeHTTP(t, t.request)
		c.holdShared()
		t.cancel()
		again := t.finish()
		c.now.Store(nil)
		if !again {
			c.end(t)
			return
		}
		if !c.to(waiting) {
			return
		}
	}
}

// next reads until there is a plain head at the beginning of what is unread, or
// something that is not ours.
func (c *conn) next() (ours bool, err error) {
	behind := c.state.Load()/phases > 0
	for {
		// Behind a POST net/http waits for four bytes, and leaves out line ends
		// among them, which old clients send.
		if behind && c.w-c.r >= 4 {
			behind = false
			for end := c.r + 4; c.r < end && (c.buf[c.r] == '\r' || c.buf[c.r] == '\n'); {
				c.r++
			}
		}
		if c.r < c.w && !behind {
			switch c.judge() {
			case plain:
				return true, nil
			case other:
				return false, nil
			case more:
				if c.w-c.r >= c.s.http.MaxHeaderBytes {
					return false, nil // net/http says how that is answered
				}
			}
			if c.state.Load()%phases == waiting && !c.to(reading) {
				return false, net.ErrClosed
			}
		}
		c.room()
		n, err := c.nc.Read(c.buf[c.w:])
		c.w += n
		if err != nil {
			if errors.Is(err, io.EOF) && c.r < c.w && !behind {
				return false, nil // half a request: net/http has an answer
			}
			return false, err
		}
	}
}

// room makes room behind what is unread.
func (c *conn) room() {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
		if len(c.buf) > firstBuffer {
			c.buf = make([]byte, firstBuffer)
		}
	case c.w == len(c.buf):
		to := c.buf
		if c.r < len(c.buf)/2 {
			to = make([]byte, min(2*len(c.buf), max(len(c.buf)+1, c.s.http.MaxHeaderBytes)))
		}
		c.w = copy(to, c.buf[c.r:c.w])
		c.buf, c.r = to, 0
	}
}

// judge reads the head of what is unread into c. One that is the same as before
// is not read again: the requests share what it gave, which no handler changes
// (holdShared).
func (c *conn) judge() verdict {
	b := c.buf[c.r:c.w]
	if n := len(c.last); n > 0 && len(b) >= n && bytes.Equal(b[:n], c.last) {
		return plain
	}
	c.last = c.last[:0]
	if v := c.head.judge(b); v != plain {
		return v
	}
	b = b[:c.head.size]
	target := string(b[c.head.target.from:c.head.target.to])
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		return other
	}
	c.url, c.last = u, append(c.last, b...)
	c.like.RequestURI, c.like.ContentLength, c.like.Close = target, c.head.length, c.head.close
	c.like.Host, c.like.Header = c.head.header(b)
	return plain
}

// begin makes the turn of the request that is unread.
func (c *conn) begin() *turn {
	c.r += c.head.size
	t := &turn{c: c, url: *c.url, length: -1, close: c.head.close}
	ctx, cancel := context.WithCancel(c.ctx)
	t.cancel = cancel
	t.request = c.like.WithContext(ctx)
	t.request.URL = &t.url
	t.request.Body = http.NoBody
	if n := c.head.length; n > 0 {
		t.body = body{c: c, left: n, whole: n <= int64(c.w-c.r)}
		t.request.Body = &t.body
	}
	return t
}

// giveAway leaves the connection to net/http, with all that was read of the
// request that is not ours.
func (c *conn) giveAway() {
	if !c.to(running) { // nobody closes it as idle any more
		return
	}
	c.s.over.give(&framedConn{
		Conn:    &begun{Conn: c.nc, bytes: append([]byte(nil), c.buf[c.r:c.w]...)},
		maxHead: c.s.http.MaxHeaderBytes,
	})
}

// end closes the connection behind an answer. While the client still sends, a
// close would take from it what it has not read.
func (c *conn) end(t *turn) {
	if t.body.left > 0 && !t.body.whole && c.nc.CloseWrite() == nil {
		_ = c.nc.SetReadDeadline(time.Now().Add(lingerFor))
		_, _ = io.Copy(io.Discard, c.nc)
	}
	_ = c.nc.Close()
}

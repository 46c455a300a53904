package httpfast

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

// firstBufferSize is what a connection has to read into: enough for a call of the
// usual size with its head, little enough for many idle connections.
const firstBufferSize = 4 << 10

// lingerTimeout is how long a connection that ends while its client still sends
// stays open, so that the client can read the answer.
const lingerTimeout = 500 * time.Millisecond

// A connection is in one of these phases. The goroutine that serves it moves on
// by compare-and-swap, and so does whoever ends it: a request is either begun, or
// its connection was closed before.
const (
	phaseWaiting uint64 = iota // for the next request
	phaseReading               // a head of which the end has not come
	phaseRunning               // a request
	phaseClosed
	phaseCount
)

// serverConn is one connection. Its own goroutine reads, and runs the handler.
type serverConn struct {
	server  *Server
	tcp     *net.TCPConn
	rawConn syscall.RawConn
	state   atomic.Uint64 // the phase, and above it the number of requests answered
	current atomic.Pointer[responseWriter]
	watched watchState

	ctx  context.Context
	buf  []byte
	r, w int // what of buf is unread

	head     requestHead  // of the last plain request
	lastHead []byte       // its bytes: most clients send the same again
	template http.Request // and what it gave, but for the body
	url      *url.URL
}

func newServerConn(s *Server, nc net.Conn) (*serverConn, error) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctx := context.WithValue(context.WithValue(context.Background(), http.ServerContextKey, s.httpServer), http.LocalAddrContextKey, nc.LocalAddr())
	return &serverConn{
		server: s, tcp: tcp, rawConn: raw, ctx: ctx, buf: make([]byte, firstBufferSize),
		template: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: nc.RemoteAddr().String()},
	}, nil
}

// moveTo moves the connection to a phase; false when it was closed meanwhile.
func (c *serverConn) moveTo(phase uint64) bool {
	was := c.state.Load()
	next := was - was%phaseCount + phase
	if phase == phaseWaiting {
		next += phaseCount
	}
	return was%phaseCount != phaseClosed && c.state.CompareAndSwap(was, next)
}

// closeUnlessRunning closes the connection unless a request runs.
func (c *serverConn) closeUnlessRunning() {
	for {
		was := c.state.Load()
		if p := was % phaseCount; p == phaseRunning || p == phaseClosed {
			return
		}
		if c.closeIfUnchanged(was) {
			return
		}
	}
}

// closeIfUnchanged closes the connection if it is as it was seen.
func (c *serverConn) closeIfUnchanged(was uint64) bool {
	if !c.state.CompareAndSwap(was, was-was%phaseCount+phaseClosed) {
		return false
	}
	_ = c.tcp.Close()
	return true
}

// abort ends the connection and what runs on it.
func (c *serverConn) abort() {
	c.state.Store(phaseClosed)
	_ = c.tcp.Close() // first: what ends by the context has nothing to say any more
	if t := c.current.Load(); t != nil {
		t.cancel()
	}
}

// serveRequests answers one request after the other.
func (c *serverConn) serveRequests() {
	defer c.server.removeConn(c)
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
				c.server.log.Error("a handler panicked", telemetry.Panic(p))
			}
			c.abort()
		}
	}()
	for {
		ours, err := c.readNextHead()
		if err != nil {
			_ = c.tcp.Close()
			return
		}
		if !ours {
			c.handToNetHTTP()
			return
		}
		t := c.beginRequest()
		c.current.Store(t) // first: who cuts the connection finds it there
		if !c.moveTo(phaseRunning) {
			t.cancel()
			return
		}
		c.server.wakeWatcherIfAsleep()
		c.server.httpServer.Handler.ServeHTTP(t, t.request)
		c.checkSharedHeader()
		t.cancel()
		again := t.finishResponse()
		c.current.Store(nil)
		if !again {
			c.closeAfterResponse(t)
			return
		}
		if !c.moveTo(phaseWaiting) {
			return
		}
	}
}

// readNextHead reads until there is a plain head at the beginning of what is unread, or
// something that is not ours.
func (c *serverConn) readNextHead() (ours bool, err error) {
	behind := c.state.Load()/phaseCount > 0
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
			switch c.parseHead() {
			case headPlain:
				return true, nil
			case headForNetHTTP:
				return false, nil
			case headIncomplete:
				if c.w-c.r >= c.server.httpServer.MaxHeaderBytes {
					return false, nil // net/http says how that is answered
				}
			}
			if c.state.Load()%phaseCount == phaseWaiting && !c.moveTo(phaseReading) {
				return false, net.ErrClosed
			}
		}
		c.makeRoom()
		n, err := c.tcp.Read(c.buf[c.w:])
		c.w += n
		if err != nil {
			if errors.Is(err, io.EOF) && c.r < c.w && !behind {
				return false, nil // half a request: net/http has an answer
			}
			return false, err
		}
	}
}

// makeRoom makes room behind what is unread.
func (c *serverConn) makeRoom() {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
		if len(c.buf) > firstBufferSize {
			c.buf = make([]byte, firstBufferSize)
		}
	case c.w == len(c.buf):
		to := c.buf
		if c.r < len(c.buf)/2 {
			to = make([]byte, min(2*len(c.buf), max(len(c.buf)+1, c.server.httpServer.MaxHeaderBytes)))
		}
		c.w = copy(to, c.buf[c.r:c.w])
		c.buf, c.r = to, 0
	}
}

// parseHead reads the head of what is unread into c. One that is the same as before
// is not read again: the requests share what it gave, which no handler changes
// (holdShared).
func (c *serverConn) parseHead() headVerdict {
	b := c.buf[c.r:c.w]
	if n := len(c.lastHead); n > 0 && len(b) >= n && bytes.Equal(b[:n], c.lastHead) {
		return headPlain
	}
	c.lastHead = c.lastHead[:0]
	if v := c.head.parse(b); v != headPlain {
		return v
	}
	b = b[:c.head.size]
	target := string(b[c.head.target.from:c.head.target.to])
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		return headForNetHTTP
	}
	c.url, c.lastHead = u, append(c.lastHead, b...)
	c.template.RequestURI, c.template.ContentLength, c.template.Close = target, c.head.length, c.head.close
	c.template.Host, c.template.Header = c.head.buildHeader(b)
	return headPlain
}

// beginRequest makes the turn of the request that is unread.
func (c *serverConn) beginRequest() *responseWriter {
	c.r += c.head.size
	t := &responseWriter{conn: c, url: *c.url, declaredLength: -1, closeAfter: c.head.close}
	ctx, cancel := context.WithCancel(c.ctx)
	t.cancel = cancel
	t.request = c.template.WithContext(ctx)
	t.request.URL = &t.url
	t.request.Body = http.NoBody
	if n := c.head.length; n > 0 {
		t.body = requestBody{conn: c, remaining: n, isBuffered: n <= int64(c.w-c.r)}
		t.request.Body = &t.body
	}
	return t
}

// handToNetHTTP leaves the connection to net/http, with all that was read of the
// request that is not ours.
func (c *serverConn) handToNetHTTP() {
	if !c.moveTo(phaseRunning) { // nobody closes it as idle any more
		return
	}
	c.server.handover.deliver(&framingConn{
		Conn:    &prefixedConn{Conn: c.tcp, prefix: append([]byte(nil), c.buf[c.r:c.w]...)},
		maxHead: c.server.httpServer.MaxHeaderBytes,
	})
}

// closeAfterResponse closes the connection behind an answer. While the client still sends, a
// close would take from it what it has not read.
func (c *serverConn) closeAfterResponse(t *responseWriter) {
	if t.body.remaining > 0 && !t.body.isBuffered && c.tcp.CloseWrite() == nil {
		_ = c.tcp.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.Copy(io.Discard, c.tcp)
	}
	_ = c.tcp.Close()
}

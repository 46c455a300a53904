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
)

// lingerTimeout is how long a connection stays open for reading when the server
// ends it while the client still sends. A close with unread bytes resets the
// connection, and the client would lose the response.
const lingerTimeout = 500 * time.Millisecond

// A connection is in one of these phases. The goroutine that serves the connection
// changes the phase by compare-and-swap, and so does every goroutine that wants to
// close it. So a request either begins and gets its response, or its connection was
// closed before it began.
const (
	phaseWaiting uint64 = iota // for the first byte of the next request
	phaseReading               // the head of a request is incomplete
	phaseRunning               // the handler runs, or net/http has the connection
	phaseClosed
	phaseCount
)

// serverConn is one connection of the fast path. One goroutine reads requests from
// it and runs the handler; the watcher and Shutdown touch only the atomic fields.
type serverConn struct {
	server  *Server
	tcp     *net.TCPConn
	rawConn syscall.RawConn
	state   atomic.Uint64                  // phase + phaseCount * number of requests answered
	current atomic.Pointer[responseWriter] // of the request that runs
	watched watchState

	ctx  context.Context
	buf  []byte
	r, w int // buf[r:w] is unread

	head     requestHead  // of the last plain request
	lastHead []byte       // its bytes: most clients send the same head again
	template http.Request // the request made from it, without body and context
	url      *url.URL
}

// newServerConn prepares a connection. It fails with errors.ErrUnsupported if nc is
// not a TCP connection.
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

// moveTo changes the phase. It returns false if the connection was closed meanwhile.
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

// closeIfUnchanged closes the connection if its state is still the given one.
func (c *serverConn) closeIfUnchanged(was uint64) bool {
	if !c.state.CompareAndSwap(was, was-was%phaseCount+phaseClosed) {
		return false
	}
	_ = c.tcp.Close()
	return true
}

// abort closes the connection and cancels the request that runs on it.
func (c *serverConn) abort() {
	c.state.Store(phaseClosed)
	_ = c.tcp.Close() // before cancel: a handler that ends by its context must not send a response
	if t := c.current.Load(); t != nil {
		t.cancel()
	}
}

// serveRequests serves one request after the other, until the connection ends or
// goes to net/http.
func (c *serverConn) serveRequests() {
	defer c.server.removeConn(c)
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
				c.server.events.OnHandlerPanic(p)
			}
			c.abort()
		}
	}()
	for {
		isPlain, err := c.readNextHead()
		if err != nil {
			_ = c.tcp.Close()
			return
		}
		if !isPlain {
			c.handToNetHTTP()
			return
		}
		t := c.beginRequest()
		c.current.Store(t) // before moveTo: abort must find it
		if !c.moveTo(phaseRunning) {
			t.cancel()
			return
		}
		c.server.wakeWatcherIfAsleep()
		c.server.httpServer.Handler.ServeHTTP(t, t.request)
		c.checkSharedHeader()
		t.cancel()
		reusable := t.finishResponse()
		c.current.Store(nil)
		if !reusable {
			c.closeAfterResponse(t)
			return
		}
		if !c.moveTo(phaseWaiting) {
			return
		}
	}
}

// readNextHead reads until the unread bytes begin with the complete head of a plain
// request (true) or with something that net/http has to read (false).
func (c *serverConn) readNextHead() (isPlain bool, err error) {
	afterRequest := c.state.Load()/phaseCount > 0
	for {
		// After a POST, net/http waits for four bytes and skips line ends among
		// them, which old clients send.
		if afterRequest && c.w-c.r >= 4 {
			afterRequest = false
			for end := c.r + 4; c.r < end && (c.buf[c.r] == '\r' || c.buf[c.r] == '\n'); {
				c.r++
			}
		}
		if c.r < c.w && !afterRequest {
			switch c.parseHead() {
			case headPlain:
				return true, nil
			case headForNetHTTP:
				return false, nil
			case headIncomplete:
				if c.w-c.r >= c.server.httpServer.MaxHeaderBytes {
					return false, nil // net/http answers 431
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
			if errors.Is(err, io.EOF) && c.r < c.w && !afterRequest {
				return false, nil // half a request: net/http answers it
			}
			return false, err
		}
	}
}

// makeRoom makes room in buf after the unread bytes. An idle connection goes back to
// the small buffer.
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

// parseHead parses the head at the beginning of the unread bytes. A head that is the
// same to the byte as the one before is not parsed again: the requests share its
// http.Header, which no handler may change (checkSharedHeader).
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

// beginRequest makes the request whose head parseHead has just accepted, and the
// writer of its response.
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

// handToNetHTTP gives the connection to net/http, with all bytes of the request that
// is not plain.
func (c *serverConn) handToNetHTTP() {
	if !c.moveTo(phaseRunning) { // so nobody closes it as idle
		return
	}
	c.server.handover.deliver(&framingConn{
		Conn:    &prefixedConn{Conn: c.tcp, prefix: append([]byte(nil), c.buf[c.r:c.w]...)},
		maxHead: c.server.httpServer.MaxHeaderBytes,
	})
}

// closeAfterResponse closes the connection after its last response. If the client
// still sends, it closes the sending direction first and lingers (lingerTimeout).
func (c *serverConn) closeAfterResponse(t *responseWriter) {
	if t.body.remaining > 0 && !t.body.isBuffered && c.tcp.CloseWrite() == nil {
		_ = c.tcp.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.Copy(io.Discard, c.tcp)
	}
	_ = c.tcp.Close()
}

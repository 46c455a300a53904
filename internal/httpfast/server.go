package httpfast

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Accepting starts again after a failure, such as a lack of file descriptors, with
// a delay that doubles between these bounds.
const (
	minAcceptDelay = 5 * time.Millisecond
	maxAcceptDelay = time.Second
)

// shutdownPoll is how often Shutdown looks for connections that became idle.
const shutdownPoll = 5 * time.Millisecond

// Server serves a listener: plain requests itself, the rest by net/http. It is used
// like an http.Server: Serve, then Shutdown, then Close if Shutdown failed.
type Server struct {
	httpServer *http.Server
	events     ServerEvents
	handover   *handoverListener
	buffers    sync.Pool // of *responseBuffer
	date       atomic.Pointer[dateHeader]

	stopping      chan struct{} // closed by closeStopping
	closeStopping func()
	isStopping    atomic.Bool // from now on each response closes its connection

	watcherAsleep atomic.Bool // see conn_watcher.go
	wakeWatcher   chan struct{}

	mu       sync.Mutex
	listener net.Listener
	conns    map[*serverConn]struct{} // those that net/http does not have
}

// ServerEvents receives the failures that a Server survives. Both functions are
// required. They are called on the goroutine that failed, so OnHandlerPanic can
// take its stack.
type ServerEvents struct {
	OnAcceptError  func(err error) // accepting failed and is tried again
	OnHandlerPanic func(value any) // any panic but http.ErrAbortHandler
}

// NewServer makes a Server in front of s. It takes from s the handler, the time
// limits for heads and idle connections, and the size limit of heads. s must have
// all of them, and must have neither ConnState, ConnContext nor BaseContext: those
// hooks would see only the connections that net/http gets.
func NewServer(s *http.Server, events ServerEvents) *Server {
	e := &Server{httpServer: s, events: events, stopping: make(chan struct{}), wakeWatcher: make(chan struct{}, 1), conns: map[*serverConn]struct{}{}}
	e.closeStopping = sync.OnceFunc(func() { close(e.stopping) })
	e.handover = &handoverListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	e.handover.close = sync.OnceFunc(func() { close(e.handover.closed) })
	e.buffers.New = func() any { return &responseBuffer{} }
	return e
}

// Serve accepts connections until Shutdown or Close, and then returns
// http.ErrServerClosed. On systems where a socket cannot be peeked at, net/http
// serves all of them.
func (s *Server) Serve(l net.Listener) error {
	if !canPeek {
		return s.httpServer.Serve(NewFramingListener(l, s.httpServer.MaxHeaderBytes))
	}
	s.mu.Lock()
	s.listener, s.handover.addr = l, l.Addr()
	s.mu.Unlock()
	if s.isStopping.Load() {
		_ = l.Close()
		return http.ErrServerClosed
	}
	go func() { _ = s.httpServer.Serve(s.handover) }() // it ends when handover is closed
	go s.watchConns()
	for delay := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			delay = 0
			s.startConn(nc)
			continue
		}
		if s.isStopping.Load() {
			return http.ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		delay = min(max(2*delay, minAcceptDelay), maxAcceptDelay)
		s.events.OnAcceptError(err)
		select {
		case <-time.After(delay):
		case <-s.stopping:
		}
	}
}

// startConn begins to serve a connection. One that is no TCP socket goes to
// net/http.
func (s *Server) startConn(nc net.Conn) {
	c, err := newServerConn(s, nc)
	if err != nil {
		s.handover.deliver(&framingConn{Conn: nc, maxHead: s.httpServer.MaxHeaderBytes})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping.Load() {
		_ = nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	go c.serveRequests()
}

func (s *Server) removeConn(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Shutdown accepts no more connections, closes the idle ones, and waits for the
// responses of the others until ctx ends. It returns the error of ctx then.
func (s *Server) Shutdown(ctx context.Context) error {
	// From here on every response closes its connection. Without this a client could
	// get a response that keeps it and lose the next request to the shutdown.
	s.httpServer.SetKeepAlivesEnabled(false)
	err := s.stopAccepting()
	theirs := make(chan error, 1)
	go func() { theirs <- s.httpServer.Shutdown(ctx) }()
	poll := time.NewTicker(shutdownPoll)
	defer poll.Stop()
	for {
		all := s.listConns()
		for _, c := range all {
			c.closeUnlessRunning()
		}
		if len(all) == 0 {
			return errors.Join(err, <-theirs)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// Close closes the listener and every connection, and cancels the requests that
// run. It does not wait for their handlers.
func (s *Server) Close() error {
	err := s.stopAccepting()
	for _, c := range s.listConns() {
		c.abort()
	}
	return errors.Join(err, s.httpServer.Close())
}

// stopAccepting closes the listeners. Open connections stay.
func (s *Server) stopAccepting() error {
	s.isStopping.Store(true)
	s.closeStopping()
	s.handover.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (s *Server) listConns() []*serverConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*serverConn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// dateHeader is the value of the Date header during one second. Formatting it for
// each response would be a measurable part of a call.
type dateHeader struct {
	second int64
	text   []byte
}

func (s *Server) appendDate(b []byte) []byte {
	now := time.Now()
	d := s.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &dateHeader{second: now.Unix(), text: now.UTC().AppendFormat(nil, http.TimeFormat)}
		s.date.Store(d)
	}
	return append(b, d.text...)
}

// handoverListener is the listener from which net/http accepts the connections
// that the fast path does not serve.
type handoverListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	addr   net.Addr
}

// Accept implements net.Listener.
func (h *handoverListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handoverListener) Close() error { h.close(); return nil }

// Addr gives the address of the real listener.
func (h *handoverListener) Addr() net.Addr { return h.addr }

// deliver gives a connection to net/http. If the listener is closed, the connection
// is closed too.
func (h *handoverListener) deliver(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// prefixedConn is a connection from which some bytes were read already: Read gives
// them first.
type prefixedConn struct {
	net.Conn
	prefix []byte
}

// Read implements net.Conn.
func (b *prefixedConn) Read(p []byte) (int, error) {
	if len(b.prefix) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.prefix)
	if b.prefix = b.prefix[n:]; len(b.prefix) == 0 {
		b.prefix = nil
	}
	return n, nil
}

// CloseWrite closes the sending direction. net/http does so before it closes a
// connection on which the client still sends, so that the client gets the response.
func (b *prefixedConn) CloseWrite() error { return closeWrite(b.Conn) }

// closeWrite is CloseWrite of a connection that has it, and nothing for others.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

package httpfast

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Server serves a listener: plain requests itself, the rest by net/http. It is
// used as an http.Server is: Serve, then Shutdown and perhaps Close.
type Server struct {
	httpServer   *http.Server
	log          *slog.Logger
	handover     *handoverListener
	buffers      sync.Pool // of *page
	date         atomic.Pointer[dateHeader]
	stopping     chan struct{} // closed by Shutdown and Close
	closeStopped func()
	isStopping   atomic.Bool // answers say that the connection ends

	watcherAsleep atomic.Bool // the watcher is, see watch.go
	wakeWatcher   chan struct{}

	mu       sync.Mutex
	listener net.Listener
	conns    map[*serverConn]struct{}
}

// New makes a Server before s, of which it takes the handler, the time limits for
// heads and idle connections, and the size limit of heads. s must have them, and
// none of the hooks for connections and contexts.
func New(s *http.Server, log *slog.Logger) *Server {
	e := &Server{httpServer: s, log: log, stopping: make(chan struct{}), wakeWatcher: make(chan struct{}, 1), conns: map[*serverConn]struct{}{}}
	e.closeStopped = sync.OnceFunc(func() { close(e.stopping) })
	e.handover = &handoverListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	e.handover.close = sync.OnceFunc(func() { close(e.handover.closed) })
	e.buffers.New = func() any { return &responseBuffer{} }
	return e
}

// Serve takes connections until Shutdown or Close, and returns
// http.ErrServerClosed then.
func (s *Server) Serve(l net.Listener) error {
	if !canPeek {
		return s.httpServer.Serve(FramedListener(l, s.httpServer.MaxHeaderBytes))
	}
	s.mu.Lock()
	s.listener, s.handover.addr = l, l.Addr()
	s.mu.Unlock()
	if s.isStopping.Load() {
		_ = l.Close()
		return http.ErrServerClosed
	}
	go func() { _ = s.httpServer.Serve(s.handover) }() // it ends when over does
	go s.watchConns()
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.startConn(nc)
			continue
		}
		if s.isStopping.Load() {
			return http.ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second) // out of descriptors, say
		s.log.Warn("a connection could not be taken; trying again", telemetry.Err(err))
		select {
		case <-time.After(pause):
		case <-s.stopping:
		}
	}
}

// startConn begins to serve a connection.
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

// Shutdown takes no more connections, closes those on which nothing is asked,
// and waits for the answers of the others until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	// From here on every answer closes its connection. Without this a client could get
	// an answer that keeps it and lose the next request to the shutdown.
	s.httpServer.SetKeepAlivesEnabled(false)
	err := s.stopAccepting()
	theirs := make(chan error, 1)
	go func() { theirs <- s.httpServer.Shutdown(ctx) }()
	poll := time.NewTicker(5 * time.Millisecond)
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

// Close cuts every connection.
func (s *Server) Close() error {
	err := s.stopAccepting()
	for _, c := range s.listConns() {
		c.abort()
	}
	return errors.Join(err, s.httpServer.Close())
}

func (s *Server) stopAccepting() error {
	s.isStopping.Store(true)
	s.closeStopped()
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

// dateHeader is the text of a Date header, for one second.
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

// handoverListener is the listener from which net/http takes the connections that are
// not for us.
type handoverListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	addr   net.Addr
}

// Accept gives a connection that was handed over.
func (h *handoverListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handoverListener) Close() error { h.close(); return nil }

// Addr is that of the listener before.
func (h *handoverListener) Addr() net.Addr { return h.addr }

// deliver hands a connection over; once closed, it is cut.
func (h *handoverListener) deliver(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// prefixedConn is a connection of which bytes were read already.
type prefixedConn struct {
	net.Conn
	prefix []byte
}

// Read gives what was read before, then what comes.
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

// CloseWrite ends our half: net/http does so where a client still sends.
func (b *prefixedConn) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

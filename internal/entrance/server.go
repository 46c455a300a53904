package entrance

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
	http    *http.Server
	log     *slog.Logger
	over    *handover
	pages   sync.Pool // of *page
	date    atomic.Pointer[date]
	ended   chan struct{} // closed by Shutdown and Close
	ending  func()
	stopped atomic.Bool // answers say that the connection ends

	asleep atomic.Bool // the watcher is, see watch.go
	wake   chan struct{}

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
}

// New makes a Server before s, of which it takes the handler, the time limits for
// heads and idle connections, and the size limit of heads. s must have them, and
// none of the hooks for connections and contexts.
func New(s *http.Server, log *slog.Logger) *Server {
	e := &Server{http: s, log: log, ended: make(chan struct{}), wake: make(chan struct{}, 1), conns: map[*conn]struct{}{}}
	e.ending = sync.OnceFunc(func() { close(e.ended) })
	e.over = &handover{conns: make(chan net.Conn), closed: make(chan struct{})}
	e.over.close = sync.OnceFunc(func() { close(e.over.closed) })
	e.pages.New = func() any { return &page{} }
	return e
}

// Serve takes connections until Shutdown or Close, and returns
// http.ErrServerClosed then.
func (s *Server) Serve(l net.Listener) error {
	if !canPeek {
		return s.http.Serve(FramedListener(l, s.http.MaxHeaderBytes))
	}
	s.mu.Lock()
	s.listener, s.over.addr = l, l.Addr()
	s.mu.Unlock()
	if s.stopped.Load() {
		_ = l.Close()
		return http.ErrServerClosed
	}
	go func() { _ = s.http.Serve(s.over) }() // it ends when over does
	go s.watch()
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.take(nc)
			continue
		}
		if s.stopped.Load() {
			return http.ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second) // out of descriptors, say
		s.log.Warn("a connection could not be taken; trying again", telemetry.Err(err))
		select {
		case <-time.After(pause):
		case <-s.ended:
		}
	}
}

// take begins to serve a connection.
func (s *Server) take(nc net.Conn) {
	c, err := newConn(s, nc)
	if err != nil {
		s.over.give(&framedConn{Conn: nc, maxHead: s.http.MaxHeaderBytes})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() {
		_ = nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	go c.serve()
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Shutdown takes no more connections, closes those on which nothing is asked,
// and waits for the answers of the others until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	// From here on every answer closes its connection. Without this a client could get
	// an answer that keeps it and lose the next request to the shutdown.
	s.http.SetKeepAlivesEnabled(false)
	err := s.stop()
	theirs := make(chan error, 1)
	go func() { theirs <- s.http.Shutdown(ctx) }()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		all := s.all()
		for _, c := range all {
			c.closeIdle()
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
	err := s.stop()
	for _, c := range s.all() {
		c.cut()
	}
	return errors.Join(err, s.http.Close())
}

func (s *Server) stop() error {
	s.stopped.Store(true)
	s.ending()
	s.over.close()
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

func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// date is the text of a Date header, for one second.
type date struct {
	second int64
	text   []byte
}

func (s *Server) appendDate(b []byte) []byte {
	now := time.Now()
	d := s.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &date{second: now.Unix(), text: now.UTC().AppendFormat(nil, http.TimeFormat)}
		s.date.Store(d)
	}
	return append(b, d.text...)
}

// handover is the listener from which net/http takes the connections that are
// not for us.
type handover struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	addr   net.Addr
}

// Accept gives a connection that was handed over.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handover) Close() error { h.close(); return nil }

// Addr is that of the listener before.
func (h *handover) Addr() net.Addr { return h.addr }

// give hands a connection over; once closed, it is cut.
func (h *handover) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// begun is a connection of which bytes were read already.
type begun struct {
	net.Conn
	bytes []byte
}

// Read gives what was read before, then what comes.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.bytes) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.bytes)
	if b.bytes = b.bytes[n:]; len(b.bytes) == 0 {
		b.bytes = nil
	}
	return n, nil
}

// CloseWrite ends our half: net/http does so where a client still sends.
func (b *begun) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

package httpfast

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeTLS serves a listener with the certificate of s.TLSConfig, as
// http.Server.ServeTLS does. It refuses HTTP/1 requests with ambiguous framing as
// NewFramingListener does. It wraps the Handler of s and sets its ConnContext, which
// must be nil before.
func ServeTLS(s *http.Server, l net.Listener) error {
	config := s.TLSConfig.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	s.TLSConfig = config
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if state, ok := r.Context().Value(tlsStateKey{}).(*tls.ConnectionState); ok {
			r.TLS = state
		}
		next.ServeHTTP(w, r)
	})
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(*tlsFramingConn); ok {
			return context.WithValue(ctx, tlsStateKey{}, &t.state)
		}
		return ctx
	}
	t := &tlsListener{Listener: l, server: s, conns: make(chan net.Conn), closed: make(chan struct{}), handshakes: map[net.Conn]struct{}{}}
	go t.acceptConns()
	return s.Serve(t)
}

// tlsStateKey is the context key for the TLS state of a tlsFramingConn. net/http fills
// Request.TLS by itself only if it gets the *tls.Conn.
type tlsStateKey struct{}

// tlsFramingConn is a framingConn for HTTP/1 over TLS.
type tlsFramingConn struct {
	framingConn
	state tls.ConnectionState
}

// tlsListener runs the TLS handshake before it gives a connection to net/http. Then
// it is known whether the client speaks HTTP/2, which has its own framing and for
// which net/http needs the *tls.Conn.
type tlsListener struct {
	net.Listener
	server *http.Server
	conns  chan net.Conn
	closed chan struct{} // when Accept of Listener has failed
	err    error         // the reason; set before closed is closed

	mu         sync.Mutex
	ended      bool
	handshakes map[net.Conn]struct{}
}

// acceptConns accepts connections until the listener fails. Each handshake has a
// goroutine of its own, so that a silent client holds nobody up.
func (l *tlsListener) acceptConns() {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if isTemporary(err) {
				time.Sleep(acceptRetryDelay)
				continue
			}
			l.err = err
			close(l.closed)
			return
		}
		if !l.trackHandshake(c) {
			_ = c.Close()
			continue
		}
		go l.runHandshake(c)
	}
}

// acceptRetryDelay is how long accepting pauses when no file descriptor is left.
const acceptRetryDelay = 50 * time.Millisecond

// isTemporary reports whether a failed Accept may succeed later.
func isTemporary(err error) bool {
	t, ok := err.(interface{ Temporary() bool })
	return ok && t.Temporary()
}

// trackHandshake remembers a connection so that Close can end its handshake. It
// returns false if the listener is closed.
func (l *tlsListener) trackHandshake(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.handshakes[c] = struct{}{}
	return true
}

// runHandshake runs the handshake of a connection and gives it to net/http, even if
// the handshake failed: net/http tries again, gets the same error, logs it and
// answers plain HTTP with 400.
func (l *tlsListener) runHandshake(raw net.Conn) {
	c := tls.Server(raw, l.server.TLSConfig)
	ctx, cancel := context.WithTimeout(context.Background(), l.server.ReadHeaderTimeout)
	err := c.HandshakeContext(ctx)
	cancel()
	l.mu.Lock()
	delete(l.handshakes, raw)
	l.mu.Unlock()
	give := net.Conn(c)
	if err == nil && c.ConnectionState().NegotiatedProtocol != "h2" {
		give = &tlsFramingConn{framingConn: framingConn{Conn: c, maxHead: l.server.MaxHeaderBytes}, state: c.ConnectionState()}
	}
	select {
	case l.conns <- give:
	case <-l.closed:
		_ = c.Close()
	}
}

// Accept gives the next connection whose handshake has ended.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, l.err
	}
}

// Close ends Accept and the handshakes that still run.
func (l *tlsListener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for c := range l.handshakes {
		_ = c.Close()
	}
	return err
}

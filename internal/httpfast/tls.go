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
// http.Server.ServeTLS does, and refuses requests of HTTP/1 with ambiguous framing
// as FramedListener does. It sets ConnContext and the Handler of s, which must have
// no ConnContext yet.
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

// tlsStateKey is what the state of a framed TLS connection is kept under: net/http
// finds it on its own only where it is given the *tls.Conn.
type tlsStateKey struct{}

// tlsFramingConn is a framed connection of HTTP/1 over TLS.
type tlsFramingConn struct {
	framingConn
	state tls.ConnectionState
}

// tlsListener shakes hands before it gives a connection to net/http: by then it is
// known whether HTTP/2 is spoken on it, which has its own framing and needs the
// *tls.Conn.
type tlsListener struct {
	net.Listener
	server *http.Server
	conns  chan net.Conn
	closed chan struct{} // when Accept of the listener below has failed
	err    error         // why; to be read once closed is

	mu         sync.Mutex
	ended      bool
	handshakes map[net.Conn]struct{}
}

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

// acceptRetryDelay is how long accepting rests when there are no descriptors left.
const acceptRetryDelay = 50 * time.Millisecond

// isTemporary says whether an Accept that failed may succeed later.
func isTemporary(err error) bool {
	t, ok := err.(interface{ Temporary() bool })
	return ok && t.Temporary()
}

// trackHandshake counts a connection among those that shake hands, unless all has ended.
func (l *tlsListener) trackHandshake(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.handshakes[c] = struct{}{}
	return true
}

// runHandshake shakes hands on a connection and gives it to net/http. One where that
// failed is given too: net/http shakes again, finds the same error, and logs and
// answers it in its way.
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

// Accept gives the next connection whose handshake is over.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, l.err
	}
}

// Close ends Accept and the handshakes that are under way.
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

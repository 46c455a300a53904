package cluster

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/httpfast"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Replicas send each other everything through channels (seal.ChannelMaker): encrypted
// connections whose two ends have proved which replicas they are. A channel begins
// as a request to ChannelPath at the address where a replica listens for everybody.
// Inside is HTTP/1.1: forwarded requests of clients, each with a mark (forward.go), and
// requests of the replicas themselves.

const (
	// ChannelPath is where other replicas open channels; see OpenChannel.
	ChannelPath    = "/replica/channel"
	upgradeChannel = "junctor-replica"
	// proveTime is how long the other side of a new connection may take to prove
	// which replica it is.
	proveTime = 5 * time.Second
	// maxChannelHead bounds the response that a channel begins with.
	maxChannelHead = 8 << 10
	// unprovedEvery is the least time between two logs of an unproved replica.
	unprovedEvery = time.Minute
)

// channelKey is the context key of the name of the replica at the other end of the
// channel that a request came by.
type channelKey struct{}

// sendingReplica returns the id of the replica that sent a request through a channel,
// and "" for every other request.
func sendingReplica(r *http.Request) string {
	from, _ := r.Context().Value(channelKey{}).(string)
	return from
}

// channelConn is the accepting side of a channel.
type channelConn struct {
	net.Conn
	from string
}

// channelListener hands accepted channels to their HTTP server.
type channelListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newChannelListener() *channelListener {
	l := &channelListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements net.Listener.
func (l *channelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *channelListener) Close() error { l.close(); return nil }

// Addr implements net.Listener.
func (l *channelListener) Addr() net.Addr { return &net.UnixAddr{Name: ChannelPath, Net: "unix"} }

// ServeChannels serves the requests that come through channels with s until s is
// closed. It must not be called for a nil Replicas.
func (p *Replicas) ServeChannels(s *http.Server) error {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if c, ok := conn.(*channelConn); ok {
			return context.WithValue(ctx, channelKey{}, c.from)
		}
		return ctx
	}
	return s.Serve(p.arrived)
}

// OpenChannel serves ChannelPath. For everybody but a replica that means this one it
// answers as if the path did not exist.
func (p *Replicas) OpenChannel(w http.ResponseWriter, r *http.Request) {
	from, err := p.channels.ReadHello(r.Header.Get(headerReplica)) //nolint:contextcheck // an unknown key is read with its own timeout
	if err != nil || r.Method != http.MethodGet || r.Header.Get("Upgrade") != upgradeChannel {
		http.NotFound(w, r)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be switched", http.StatusInternalServerError)
		return
	}
	if buf.Reader.Buffered() > 0 { // no replica sends anything before the response
		_ = conn.Close()
		return
	}
	httpfast.SwitchProtocol(conn)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), proveTime)
	defer cancel()
	_ = conn.SetDeadline(time.Now().Add(proveTime))
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+upgradeChannel+"\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	channel, err := p.channels.Answer(ctx, conn, from)
	if err != nil {
		p.Log.Debug("replica connection refused", telemetry.ErrorAttr(err))
		return
	}
	_ = conn.SetDeadline(time.Time{})
	select {
	case p.arrived.conns <- &channelConn{channel, from}:
	case <-p.arrived.closed:
		_ = channel.Close()
	}
}

// proveReplica turns a new connection to a replica into a channel. What it sends
// before the proof is useless to anybody else. It closes conn on an error.
func (p *Replicas) proveReplica(ctx context.Context, conn net.Conn, to *remoteReplica) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	_ = conn.SetDeadline(time.Now().Add(proveTime))
	err := p.sayHello(conn, to)
	if err != nil {
		_ = conn.Close()
	} else {
		conn, err = p.channels.Ask(within, conn, to.id)
	}
	if err != nil {
		if ctx.Err() == nil { // otherwise the caller gave up, which says nothing about the other side
			p.reportUnproved(to, err)
		}
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// sayHello asks the replica to switch the connection to a channel.
func (p *Replicas) sayHello(conn net.Conn, to *remoteReplica) error {
	head := "GET " + to.below(ChannelPath).RequestURI() + " HTTP/1.1\r\nHost: " + to.url.Host + "\r\nConnection: Upgrade\r\nUpgrade: " + upgradeChannel + "\r\n" +
		headerReplica + ": " + p.channels.Hello(to.id) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		return err
	}
	r := bufio.NewReader(io.LimitReader(conn, maxChannelHead))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols || r.Buffered() > 0 {
		return junctor.Errorf(junctor.CodeUnreachable, "it responds with HTTP %d", resp.StatusCode)
	}
	return nil
}

// reportUnproved counts a connection that was not proved, and logs at most one per
// unprovedEvery: somebody who can write to the database could cause many.
func (p *Replicas) reportUnproved(to *remoteReplica, err error) {
	p.unprovedCount.Add(1)
	now := time.Now().UnixNano()
	last := p.unprovedLogged.Load()
	if last != 0 && now-last < unprovedEvery.Nanoseconds() || !p.unprovedLogged.CompareAndSwap(last, now) {
		return
	}
	p.Log.Warn("the address of a replica answered without the replica's proof: nothing is sent to it",
		slog.String("replica", to.id), slog.String("url", to.url.String()), telemetry.ErrorAttr(err))
}

// UnprovedConnections returns how many connections were not proved since the start.
func (p *Replicas) UnprovedConnections() uint64 {
	if p == nil {
		return 0
	}
	return p.unprovedCount.Load()
}

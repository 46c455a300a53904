package app

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

// Replicas send each other nothing but over channels (seal.ChannelMaker): encrypted
// connections whose two ends have proved which replicas they are. A channel begins
// as a request to channelPath at the address where a replica listens for everybody.
// Inside of it is HTTP/1.1: requests of clients that are sent on, each with a mark
// (forward.go), and what replicas ask each other.

const (
	channelPath    = "/peer/channel"
	upgradeChannel = "junctor-replica"
	// proveTime is how long the other side of a new connection may take to prove
	// which replica it is.
	proveTime = 5 * time.Second
	// maxChannelHead is above the length of the answer that a channel begins with.
	maxChannelHead = 8 << 10
	// unprovedEvery is how often it is logged that a replica did not prove itself.
	unprovedEvery = time.Minute
)

// channelKey is the context key of the name of the replica at the other end of the
// channel that a request came by.
type channelKey struct{}

// sendingReplica is the replica that a request was sent by; "" for every request
// that came by no channel.
func sendingReplica(r *http.Request) string {
	from, _ := r.Context().Value(channelKey{}).(string)
	return from
}

// channelConn is the connection of a channel, at the side that answers.
type channelConn struct {
	net.Conn
	from string
}

// channelListener is where the server of channels takes them from.
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
func (l *channelListener) Addr() net.Addr { return &net.UnixAddr{Name: channelPath, Net: "unix"} }

// channelServer serves what comes by channels.
func (a *App) channelServer(h http.Handler) *http.Server {
	s := newServer(h)
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if c, ok := conn.(*channelConn); ok {
			return context.WithValue(ctx, channelKey{}, c.from)
		}
		return ctx
	}
	return s
}

// openChannel serves channelPath. To everybody but a replica that means this one it
// is a path that does not exist.
func (p *peers) openChannel(w http.ResponseWriter, r *http.Request) {
	from, err := p.channels.ReadHello(r.Header.Get(headerPeer))
	if err != nil || r.Method != http.MethodGet || r.Header.Get("Upgrade") != upgradeChannel {
		http.NotFound(w, r)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be switched", http.StatusInternalServerError)
		return
	}
	if buf.Reader.Buffered() > 0 { // nobody of ours speaks before the answer
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
		p.app.log.Debug("a connection that began like another replica's was refused", telemetry.Err(err))
		return
	}
	_ = conn.SetDeadline(time.Time{})
	select {
	case p.arrived.conns <- &channelConn{channel, from}:
	case <-p.arrived.closed:
		_ = channel.Close()
	}
}

// prove makes a channel of a new connection to a replica. Nothing that it sends
// before the proof is of use to anybody else. It closes conn on an error.
func (p *peers) prove(ctx context.Context, conn net.Conn, to *peer) (net.Conn, error) {
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
		if ctx.Err() == nil { // else nobody waits for it any more, which says nothing of the other side
			p.unproved(to, err)
		}
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// sayHello has the replica switch the connection to a channel.
func (p *peers) sayHello(conn net.Conn, to *peer) error {
	head := "GET " + to.below(channelPath).RequestURI() + " HTTP/1.1\r\nHost: " + to.url.Host + "\r\nConnection: Upgrade\r\nUpgrade: " + upgradeChannel + "\r\n" +
		headerPeer + ": " + p.channels.Hello(to.id) + "\r\n\r\n"
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
		return junctor.Errorf(junctor.CodeUnreachable, "it answers %d", resp.StatusCode)
	}
	return nil
}

// unproved counts a connection that was not proved, and logs one now and then:
// somebody who can write to the database could cause many.
func (p *peers) unproved(to *peer, err error) {
	p.unprovedCount.Add(1)
	now := time.Now().UnixNano()
	last := p.unprovedLogged.Load()
	if last != 0 && now-last < unprovedEvery.Nanoseconds() || !p.unprovedLogged.CompareAndSwap(last, now) {
		return
	}
	p.app.log.Warn("what listens at the address of a replica did not prove to be that replica: nothing is sent there",
		slog.String("replica", to.id), slog.String("url", to.url.String()), telemetry.Err(err))
}

// unprovedConnections is how many connections were not proved since the start.
func (p *peers) unprovedConnections() uint64 {
	if p == nil {
		return 0
	}
	return p.unprovedCount.Load()
}

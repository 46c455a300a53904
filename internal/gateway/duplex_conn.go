package gateway

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxConnCalls bounds how many requests of one connection run at a time. The next message
// is read when one of them has ended.
const maxConnCalls = 128

// duplexConn is one client on a connection that carries messages in both directions:
// stdio, or the two halves of HTTP+SSE. Its session ends with it. Requests of both eras
// may arrive on it.
type duplexConn struct {
	gateway *Gateway
	// principal is the principal that opened the connection. Each message is handled with
	// the principal as it is by then.
	principal  *junctor.Principal
	entryPoint junctor.EntryPoint
	view       catalog.Scope
	address    netip.Addr // of the client; invalid if it is not known
	write      func(message []byte) error

	ctx         context.Context
	cancel      context.CancelFunc
	callSlots   chan struct{} // one element per running request
	listenCount atomic.Int32  // running requests that are subscriptions/listen
	background  *backgroundWork
	session     *session
	notifyOnce  sync.Once // starts notifications at the first notifications/initialized

	writeMu sync.Mutex // one message at a time
	closed  bool       // guarded by writeMu: nothing may be written any more

	mu          sync.Mutex
	initialized bool // guarded by mu: initialize has been answered
}

// newDuplexConn makes a connection for a client of p. write sends one message; calls of
// it do not overlap. The caller must call close.
func (g *Gateway) newDuplexConn(ctx context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, write func([]byte) error) *duplexConn {
	c := &duplexConn{gateway: g, principal: p, entryPoint: entryPoint, write: write, callSlots: make(chan struct{}, maxConnCalls), background: newBackgroundWork(g.options.Logger), session: newSession(g.newBootID(), wire.LatestLegacyVersion, nil, nil)}
	c.session.id = g.options.NewID()
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// close cancels all requests and waits for them, for a bounded time. Nothing is written
// afterwards.
func (c *duplexConn) close() {
	c.cancel()
	c.session.close()
	c.background.stopWithin(closeWait)
	c.writeMu.Lock()
	c.closed = true // a request that ignored its cancellation writes nothing any more
	c.writeMu.Unlock()
	c.gateway.notifyEnded(c.principal, c.session)
}

// awaitCalls waits, up to limit, until all requests but subscriptions have ended. A
// client that has closed its sending half may still wait for the responses.
func (c *duplexConn) awaitCalls(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for len(c.callSlots) > int(c.listenCount.Load()) {
		select {
		case <-tick.C:
		case <-late.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// sendMessage writes one message. If the write fails, the connection ends.
func (c *duplexConn) sendMessage(message []byte) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if c.closed {
		return
	}
	if err := c.write(message); err != nil {
		c.cancel()
	}
}

// answerInitialize sets up the session and returns the response to initialize.
func (c *duplexConn) answerInitialize(m *wire.Message) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.mu.Lock()
	c.session.version = wire.NegotiateVersion(m.ProtocolVersion)
	c.session.capabilities, c.session.clientInfo = m.Capabilities, m.ClientInfo
	c.session.mu.Unlock()
	c.initialized = true
	x := &exchange{gateway: c.gateway, principal: c.principal, entryPoint: c.entryPoint, message: m, session: c.session}
	return wire.AppendResult(nil, m.ID, x.initializeResult(x.capabilitiesJSON()))
}

// startNotifications sends list changes and resource updates from now on.
func (c *duplexConn) startNotifications() {
	x := &exchange{gateway: c.gateway, principal: c.principal, entryPoint: c.entryPoint, session: c.session, sender: c}
	watch := c.gateway.options.Catalog.Watch()
	if !c.background.startWork(func() { x.forwardChanges(c.ctx, watch) }) {
		watch.Stop()
	}
}

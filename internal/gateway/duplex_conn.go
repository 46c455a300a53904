package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxConnCalls bounds how many requests of one connection run at a time; the
// next message is read when one has ended.
const maxConnCalls = 128

// duplexConn is one client on a connection that carries messages both ways: stdio, and
// the two halves of HTTP+SSE. Its session ends with it. Requests of both eras
// may come over it.
type duplexConn struct {
	gateway    *Gateway
	principal  *junctor.Principal // as it was when the pipe was opened; each message comes with who it is by then
	entryPoint junctor.Door
	view       catalog.View
	write      func(message []byte) error

	ctx         context.Context
	cancel      context.CancelFunc
	callSlots   chan struct{}
	listenCount atomic.Int32 // of the requests that run: those that only listen
	background  *backgroundWork
	session     *session
	notifyOnce  sync.Once

	writeMu sync.Mutex // one message at a time
	closed  bool       // under out: nothing may be written any more

	mu          sync.Mutex
	initialized bool // initialize has been answered
}

func (g *Gateway) newDuplexConn(ctx context.Context, p *junctor.Principal, door junctor.Door, write func([]byte) error) *duplexConn {
	c := &duplexConn{gateway: g, principal: p, entryPoint: door, write: write, callSlots: make(chan struct{}, maxConnCalls), background: newBackgroundWork(g.options.Logger), session: newSession(g.newBootID(), wire.LatestLegacy, nil, nil)}
	c.session.id = g.options.NewID()
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// close cancels what runs and waits for it. Nothing is written afterwards.
func (c *duplexConn) close() {
	c.cancel()
	c.session.close()
	c.background.stopWithin(closeWait)
	c.writeMu.Lock()
	c.closed = true
	c.writeMu.Unlock()
	c.gateway.notifyEnded(c.principal, c.session)
}

// awaitCalls lets what runs come to its end, for a while: a client that has said all
// it had to say may still want the answers.
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

// sendMessage writes one message; a client that does not take it ends the connection.
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

func (c *duplexConn) answerInitialize(m *wire.Message) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.mu.Lock()
	c.session.version = wire.Negotiate(m.ProtocolVersion)
	c.session.capabilities, c.session.clientInfo = m.Capabilities, m.ClientInfo
	c.session.mu.Unlock()
	c.initialized = true
	x := &exchange{gateway: c.gateway, principal: c.principal, entryPoint: c.entryPoint, message: m, session: c.session}
	return wire.AppendResult(nil, m.ID, x.initializeResult(x.capabilitiesJSON()))
}

// startNotifications sends list changes and updates from now on.
func (c *duplexConn) startNotifications() {
	x := &exchange{gateway: c.gateway, principal: c.principal, entryPoint: c.entryPoint, session: c.session, sender: c}
	watch := c.gateway.options.Catalog.Watch()
	if !c.background.startWork(func() { x.forwardChanges(c.ctx, watch) }) {
		watch.Stop()
	}
}

package gateway

import (
	"bytes"
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// handleMessage handles one message of p, which is the connection's party with its
// current rights. It returns when the next message may be read; requests continue in the
// background. It keeps no part of body.
func (c *duplexConn) handleMessage(p *junctor.Principal, body []byte) {
	if wire.IsBatch(body) && c.acceptsBatches() {
		body = bytes.Clone(body)
		c.runInSlot(func() {
			if answer := c.gateway.answerRecovering(nil, func() []byte { return c.answerBatch(p, body) }); answer != nil {
				c.sendMessage(answer)
			}
		})
		return
	}
	// The message points into its body, which the reader reuses.
	m := &wire.Message{}
	if err := m.Parse(bytes.Clone(body)); err != nil {
		c.sendMessage(wire.AppendError(nil, m.ID, toClientError(err, false, "").rpcError))
		return
	}
	switch {
	case m.Kind == wire.Request:
		c.startRequest(p, m)
	case m.Kind == wire.Notification && m.Method == wire.NotificationInitialized:
		c.notifyOnce.Do(c.startNotifications)
	default:
		c.gateway.handleOneWay(c.ctx, p, c.session, m)
	}
}

// startRequest runs a request in the background and sends its response. initialize is
// answered at once, because the following messages depend on it.
func (c *duplexConn) startRequest(p *junctor.Principal, m *wire.Message) {
	if m.Method == wire.MethodInitialize {
		c.sendMessage(c.answerInitialize(m))
		return
	}
	// Register the request before it runs: the next message may already cancel it.
	ctx, cancel := context.WithCancel(c.ctx)
	run := c.session.beginCall(m.ID, cancel)
	c.runInSlot(func() {
		defer cancel()
		defer c.session.endCall(m.ID, run)
		answer := c.gateway.answerRecovering(m.ID, func() []byte { return c.answerRequest(ctx, p, m) })
		if answer != nil && ctx.Err() == nil { // a cancelled request gets no response
			c.sendMessage(answer)
		}
	})
}

// runInSlot runs f in the background when a slot is free. It does not run f if the
// connection closes before that.
func (c *duplexConn) runInSlot(f func()) {
	select {
	case c.callSlots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.background.startWork(func() {
		defer func() { <-c.callSlots }()
		f()
	})
}

// answerBatch answers a batch. It returns nil if no message of it has a response.
func (c *duplexConn) answerBatch(p *junctor.Principal, body []byte) []byte {
	answer, err := answerBatch(body, func(m *wire.Message) []byte {
		return c.gateway.answerBatchMessage(c.ctx, p, c.entryPoint, c.view, c.address, c.session, m)
	})
	if err != nil {
		return wire.AppendError(nil, nil, toClientError(err, false, "").rpcError)
	}
	return answer
}

// acceptsBatches reports whether the negotiated version has batches.
func (c *duplexConn) acceptsBatches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized && wire.HasBatches(c.session.version)
}

// answerRequest runs a request of either era. It returns nil if the response was sent
// already.
func (c *duplexConn) answerRequest(ctx context.Context, p *junctor.Principal, m *wire.Message) []byte {
	if m.HasMetaVersion || m.Method == wire.MethodServerDiscover {
		return c.answerModern(ctx, p, m)
	}
	c.mu.Lock()
	ready := c.initialized
	c.mu.Unlock()
	if !ready && m.Method != wire.MethodPing {
		return wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "send initialize first, or name a protocol version in params._meta"})
	}
	x := c.gateway.newLegacyExchange(p, c.entryPoint, c.view, c.address, m, c.session)
	x.sender = c
	answer := x.answerLegacy(ctx, nil)
	return answer
}

// answerModern runs a request of the modern era. A subscription occupies its slot until
// it ends.
func (c *duplexConn) answerModern(ctx context.Context, p *junctor.Principal, m *wire.Message) []byte {
	e := checkModernMeta(m)
	if e == nil {
		e = checkVersion(m.MetaVersion)
	}
	if e != nil {
		return wire.AppendError(nil, m.ID, e)
	}
	x := c.gateway.newModernExchange(p, c.entryPoint, c.view, c.address, m, c)
	x.caller.Session = c.session.id
	if m.Method == wire.MethodSubscriptionsListen {
		want, err := x.parseChangeFilter()
		if err != nil {
			return wire.AppendError(nil, m.ID, toClientError(err, true, "").rpcError)
		}
		c.listenCount.Add(1)
		defer c.listenCount.Add(-1)
		x.serveSubscription(ctx, want, nil)
		return nil
	}
	o, err := x.runModern(ctx)
	if err != nil {
		return wire.AppendError(nil, m.ID, toClientError(err, true, resourceOf(m)).rpcError)
	}
	return x.appendResponse(nil, o)
}

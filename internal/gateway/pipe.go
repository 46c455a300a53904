package gateway

import (
	"bytes"
	"context"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxPipeCalls bounds how many requests of one connection run at a time; the
// next message is read when one has ended.
const maxPipeCalls = 128

// pipe is one client on a connection that carries messages both ways: stdio, and
// the two halves of HTTP+SSE. Its session ends with it. Requests of both eras
// may come over it.
type pipe struct {
	g     *Gateway
	p     *junctor.Principal
	door  junctor.Door
	write func(message []byte) error

	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	work   work
	s      *session
	pumps  sync.Once

	out  sync.Mutex // one message at a time
	shut bool       // under out: nothing may be written any more

	mu    sync.Mutex
	ready bool // initialize has been answered
}

func (g *Gateway) newPipe(ctx context.Context, p *junctor.Principal, door junctor.Door, write func([]byte) error) *pipe {
	c := &pipe{g: g, p: p, door: door, write: write, slots: make(chan struct{}, maxPipeCalls), s: newSession(g.bootID(), wire.LatestLegacy, nil, nil)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// close cancels what runs and waits for it. Nothing is written afterwards.
func (c *pipe) close() {
	c.cancel()
	c.s.close()
	c.work.stop(closeWait)
	c.out.Lock()
	c.shut = true
	c.out.Unlock()
}

// send writes one message; a client that does not take it ends the connection.
func (c *pipe) send(message []byte) {
	c.out.Lock()
	defer c.out.Unlock()
	if c.shut {
		return
	}
	if err := c.write(message); err != nil {
		c.cancel()
	}
}

// receive handles one message. It returns when the next may be read; requests go
// on in the background. It keeps no part of body.
func (c *pipe) receive(body []byte) {
	if wire.IsBatch(body) && c.batches() {
		body = bytes.Clone(body)
		c.background(func() {
			answer, err := answerBatch(body, func(m *wire.Message) []byte {
				return c.g.batched(c.ctx, c.p, c.door, catalog.View{}, c.s, m)
			})
			if err != nil {
				answer = wire.AppendError(nil, nil, asFault(err, false, "").wire)
			}
			if answer != nil {
				c.send(answer)
			}
		})
		return
	}
	m := &wire.Message{}
	if err := m.Parse(bytes.Clone(body)); err != nil {
		c.send(wire.AppendError(nil, m.ID, asFault(err, false, "").wire))
		return
	}
	switch m.Kind {
	case wire.Response:
		c.s.answer(m)
	case wire.Notification:
		switch m.Method {
		case wire.NoteCancelled:
			if m.RequestID != nil {
				c.s.cancelCall(m.RequestID)
			}
		case wire.NoteInitialized:
			c.pumps.Do(c.startPump)
		}
	case wire.Request:
		c.request(m)
	}
}

func (c *pipe) request(m *wire.Message) {
	if m.Method == wire.MethodInitialize {
		c.send(c.initialize(m))
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.s.begin(m.ID, cancel)
	c.background(func() {
		defer cancel()
		defer c.s.done(m.ID)
		answer := c.answer(ctx, m)
		if answer != nil && ctx.Err() == nil { // one who cancelled wants no answer
			c.send(answer)
		}
	})
}

// background runs f when there is a slot, unless the pipe closes before.
func (c *pipe) background(f func()) {
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.work.start(func() {
		defer func() { <-c.slots }()
		f()
	})
}

// batches says whether the client's version has batches.
func (c *pipe) batches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && wire.HasBatches(c.s.version)
}

// answer runs a request of either era; nil when it has answered already.
func (c *pipe) answer(ctx context.Context, m *wire.Message) []byte {
	if m.HasMetaVersion || m.Method == wire.MethodServerDiscover {
		return c.answerModern(ctx, m)
	}
	c.mu.Lock()
	ready := c.ready
	c.mu.Unlock()
	if !ready && m.Method != wire.MethodPing {
		return wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "send initialize first, or name a protocol version in params._meta"})
	}
	x := c.g.legacyExchange(c.p, c.door, catalog.View{}, m, c.s)
	x.out = c
	answer, _ := x.answerLegacy(ctx)
	return answer
}

func (c *pipe) answerModern(ctx context.Context, m *wire.Message) []byte {
	e := checkModern(m)
	if e == nil {
		e = checkVersion(m.MetaVersion)
	}
	if e != nil {
		return wire.AppendError(nil, m.ID, e)
	}
	x := c.g.modernExchange(c.p, c.door, catalog.View{}, m, c)
	if m.Method == wire.MethodSubscriptionsListen {
		want, err := x.wanted()
		if err != nil {
			return wire.AppendError(nil, m.ID, asFault(err, true, "").wire)
		}
		x.listen(ctx, want, nil)
		return nil
	}
	o, err := x.runModern(ctx)
	if err != nil {
		return wire.AppendError(nil, m.ID, asFault(err, true, resourceOf(m)).wire)
	}
	return x.appendAnswer(nil, o)
}

func (c *pipe) initialize(m *wire.Message) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.mu.Lock()
	c.s.version = wire.Negotiate(m.ProtocolVersion)
	c.s.caps, c.s.info = m.Capabilities, m.ClientInfo
	c.s.mu.Unlock()
	c.ready = true
	x := &exchange{g: c.g, p: c.p, door: c.door, m: m, s: c.s}
	return wire.AppendResult(nil, m.ID, x.initializeResult(capabilities(false)))
}

// startPump sends list changes and updates from now on.
func (c *pipe) startPump() {
	x := &exchange{g: c.g, p: c.p, door: c.door, s: c.s, out: c}
	watch := c.g.o.Catalog.Watch()
	if !c.work.start(func() { x.pump(c.ctx, watch) }) {
		watch.Stop()
	}
}

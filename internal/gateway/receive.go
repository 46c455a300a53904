package gateway

import (
	"bytes"
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// receive handles one message of p, who is the pipe's party as it may act now. It
// returns when the next may be read; requests go on in the background. It keeps
// no part of body.
func (c *pipe) receive(p *junctor.Principal, body []byte) {
	if wire.IsBatch(body) && c.batches() {
		body = bytes.Clone(body)
		c.background(func() {
			if answer := c.g.answering(nil, func() []byte { return c.batch(p, body) }); answer != nil {
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
	switch {
	case m.Kind == wire.Request:
		c.request(p, m)
	case m.Kind == wire.Notification && m.Method == wire.NoteInitialized:
		c.pumps.Do(c.startPump)
	default:
		c.g.hear(c.ctx, p, c.s, m)
	}
}

func (c *pipe) request(p *junctor.Principal, m *wire.Message) {
	if m.Method == wire.MethodInitialize {
		c.send(c.initialize(m))
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	run := c.s.begin(m.ID, cancel)
	c.background(func() {
		defer cancel()
		defer c.s.done(m.ID, run)
		answer := c.g.answering(m.ID, func() []byte { return c.answer(ctx, p, m) })
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

// batch answers a batch; nil when nothing in it has an answer.
func (c *pipe) batch(p *junctor.Principal, body []byte) []byte {
	answer, err := answerBatch(body, func(m *wire.Message) []byte {
		return c.g.batched(c.ctx, p, c.door, c.view, c.s, m)
	})
	if err != nil {
		return wire.AppendError(nil, nil, asFault(err, false, "").wire)
	}
	return answer
}

// batches says whether the client's version has batches.
func (c *pipe) batches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && wire.HasBatches(c.s.version)
}

// answer runs a request of either era; nil when it has answered already.
func (c *pipe) answer(ctx context.Context, p *junctor.Principal, m *wire.Message) []byte {
	if m.HasMetaVersion || m.Method == wire.MethodServerDiscover {
		return c.answerModern(ctx, p, m)
	}
	c.mu.Lock()
	ready := c.ready
	c.mu.Unlock()
	if !ready && m.Method != wire.MethodPing {
		return wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "send initialize first, or name a protocol version in params._meta"})
	}
	x := c.g.legacyExchange(p, c.door, c.view, m, c.s)
	x.out = c
	answer := x.answerLegacy(ctx, nil)
	return answer
}

func (c *pipe) answerModern(ctx context.Context, p *junctor.Principal, m *wire.Message) []byte {
	e := checkModern(m)
	if e == nil {
		e = checkVersion(m.MetaVersion)
	}
	if e != nil {
		return wire.AppendError(nil, m.ID, e)
	}
	x := c.g.modernExchange(p, c.door, c.view, m, c)
	x.caller.Session = c.s.id
	if m.Method == wire.MethodSubscriptionsListen {
		want, err := x.wanted()
		if err != nil {
			return wire.AppendError(nil, m.ID, asFault(err, true, "").wire)
		}
		c.listens.Add(1)
		defer c.listens.Add(-1)
		x.listen(ctx, want, nil)
		return nil
	}
	o, err := x.runModern(ctx)
	if err != nil {
		return wire.AppendError(nil, m.ID, asFault(err, true, resourceOf(m)).wire)
	}
	return x.appendAnswer(nil, o)
}

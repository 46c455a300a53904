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

// maxPipeCalls bounds how many requests of one connection run at a time; the
// next message is read when one has ended.
const maxPipeCalls = 128

// pipe is one client on a connection that carries messages both ways: stdio, and
// the two halves of HTTP+SSE. Its session ends with it. Requests of both eras
// may come over it.
type pipe struct {
	g     *Gateway
	p     *junctor.Principal // as it was when the pipe was opened; each message comes with who it is by then
	door  junctor.Door
	view  catalog.View
	write func(message []byte) error

	ctx     context.Context
	cancel  context.CancelFunc
	slots   chan struct{}
	listens atomic.Int32 // of the requests that run: those that only listen
	work    *work
	s       *session
	pumps   sync.Once

	out  sync.Mutex // one message at a time
	shut bool       // under out: nothing may be written any more

	mu    sync.Mutex
	ready bool // initialize has been answered
}

func (g *Gateway) newPipe(ctx context.Context, p *junctor.Principal, door junctor.Door, write func([]byte) error) *pipe {
	c := &pipe{g: g, p: p, door: door, write: write, slots: make(chan struct{}, maxPipeCalls), work: newWork(g.o.Logger), s: newSession(g.bootID(), wire.LatestLegacy, nil, nil)}
	c.s.id = g.o.NewID()
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
	c.g.ended(c.p, c.s)
}

// drain lets what runs come to its end, for a while: a client that has said all
// it had to say may still want the answers.
func (c *pipe) drain(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for len(c.slots) > int(c.listens.Load()) {
		select {
		case <-tick.C:
		case <-late.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
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

func (c *pipe) initialize(m *wire.Message) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.mu.Lock()
	c.s.version = wire.Negotiate(m.ProtocolVersion)
	c.s.caps, c.s.info = m.Capabilities, m.ClientInfo
	c.s.mu.Unlock()
	c.ready = true
	x := &exchange{g: c.g, p: c.p, door: c.door, m: m, s: c.s}
	return wire.AppendResult(nil, m.ID, x.initializeResult(x.capabilities()))
}

// startPump sends list changes and updates from now on.
func (c *pipe) startPump() {
	x := &exchange{g: c.g, p: c.p, door: c.door, s: c.s, out: c}
	watch := c.g.o.Catalog.Watch()
	if !c.work.start(func() { x.pump(c.ctx, watch) }) {
		watch.Stop()
	}
}

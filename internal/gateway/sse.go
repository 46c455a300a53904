package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// pipeTable holds the open connections of the HTTP+SSE door.
type pipeTable struct {
	mu   sync.Mutex
	open map[string]*pipe
}

func (t *pipeTable) put(id string, c *pipe) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*pipe{}
	}
	t.open[id] = c
}

func (t *pipeTable) get(id string) *pipe {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id]
}

func (t *pipeTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

// serveSSE is GET /sse: the half of HTTP+SSE on which the server talks. Its first
// event says where the client posts.
func (g *Gateway) serveSSE(w http.ResponseWriter, r *http.Request) {
	p := g.admit(w, r, http.MethodGet)
	if p == nil {
		return
	}
	profile, err := askedProfile(r)
	if err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusBadRequest)
		return
	}
	ctx, release := g.holdStream(r.Context(), w, p, nil)
	if release == nil {
		return
	}
	defer release()
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)() //nolint:contextcheck // the door ends with either
	var buf []byte
	c := g.newPipe(ctx, p, junctor.DoorSSE, func(message []byte) error {
		buf = wire.AppendEvent(buf[:0], wire.Event{Name: "message", Data: message})
		if _, err := w.Write(buf); err != nil {
			return err
		}
		return rc.Flush()
	})
	c.view.Profile = profile
	id := g.o.NewID()
	if g.o.Peers != nil {
		id = g.o.Peers.Self() + "." + id
	}
	g.pipes.put(id, c) // before the client can know the id
	defer c.close()
	defer g.pipes.remove(id)
	g.startSSE(w)
	c.out.Lock()
	_, _ = w.Write(wire.AppendEvent(nil, wire.Event{Name: "endpoint", Data: []byte("/messages?session=" + id)}))
	_ = rc.Flush()
	c.out.Unlock()

	quiet := time.NewTicker(g.o.KeepAlive)
	defer quiet.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-quiet.C:
			c.out.Lock()
			_, err := w.Write([]byte(":\n\n"))
			if err == nil {
				err = rc.Flush()
			}
			c.out.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// serveMessages is POST /messages: the half on which the client talks. Answers
// come on the other.
func (g *Gateway) serveMessages(w http.ResponseWriter, r *http.Request) {
	p := g.admit(w, r, http.MethodPost)
	if p == nil {
		return
	}
	id := r.URL.Query().Get("session")
	c := g.pipes.get(id)
	if c == nil && g.forwarded(w, r, g.nodeOf(id), nil) {
		return
	}
	if c == nil || !c.p.Same(p) {
		g.refuse(w, http.StatusNotFound, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "this session does not exist or has ended; open /sse for another"})
		return
	}
	in := g.read(w, r, p)
	if in == nil {
		return
	}
	defer g.release(in)
	if err := in.m.Parse(in.body); err != nil {
		g.refuse(w, http.StatusBadRequest, in.m.ID, asFault(err, false, "").wire)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	c.receive(p, in.body) //nolint:contextcheck // what it starts belongs to the other half
}

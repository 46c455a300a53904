package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// duplexTable holds the open connections of HTTP+SSE, by the id in their endpoint URL.
type duplexTable struct {
	mu   sync.Mutex
	byID map[string]*duplexConn
}

// put adds a connection.
func (t *duplexTable) put(id string, c *duplexConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[string]*duplexConn{}
	}
	t.byID[id] = c
}

// get returns a connection, or nil.
func (t *duplexTable) get(id string) *duplexConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// remove drops a connection.
func (t *duplexTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// serveSSE serves GET /sse: the half of HTTP+SSE on which the server sends. The first
// event tells the client where to post.
func (g *Gateway) serveSSE(w http.ResponseWriter, r *http.Request) {
	p := g.authenticateMethod(w, r, http.MethodGet)
	if p == nil {
		return
	}
	profile, err := requestedProfile(r)
	if err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusBadRequest)
		return
	}
	ctx, release := g.registerHTTPStream(r.Context(), w, p, nil)
	if release == nil {
		return
	}
	defer release()
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)() //nolint:contextcheck // the connection ends with either context
	var buf []byte
	c := g.newDuplexConn(ctx, p, junctor.EntrySSE, func(message []byte) error {
		buf = wire.AppendEvent(buf[:0], wire.Event{Name: "message", Data: message})
		if _, err := w.Write(buf); err != nil {
			return err
		}
		return rc.Flush()
	})
	c.address = g.clientAddress(r)
	c.view.Profile = profile
	id := g.options.NewID()
	if g.options.Replicas != nil {
		id = g.options.Replicas.Self() + "." + id
	}
	g.sseConnections.put(id, c) // before the client learns the id
	defer c.close()
	defer g.sseConnections.remove(id)
	g.startEventStream(w)
	// A client may post as soon as it has read the id, so its responses must wait
	// until this event is written.
	c.writeMu.Lock()
	_, _ = w.Write(wire.AppendEvent(nil, wire.Event{Name: "endpoint", Data: []byte("/messages?session=" + id)}))
	_ = rc.Flush()
	c.writeMu.Unlock()

	quiet := time.NewTicker(g.options.KeepAlive)
	defer quiet.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		// The keep-alive must not fall between the bytes of a message.
		case <-quiet.C:
			c.writeMu.Lock()
			_, err := w.Write([]byte(":\n\n"))
			if err == nil {
				err = rc.Flush()
			}
			c.writeMu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// serveMessages serves POST /messages: the half on which the client sends. Responses are
// sent on the other half. The poster must be the party that opened that half.
func (g *Gateway) serveMessages(w http.ResponseWriter, r *http.Request) {
	p := g.authenticateMethod(w, r, http.MethodPost)
	if p == nil {
		return
	}
	id := r.URL.Query().Get("session")
	c := g.sseConnections.get(id)
	if c == nil && g.forwardRequest(w, r, g.replicaOf(id), nil) {
		return
	}
	// Another party learns nothing about the connection, not even that it exists.
	if c == nil || !c.principal.Same(p) {
		g.writeError(w, http.StatusNotFound, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "this session does not exist or has ended; open /sse to start another session"})
		return
	}
	in := g.readBody(w, r, p)
	if in == nil {
		return
	}
	defer g.releaseMessage(in)
	if err := in.message.Parse(in.body); err != nil {
		g.writeError(w, http.StatusBadRequest, in.message.ID, toClientError(err, false, "").rpcError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	c.handleMessage(p, in.body) //nolint:contextcheck // requests belong to the other half
}

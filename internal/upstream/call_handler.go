package upstream

import (
	"context"
	"sync"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// callHandler is the peer of one call: it passes on the notes that its caller asked
// for, and none after the call.
type callHandler struct {
	minSeverity   int    // log messages from this severity on; 0 is none
	progressToken string // of our progress; "" is none
	wantsProgress bool

	mu         sync.Mutex
	sink       catalog.Sink         // nil while nobody listens
	keepsNotes bool                 // somebody will listen again
	keptNotes  []func(catalog.Sink) // what came meanwhile
}

// maxKeptNotes bounds what is kept for a caller who is away to answer something.
const maxKeptNotes = 256

func newCallHandler(req *catalog.Request, token string, sink catalog.Sink) *callHandler {
	return &callHandler{minSeverity: wire.Severity(req.Caller.LogLevel), progressToken: token, wantsProgress: token != "", sink: sink}
}

// setSink sets who hears the notes from now on; nil is nobody.
func (c *callHandler) setSink(sink catalog.Sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink = sink; sink == nil {
		return
	}
	for _, say := range c.keptNotes {
		say(sink)
	}
	c.keptNotes = nil
}

// deliverNote says something to who listens, or will.
func (c *callHandler) deliverNote(say func(catalog.Sink)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sink != nil:
		say(c.sink)
	case c.keepsNotes && len(c.keptNotes) < maxKeptNotes:
		c.keptNotes = append(c.keptNotes, say)
	}
}

// handleNotification implements peer.
func (c *callHandler) handleNotification(method string, params []byte) {
	switch method {
	case wire.NoteProgress:
		if !c.wantsProgress || string(wire.Get(params, wire.MetaProgressToken)) != c.progressToken {
			return
		}
		params = wire.AppendObject(nil, params, []string{wire.MetaProgressToken})
		c.deliverNote(func(sink catalog.Sink) { sink.Progress(params) })
	case wire.NoteMessage:
		level, _ := wire.String(wire.Get(params, "level"))
		if severity := wire.Severity(level); c.minSeverity == 0 || severity < c.minSeverity {
			return
		}
		params = append([]byte(nil), params...)
		c.deliverNote(func(sink catalog.Sink) { sink.Log(level, params) })
	}
}

// answerRequest implements peer: this caller cannot be asked anything.
func (c *callHandler) answerRequest(_ context.Context, method string, _ []byte) ([]byte, error) {
	return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "the client did not declare that it answers " + method}
}

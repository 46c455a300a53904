package upstream

import (
	"context"
	"sync"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// caller is the peer of one call: it passes on the notes that its caller asked
// for, and none after the call.
type caller struct {
	level    int    // log messages from this severity on; 0 is none
	token    string // of our progress; "" is none
	progress bool

	mu   sync.Mutex
	sink catalog.Sink         // nil while nobody listens
	keep bool                 // somebody will listen again
	kept []func(catalog.Sink) // what came meanwhile
}

// maxKept bounds what is kept for a caller who is away to answer something.
const maxKept = 256

func newCaller(req *catalog.Request, token string, sink catalog.Sink) *caller {
	return &caller{level: wire.Severity(req.Caller.LogLevel), token: token, progress: token != "", sink: sink}
}

// hear sets who hears the notes from now on; nil is nobody.
func (c *caller) hear(sink catalog.Sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink = sink; sink == nil {
		return
	}
	for _, say := range c.kept {
		say(sink)
	}
	c.kept = nil
}

// tell says something to who listens, or will.
func (c *caller) tell(say func(catalog.Sink)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sink != nil:
		say(c.sink)
	case c.keep && len(c.kept) < maxKept:
		c.kept = append(c.kept, say)
	}
}

// note implements peer.
func (c *caller) note(method string, params []byte) {
	switch method {
	case wire.NoteProgress:
		if !c.progress || string(wire.Get(params, wire.MetaProgressToken)) != c.token {
			return
		}
		params = wire.AppendObject(nil, params, []string{wire.MetaProgressToken})
		c.tell(func(sink catalog.Sink) { sink.Progress(params) })
	case wire.NoteMessage:
		level, _ := wire.String(wire.Get(params, "level"))
		if severity := wire.Severity(level); c.level == 0 || severity < c.level {
			return
		}
		params = append([]byte(nil), params...)
		c.tell(func(sink catalog.Sink) { sink.Log(level, params) })
	}
}

// ask implements peer: this caller cannot be asked anything.
func (c *caller) ask(_ context.Context, method string, _ []byte) ([]byte, error) {
	return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "the client did not declare that it answers " + method}
}

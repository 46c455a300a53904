package upstream

import (
	"context"
	"sync"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// callHandler is the message handler of one call. It passes on the notifications that the
// caller asked for, and none after the call has ended.
type callHandler struct {
	// minSeverity is the severity from which log messages pass; 0 passes none.
	minSeverity   int
	progressToken progressToken
	wantsProgress bool // the caller does; otherwise progress only shows that the server works

	mu sync.Mutex
	// sink receives the notifications, and progress restarts idle; nil while nobody
	// listens.
	sink       catalog.Sink
	idle       catalog.IdleLimit
	keepsNotes bool                 // a sink will come back, so notes are kept meanwhile
	keptNotes  []func(catalog.Sink) // in the order in which they came
}

// maxKeptNotes bounds the notifications that are kept while a parked call has no
// listener. Further ones are dropped.
const maxKeptNotes = 256

// newCallHandler makes the handler of a call that cannot be asked anything.
func newCallHandler(req *catalog.Request, token progressToken, sink catalog.Sink) *callHandler {
	return &callHandler{minSeverity: wire.Severity(req.Caller.LogLevel), progressToken: token, wantsProgress: req.Caller.Progress, sink: sink, idle: req.Idle}
}

// setSink sets the receiver of notifications from now on, and the limit that progress
// restarts; nil for none. A new sink first gets the notes that were kept.
func (c *callHandler) setSink(sink catalog.Sink, idle catalog.IdleLimit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = idle
	if c.sink = sink; sink == nil {
		return
	}
	for _, say := range c.keptNotes {
		say(sink)
	}
	c.keptNotes = nil
}

// deliverNote gives a notification to the sink, or keeps it for the next one.
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

// restartIdle says that the server is at work on the call.
func (c *callHandler) restartIdle() {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if idle != nil {
		idle.Restart()
	}
}

// handleNotification implements messageHandler. It copies params, which are valid only
// until it returns.
func (c *callHandler) handleNotification(method string, params []byte) {
	switch method {
	case wire.NotificationProgress:
		if token := readProgressToken(params); token == 0 || token != c.progressToken {
			return
		}
		c.restartIdle()
		if !c.wantsProgress {
			return
		}
		params = wire.AppendObject(nil, params, []string{wire.MetaProgressToken})
		c.deliverNote(func(sink catalog.Sink) { sink.Progress(params) })
	case wire.NotificationMessage:
		level, _ := wire.String(wire.Get(params, "level"))
		if severity := wire.Severity(level); c.minSeverity == 0 || severity < c.minSeverity {
			return
		}
		params = append([]byte(nil), params...)
		c.deliverNote(func(sink catalog.Sink) { sink.Log(level, params) })
	}
}

// answerRequest implements messageHandler: this caller cannot be asked anything.
func (c *callHandler) answerRequest(_ context.Context, method string, _ []byte) ([]byte, error) {
	return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "the client did not declare the capability for " + method}
}

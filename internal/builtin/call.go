package builtin

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Call is one operation as its handler sees it. It is safe for concurrent use
// while the handler runs; what is sent after that is dropped.
type Call struct {
	req   *catalog.Request
	sink  catalog.Sink
	input input

	mu       sync.Mutex
	ended    bool
	progress float64 // the last value sent
	started  bool    // a value was sent
}

// ID names the call. It stays the same when the handler runs again with the
// client's answers.
func (c *Call) ID() string { return c.req.CallID }

// Name is the tool's or prompt's name, or the resource's URI.
func (c *Call) Name() string { return c.req.Name }

// Principal is who is asking. It may be nil in tests only.
func (c *Call) Principal() *junctor.Principal { return c.req.Principal }

// Meta is the request's _meta as the caller sent it; nil when there was none.
func (c *Call) Meta() json.RawMessage { return c.req.Meta }

// Progress tells the caller how far the work is, if it wants to know. total 0
// is unknown, message may be "". Progress rises: a value that is not above the
// last one is dropped.
func (c *Call) Progress(progress, total float64, message string) {
	if !c.req.Caller.Progress || !finite(progress) || !finite(total) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.sink == nil || c.started && progress <= c.progress {
		return
	}
	c.started, c.progress = true, progress
	b := append(make([]byte, 0, 64+len(message)), `{"progress":`...)
	b = strconv.AppendFloat(b, progress, 'f', -1, 64)
	if total > 0 {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, total, 'f', -1, 64)
	}
	if message != "" {
		b = quote(append(b, `,"message":`...), message)
	}
	c.sink.Progress(append(b, '}'))
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Log sends the caller a log message, if it asked for messages of this level.
// logger names the source and may be ""; data is anything that JSON can hold.
// An unknown level is dropped.
func (c *Call) Log(level Level, logger string, data any) {
	if !level.enabled(c.req.Caller.LogLevel) {
		return
	}
	value, err := jsonv2.Marshal(data, jsonv2.Deterministic(true))
	if err != nil {
		value = quote(nil, "(a value that cannot be written as JSON)")
	}
	b := append(make([]byte, 0, 64+len(logger)+len(value)), `{"level":"`...)
	b = append(b, level...)
	b = append(b, '"')
	if logger != "" {
		b = quote(append(b, `,"logger":`...), logger)
	}
	b = append(append(b, `,"data":`...), value...)
	b = append(b, '}')
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && c.sink != nil {
		c.sink.Log(string(level), b)
	}
}

// end cuts the call off from its sink, which is the caller's again from here on.
func (c *Call) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
}

// Level is how grave a log message is.
type Level string

// Levels of log messages, least grave first.
const (
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// enabled says whether one who asked for messages from `wanted` on gets this one.
func (l Level) enabled(wanted string) bool {
	w := wire.Severity(wanted)
	return w > 0 && wire.Severity(string(l)) >= w
}

package builtin

import (
	"math"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Call is one operation as its handler sees it. It is safe for concurrent use
// while the handler runs; notifications sent after that are dropped.
type Call struct {
	req   *catalog.Request
	sink  catalog.Sink
	input roundInput

	mu           sync.Mutex
	ended        bool
	lastProgress float64 // the last value that was sent
	hasProgress  bool    // lastProgress is valid
}

// ID identifies the call. It stays the same when the handler runs again with
// the client's answers.
func (c *Call) ID() string { return c.req.CallID }

// Name returns the name of the tool or prompt, or the URI of the resource.
func (c *Call) Name() string { return c.req.Name }

// Principal returns the caller. It may be nil only in tests.
func (c *Call) Principal() *junctor.Principal { return c.req.Principal }

// Progress reports progress: it restarts the limit of silence, and the caller
// receives it if it requests that. total 0 means unknown, and message may be "".
// Progress must increase: a value that is not above the last one is dropped.
func (c *Call) Progress(progress, total float64, message string) {
	if c.req.Idle != nil {
		c.req.Idle.Restart()
	}
	if !c.req.Caller.Progress || !isFinite(progress) || !isFinite(total) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.sink == nil || c.hasProgress && progress <= c.lastProgress {
		return
	}
	c.hasProgress, c.lastProgress = true, progress
	b := append(make([]byte, 0, 64+len(message)), `{"progress":`...)
	b = strconv.AppendFloat(b, progress, 'f', -1, 64)
	if total > 0 {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, total, 'f', -1, 64)
	}
	if message != "" {
		b = appendQuoted(append(b, `,"message":`...), message)
	}
	c.sink.Progress(append(b, '}'))
}

// isFinite reports whether JSON can represent a number.
func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Log sends a log message, if the caller requests messages of this level.
// logger names the source and may be ""; data is any value that JSON can
// represent. A message of an unknown level is dropped.
func (c *Call) Log(level Level, logger string, data any) {
	if !level.isEnabledFor(c.req.Caller.LogLevel) {
		return
	}
	value, err := jsonv2.Marshal(data, jsonv2.Deterministic(true))
	if err != nil {
		value = appendQuoted(nil, "(a value that cannot be written as JSON)")
	}
	b := append(make([]byte, 0, 64+len(logger)+len(value)), `{"level":"`...)
	b = append(b, level...)
	b = append(b, '"')
	if logger != "" {
		b = appendQuoted(append(b, `,"logger":`...), logger)
	}
	b = append(append(b, `,"data":`...), value...)
	b = append(b, '}')
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && c.sink != nil {
		c.sink.Log(string(level), b)
	}
}

// closeSink detaches the call from its sink, which belongs to the caller again
// from here on.
func (c *Call) closeSink() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
}

// Level is the severity of a log message.
type Level string

// Levels of log messages, lowest severity first.
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

// isEnabledFor reports whether a caller that requests messages of a level and
// above gets this one. A caller without a level gets none.
func (l Level) isEnabledFor(wanted string) bool {
	w := wire.Severity(wanted)
	return w > 0 && wire.Severity(string(l)) >= w
}

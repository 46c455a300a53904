package upstream

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// logLevel is the log level of a legacy session, which all its callers share. The session
// has the most verbose level that any caller asked for. Each call handler then filters by
// its caller's level.
type logLevel struct {
	// changing is a lock as a channel: callers stop waiting for it when their own time
	// ends.
	changing chan struct{}
	severity int // current level; 0 if not set
}

// lowerLevel makes the session send messages of at least this level. It ignores failures:
// a server may not support logging, and a call must not fail for that.
func (v *logLevel) lowerLevel(ctx context.Context, l link, level string) {
	severity := wire.Severity(level)
	if severity == 0 || wire.Get(l.serverCapabilities(), "logging") == nil {
		return
	}
	select {
	case v.changing <- struct{}{}:
		defer func() { <-v.changing }()
	case <-ctx.Done():
		return
	}
	if v.severity != 0 && v.severity <= severity {
		return
	}
	params := append(wire.AppendString([]byte(`{"level":`), level), '}')
	if _, err := l.roundTrip(ctx, wire.MethodLoggingSetLevel, params, nil); err == nil {
		v.severity = severity
	}
}

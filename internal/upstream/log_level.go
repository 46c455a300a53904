package upstream

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// logLevel is the log level of a legacy session, which all its callers share: it
// is set to the most talkative that any of them wants, and each caller is
// handed what it asked for.
type logLevel struct {
	changing chan struct{} // holds one while it is set: nobody waits for that beyond its own time
	severity int           // severity; 0 is not set
}

// lowerLevel makes the session send messages of this level. A failure is the
// server's way to say that it has none.
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

package telemetry

import (
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
)

// The keys of log attributes. One thing has the same key wherever it is logged.
const (
	KeyAddress    = "address"
	KeyCall       = "call_id"
	KeyCode       = "code"
	KeyEntryPoint = "entry_point"
	KeyDuration   = "duration"
	KeyError      = "error"
	KeyHost       = "host"
	KeyKey        = "key_id"
	KeyMethod     = "method"
	KeyPath       = "path"
	KeyRequest    = "request_id"
	KeyServer     = "server"
	KeySession    = "session"
	KeyStatus     = "status"
	KeySubject    = "subject"
	KeyTenant     = "tenant"
	KeyTool       = "tool"
	KeyVersion    = "version"
)

// ErrorAttr returns the attribute for an error: its message and, for a junctor.Error,
// its code and the cause that users are not shown.
func ErrorAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	e := junctor.AsError(err)
	attrs := []slog.Attr{slog.String("message", err.Error()), slog.String(KeyCode, string(e.Code))}
	if e.Cause != nil && e.Cause.Error() != err.Error() {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	return slog.Attr{Key: KeyError, Value: slog.GroupValue(attrs...)}
}

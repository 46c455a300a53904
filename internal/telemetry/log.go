// Package telemetry is how an instance tells what it does: log, metrics and
// traces. It is ground: app makes the three and hands them to the doors and
// guard, which count and trace each call through handles that were resolved
// when its route was made. Nothing here is global.
package telemetry

import (
	"io"
	"log/slog"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// NewLogger makes the logger of an instance. level is debug, info, warn or
// error; format is text or json; "" is info and text.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	opt := &slog.HandlerOptions{}
	switch strings.ToLower(level) {
	case "debug":
		opt.Level = slog.LevelDebug
	case "", "info":
		opt.Level = slog.LevelInfo
	case "warn":
		opt.Level = slog.LevelWarn
	case "error":
		opt.Level = slog.LevelError
	default:
		return nil, junctor.Errorf(junctor.CodeInvalid, "unknown log level %q: use debug, info, warn or error", level)
	}
	switch strings.ToLower(format) {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opt)), nil
	}
	return nil, junctor.Errorf(junctor.CodeInvalid, "unknown log format %q: use text or json", format)
}

package telemetry

import (
	"io"
	"log/slog"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// NewLogger returns the logger of an instance. level is debug, info (default),
// warn or error. format is text (default) or json. Any other value is
// CodeInvalid.
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

package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxLinesPerSecond is how many calls that were refused or failed are logged in a second.
// Callers decide how many there are: they must not fill the log. The journal has
// all of them.
const maxLinesPerSecond = 20

// endLog writes a line for each call that was refused or failed.
type endLog struct {
	mu            sync.Mutex
	second        time.Time // in which lines were written last
	linesInSecond int       // in it
	skippedLines  int       // since the last line
}

// logEnd logs how a call ended. Of a call that succeeded there is nothing to say.
func (l *endLog) logEnd(ctx context.Context, log *slog.Logger, call *junctor.Call, now time.Time) {
	level, message := slog.LevelWarn, "a call failed"
	switch call.Status {
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid:
		level, message = slog.LevelInfo, "a call was refused"
	case junctor.StatusCanceled:
		level, message = slog.LevelInfo, "a call was cancelled"
	case junctor.StatusError, junctor.StatusTimeout:
	default:
		return
	}
	if !log.Enabled(ctx, level) {
		return
	}
	skipped, ok := l.takeLine(now)
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("call", call.ID), slog.String("status", string(call.Status)), slog.String("entry_point", string(call.Door)), slog.String("kind", string(call.Kind)),
		slog.String("server", call.Server), slog.String("name", truncateText(call.Name, maxNameLength)),
	}
	for _, one := range []struct{ key, value string }{{"code", string(call.Code)}, {"reason", call.Reason}, {"user", call.User}, {"agent", call.Agent}} {
		if one.value != "" {
			attrs = append(attrs, slog.String(one.key, one.value))
		}
	}
	if call.Duration > 0 {
		attrs = append(attrs, slog.Duration("duration", call.Duration))
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int("not_logged", skipped))
	}
	log.LogAttrs(ctx, level, message, attrs...) //nolint:sloglint // one of the constants above
}

// takeLine says whether one more line may be written now, and how many were not since
// the last.
func (l *endLog) takeLine(now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := now.Sub(l.second); d < 0 || d >= time.Second {
		l.second, l.linesInSecond = now, 0
	}
	if l.linesInSecond >= maxLinesPerSecond {
		l.skippedLines++
		return 0, false
	}
	l.linesInSecond++
	skipped, l.skippedLines = l.skippedLines, 0
	return skipped, true
}

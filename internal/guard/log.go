package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxLines is how many calls that were refused or failed are logged in a second.
// Callers decide how many there are: they must not fill the log. The journal has
// all of them.
const maxLines = 20

// endLog writes a line for each call that was refused or failed.
type endLog struct {
	mu      sync.Mutex
	second  time.Time // in which lines were written last
	lines   int       // in it
	skipped int       // since the last line
}

// write logs how a call ended. Of a call that succeeded there is nothing to say.
func (l *endLog) write(ctx context.Context, log *slog.Logger, call *junctor.Call, now time.Time) {
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
	skipped, ok := l.take(now)
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("call", call.ID), slog.String("status", string(call.Status)), slog.String("entry_point", string(call.Door)), slog.String("kind", string(call.Kind)),
		slog.String("server", call.Server), slog.String("name", clip(call.Name, maxName)),
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

// take says whether one more line may be written now, and how many were not since
// the last.
func (l *endLog) take(now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := now.Sub(l.second); d < 0 || d >= time.Second {
		l.second, l.lines = now, 0
	}
	if l.lines >= maxLines {
		l.skipped++
		return 0, false
	}
	l.lines++
	skipped, l.skipped = l.skipped, 0
	return skipped, true
}

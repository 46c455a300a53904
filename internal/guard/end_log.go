package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxLinesPerSecond bounds the log lines about refused and failed calls. Callers decide
// how many such calls there are, and must not be able to fill the log. The journal has
// all of them.
const maxLinesPerSecond = 20

// endLog logs calls that were refused or failed.
type endLog struct {
	mu            sync.Mutex
	second        time.Time // start of the second in which lines were last written
	linesInSecond int       // lines written in that second
	skippedLines  int       // lines dropped since the last one was written
}

// logEnd logs the end of a call, unless it succeeded. Refusals and cancellations are
// logged at level info, failures at warn.
func (l *endLog) logEnd(ctx context.Context, log *slog.Logger, call *junctor.Call, now time.Time) {
	level := slog.LevelInfo
	switch call.Status {
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid, junctor.StatusCanceled:
	case junctor.StatusError, junctor.StatusTimeout:
		level = slog.LevelWarn
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
		slog.String("call", call.ID), slog.String("status", string(call.Status)), slog.String("entry_point", string(call.EntryPoint)), slog.String("kind", string(call.Kind)),
		slog.String("server", call.Server), slog.String("name", truncateText(call.Name, maxNameLength)),
	}
	for _, a := range []slog.Attr{
		slog.String("code", string(call.Code)), slog.String("reason", call.Reason), slog.String("user", call.User), slog.String("agent", call.Agent),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if call.Duration > 0 {
		attrs = append(attrs, slog.Duration("duration", call.Duration))
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int("not_logged", skipped))
	}
	switch {
	case level == slog.LevelWarn:
		log.LogAttrs(ctx, slog.LevelWarn, "call failed", attrs...)
	case call.Status == junctor.StatusCanceled:
		log.LogAttrs(ctx, slog.LevelInfo, "call canceled", attrs...)
	default:
		log.LogAttrs(ctx, slog.LevelInfo, "call refused", attrs...)
	}
}

// takeLine reports whether one more line may be written now. skipped is how many were
// dropped since the last one.
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

package telemetry

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
)

// PanicAttr returns the attribute for a recovered panic: the fault itself if it is
// one of Go's own, such as an index out of range, and otherwise only its type.
// The value of another panic may contain data that the caller sent.
func PanicAttr(p any) slog.Attr {
	text := fmt.Sprintf("%T", p)
	if e, ok := p.(runtime.Error); ok {
		text = e.Error()
	}
	return slog.Group("panic", slog.String("fault", text), slog.String("stack", string(debug.Stack())))
}

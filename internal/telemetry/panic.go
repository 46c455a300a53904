package telemetry

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
)

// Panic is the attribute for what a recovered panic held: the fault itself where
// it is Go's own, such as an index out of range, and only its type otherwise. A
// panic of somebody's tool may hold what the caller sent.
func Panic(p any) slog.Attr {
	text := fmt.Sprintf("%T", p)
	if e, ok := p.(runtime.Error); ok {
		text = e.Error()
	}
	return slog.Group("panic", slog.String("fault", text), slog.String("stack", string(debug.Stack())))
}

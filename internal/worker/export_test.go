package worker

import (
	"context"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
)

// Attempt makes the attempt that a lease is for, as Run does, and returns when its end
// is noted.
func (w *Worker) Attempt(ctx context.Context, l *queue.Lease) {
	f := w.beginAttempt(ctx, l, time.Now())
	w.runAttempt(f.ctx, f.runningAttempt)
}

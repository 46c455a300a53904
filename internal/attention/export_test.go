package attention

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// LookAndList is List that never relies on a former pass.
func (w *Watcher) LookAndList(ctx context.Context, p *junctor.Principal) (List, error) {
	w.lookSince(ctx, time.Now(), 0)
	return w.listCurrent(ctx, p, Filter{})
}

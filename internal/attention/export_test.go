package attention

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
)

// LookAndList is List that never relies on a former pass.
func (w *Watcher) LookAndList(ctx context.Context, p *junctor.Principal) (List, error) {
	w.lookNow(ctx, 0)
	return w.listCurrent(ctx, p, Filter{})
}

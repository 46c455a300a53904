package history

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// searchPatience is how long a search waits for its turn: longer than a dozen others take.
const searchPatience = 10 * time.Second

// awaitSearch waits until it is the turn of a search, in the order in which they came. The
// caller has to call release. The error is CodeLimited if it takes longer than patience; 0
// stands for as long as it takes.
func (h *History) awaitSearch(ctx context.Context, patience time.Duration) (release func(), err error) {
	release = func() { <-h.searchSlots }
	var expired <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case h.searchSlots <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, h.wrapError(ctx, ctx.Err(), "search the call history")
	case <-h.stopped:
		return nil, closedError()
	case <-expired:
		return nil, &junctor.Error{
			Code: junctor.CodeLimited, RetryAfter: 5 * time.Second,
			Message: "too many searches of the call history are running; try again in a few seconds, or search a shorter period",
		}
	}
}

package history

import (
	"context"
	"time"
)

// pruneSize is how many calls are deleted in one transaction: the writer waits
// for no longer than that.
const pruneSize = 2000

// Prune deletes the calls of all tenants that started before a time, and says
// how many they were. The sums stay.
func (h *History) Prune(ctx context.Context, before time.Time) (int64, error) {
	var pruned int64
	for {
		res, err := h.o.Write.ExecContext(ctx, h.o.Dialect.Bind(`DELETE FROM history_calls WHERE (tenant_id, id) IN
			(SELECT tenant_id, id FROM history_calls WHERE at < ? LIMIT ?)`), before.UnixMicro(), pruneSize)
		if err == nil {
			var n int64
			n, err = res.RowsAffected()
			if pruned += n; err == nil && n < pruneSize {
				return pruned, nil
			}
		}
		if err != nil && !h.o.Dialect.Busy(err) || ctx.Err() != nil {
			return pruned, h.fail(ctx, err, "prune the call history")
		}
	}
}

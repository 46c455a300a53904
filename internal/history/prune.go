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
	tenants, err := h.tenants(ctx)
	if err != nil {
		return 0, h.fail(ctx, err, "prune the call history")
	}
	var pruned int64
	for _, tenant := range tenants {
		n, err := h.pruneTenant(ctx, tenant, before)
		pruned += n
		if err != nil {
			return pruned, h.fail(ctx, err, "prune the call history")
		}
	}
	return pruned, nil
}

// tenants lists who has calls: there is no call without a sum.
func (h *History) tenants(ctx context.Context) ([]string, error) {
	rows, err := h.o.Read.QueryContext(ctx, `SELECT DISTINCT tenant_id FROM history_usage`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

func (h *History) pruneTenant(ctx context.Context, tenant string, before time.Time) (pruned int64, err error) {
	for {
		res, err := h.o.Write.ExecContext(ctx, h.o.Dialect.Bind(`DELETE FROM history_calls WHERE (tenant_id, id) IN
			(SELECT tenant_id, id FROM history_calls WHERE tenant_id = ? AND at < ? ORDER BY at LIMIT ?)`), tenant, before.UnixMicro(), pruneSize)
		if err != nil {
			if h.o.Dialect.Busy(err) && ctx.Err() == nil {
				continue
			}
			return pruned, err
		}
		n, err := res.RowsAffected()
		if pruned += n; err != nil || n < pruneSize {
			return pruned, err
		}
	}
}

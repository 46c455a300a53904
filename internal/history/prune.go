package history

import (
	"context"
	"time"
)

// pruneBatch is how many calls are deleted in one transaction, which bounds how
// long the writer waits for it.
const pruneBatch = 2000

// Prune deletes the calls of all tenants that started before a time, and returns
// how many it deleted. The sums stay.
func (h *History) Prune(ctx context.Context, before time.Time) (int64, error) {
	tenants, err := h.listTenants(ctx)
	if err != nil {
		return 0, h.wrapError(ctx, err, "prune the call history")
	}
	var pruned int64
	for _, tenant := range tenants {
		n, err := h.pruneTenant(ctx, tenant, before)
		pruned += n
		if err != nil {
			return pruned, h.wrapError(ctx, err, "prune the call history")
		}
	}
	return pruned, nil
}

// listTenants lists the tenants that have calls. There is no call without a sum,
// so the small usage table is enough.
func (h *History) listTenants(ctx context.Context) ([]string, error) {
	rows, err := h.options.Read.QueryContext(ctx, `SELECT DISTINCT tenant_id FROM history_usage`)
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

// pruneTenant deletes the old calls of a tenant, batch by batch.
func (h *History) pruneTenant(ctx context.Context, tenant string, before time.Time) (pruned int64, err error) {
	for {
		res, err := h.options.Write.ExecContext(ctx, h.options.Dialect.Bind(`DELETE FROM history_calls WHERE (tenant_id, id) IN
			(SELECT tenant_id, id FROM history_calls WHERE tenant_id = ? AND at < ? ORDER BY at LIMIT ?)`), tenant, before.UnixMicro(), pruneBatch)
		if err != nil {
			if h.options.Dialect.Busy(err) && ctx.Err() == nil {
				continue
			}
			return pruned, err
		}
		n, err := res.RowsAffected()
		if pruned += n; err != nil || n < pruneBatch {
			return pruned, err
		}
	}
}

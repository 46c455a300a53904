package attention

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Outage is a time in which clients could not use a server.
type Outage struct {
	Server   string                    `json:"server" doc:"ID of the server."`
	Name     string                    `json:"name" doc:"Name of the server for people."`
	Severity junctor.AttentionSeverity `json:"severity" enum:"critical,warning,info" doc:"critical if the server failed, warning if it worked again once somebody logged in."`
	Problem  string                    `json:"problem" doc:"What was wrong."`
	From     time.Time                 `json:"from" doc:"When it was noticed."`
	To       time.Time                 `json:"to,omitzero" doc:"When the server was noticed to work again. Absent if it does not work yet."`
}

// MaxOutages is how many outages a list has at most: the newest.
const MaxOutages = 1000

// Outages returns the times in which servers did not work, as far as a principal may see them:
// those that had not ended before a time and began before another one, the newest first. If
// server is not "", it returns those of this server. Ended ones are read from their events,
// which are kept for 30 days.
func (w *Watcher) Outages(ctx context.Context, p *junctor.Principal, server string, from, to time.Time) ([]Outage, error) {
	rows, ends, err := w.readOutages(ctx, p.Tenant, from)
	if err != nil {
		return nil, err
	}
	visible, err := w.visibleTo(ctx, p)
	if err != nil {
		return nil, err
	}
	out := []Outage{}
	for i := range rows {
		r := &rows[i]
		if r.item.Kind != junctor.AttentionServer || server != "" && r.item.Object.ID != server || !r.item.Since.Before(to) {
			continue
		}
		if item, ok := visible(r); ok {
			out = append(out, Outage{item.Object.ID, item.Object.Name, item.Severity, item.Problem, item.Since, ends[i]})
		}
	}
	slices.SortFunc(out, func(a, b Outage) int { return cmp.Or(b.From.Compare(a.From), cmp.Compare(a.Server, b.Server)) })
	return out[:min(len(out), MaxOutages)], nil
}

// readOutages reads the items of servers of a tenant: those that are there now, and those that
// were cleared at a time or later, and when each was cleared. An item that is there has none.
func (w *Watcher) readOutages(ctx context.Context, tenant junctor.TenantID, from time.Time) (list []row, ends []time.Time, err error) {
	stored, err := w.readRows(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range stored {
		if stored[i].item.Tenant == tenant && stored[i].item.Kind == junctor.AttentionServer {
			list, ends = append(list, stored[i]), append(ends, time.Time{})
		}
	}
	rows, err := w.o.DB.Read.QueryContext(ctx, w.o.DB.Dialect.Bind(`SELECT data, received_at FROM events WHERE tenant_id = ? AND source = ? AND type = ? AND received_at >= ?
		ORDER BY received_at DESC LIMIT ?`), string(tenant), junctor.AttentionSource(junctor.AttentionServer), junctor.EventAttentionCleared, from.UnixMicro(), MaxOutages)
	if err != nil {
		return nil, nil, w.o.DB.Fail(ctx, err, "read the outages of servers")
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {
		var data []byte
		var received int64
		r := row{}
		err := rows.Scan(&data, &received)
		if err == nil {
			err = json.Unmarshal(data, &r.item)
		}
		if err != nil {
			return nil, nil, w.o.DB.Fail(ctx, fmt.Errorf("an event of a server: %w", err), "read the outages of servers")
		}
		r.item.Tenant, r.server = tenant, r.item.Object.ID
		list, ends = append(list, r), append(ends, time.UnixMicro(received).UTC())
	}
	if err := rows.Err(); err != nil {
		return nil, nil, w.o.DB.Fail(ctx, err, "read the outages of servers")
	}
	return list, ends, nil
}

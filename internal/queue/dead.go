package queue

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxDeadGroups bounds the list of CountDead.
const maxDeadGroups = 1000

// DeadJobs are the dead jobs of a lane that one trigger made.
type DeadJobs struct {
	Tenant  junctor.TenantID
	Lane    string
	Trigger string // "" if none made them
	Count   int
	Since   time.Time // end of the oldest
	Newest  string    // id of the newest
	Error   string    // of its last attempt
}

// CountDead counts the dead jobs of a queue, of all tenants, by lane and trigger. It reads only
// dead jobs.
func (q *Queue) CountDead(ctx context.Context, name string) ([]DeadJobs, error) {
	d := q.options.DB.Dialect
	rows, err := q.options.DB.Read.QueryContext(ctx, d.Bind(`SELECT g.tenant_id, g.lane, g.trigger_id, g.n, g.since, g.newest, j.error
		FROM (SELECT tenant_id, lane, trigger_id, COUNT(*) AS n, MIN(ended_at) AS since, MAX(id) AS newest FROM jobs
			WHERE queue = ? AND `+d.Stuck(string(StateDead))+` GROUP BY tenant_id, lane, trigger_id) g
		JOIN jobs j ON j.tenant_id = g.tenant_id AND j.id = g.newest ORDER BY g.since LIMIT ?`), name, maxDeadGroups)
	if err != nil {
		return nil, q.wrapError(ctx, err, "count dead jobs")
	}
	defer rows.Close() // rows.Err reports errors
	var out []DeadJobs
	for rows.Next() {
		var one DeadJobs
		var n, since int64
		var tenant, lane string
		if err := rows.Scan(&tenant, &lane, &one.Trigger, &n, &since, &one.Newest, &one.Error); err != nil {
			return nil, q.wrapError(ctx, err, "count dead jobs")
		}
		one.Tenant, one.Count, one.Since = junctor.TenantID(tenant), int(n), fromMicros(since)
		one.Lane = strings.TrimPrefix(lane, storedLane(one.Tenant, ""))
		out = append(out, one)
	}
	return out, q.wrapError(ctx, rows.Err(), "count dead jobs")
}

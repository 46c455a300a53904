package queue

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// LaneState determines whether jobs of a lane are leased, in the terms of a
// circuit breaker: jobs pass while it is closed.
type LaneState string

// The states of a lane. A half-open lane lets one job through as a probe. Only a
// person ends LaneStopped.
const (
	LaneClosed   LaneState = "closed"
	LaneOpen     LaneState = "open"
	LaneHalfOpen LaneState = "half"
	LaneStopped  LaneState = "stopped"
)

// Lane is a lane that has jobs or is not closed.
type Lane struct {
	Tenant junctor.TenantID `json:"-"`
	Name   string           `json:"lane"`
	State  LaneState        `json:"state"`
	Until  time.Time        `json:"until,omitzero"`
	// How many times in a row it was opened.
	Opened    int       `json:"opened,omitempty"`
	Reason    string    `json:"why,omitempty"`
	ChangedAt time.Time `json:"changed_at,omitzero"`
	Jobs      int       `json:"jobs"` // jobs that have not ended
	// Of Jobs, the ones that are held individually.
	Held int `json:"held"`
}

// probeTimeout is how long the result of a probe is awaited before another job is
// let through.
const probeTimeout = time.Minute

// OpenLane keeps jobs of a lane from being leased for a while: for first and,
// each further time in a row, twice as long, up to most. The jobs do not fail
// meanwhile. A stopped lane stays stopped.
func (q *Queue) OpenLane(ctx context.Context, queue string, tenant junctor.TenantID, lane string, first, most time.Duration, why string) error {
	return q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		var opened int
		err := tx.QueryRow(ctx, `SELECT opened FROM job_lanes WHERE queue = ? AND lane = ?`, queue, storedLane(tenant, lane)).Scan(&opened)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		until := tx.now.Add(min(first<<min(opened, 20), most))
		return tx.setLane(ctx, queue, tenant, lane, LaneOpen, toMicros(until), why)
	})
}

// StopLane keeps jobs of a lane from being leased until CloseLane with byHand.
func (q *Queue) StopLane(ctx context.Context, queue string, tenant junctor.TenantID, lane, why string) error {
	return q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		return tx.setLane(ctx, queue, tenant, lane, LaneStopped, 0, why)
	})
}

// setLane stores the state of a lane that is not closed, and counts how often
// that happened in a row.
func (tx *Tx) setLane(ctx context.Context, queue string, tenant junctor.TenantID, lane string, state LaneState, until int64, why string) error {
	_, err := tx.Exec(ctx, `INSERT INTO job_lanes (tenant_id, queue, lane, state, until, opened, why, changed_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?)
		ON CONFLICT (queue, lane) DO UPDATE SET state = excluded.state, until = excluded.until, opened = job_lanes.opened + 1, why = excluded.why, changed_at = excluded.changed_at
		WHERE job_lanes.state <> 'stopped' OR excluded.state = 'stopped'`,
		string(tenant), queue, storedLane(tenant, lane), string(state), until, storableText(why), toMicros(tx.now))
	return err
}

// CloseLane lets jobs of a lane be leased again, all at once and in their order.
// Without byHand, a stopped lane stays stopped.
func (q *Queue) CloseLane(ctx context.Context, queue string, tenant junctor.TenantID, lane string, byHand bool) error {
	return q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM job_lanes WHERE queue = ? AND lane = ? AND (state <> 'stopped' OR ? = 1)`, queue, storedLane(tenant, lane), boolToInt(byHand))
		if err != nil || n == 0 {
			return err
		}
		tx.wakesWorkers = true
		_, err = tx.Exec(ctx, `UPDATE jobs SET run_at = ? WHERE queue = ? AND lane = ? AND `+isReadyCondition+` AND run_at > ?`,
			toMicros(tx.now), queue, storedLane(tenant, lane), toMicros(tx.now))
		return err
	})
}

// admitProbe makes the oldest job of a lane due, if the lane was open for long
// enough. It returns false if another process did so first.
func (tx *Tx) admitProbe(ctx context.Context, queue, lane string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE job_lanes SET state = 'half', until = ?, changed_at = ? WHERE queue = ? AND lane = ? AND state IN ('open', 'half') AND until <= ?`,
		toMicros(tx.now.Add(probeTimeout)), toMicros(tx.now), queue, lane, toMicros(tx.now))
	if err != nil || n == 0 {
		return false, err
	}
	tenant, _, _ := strings.Cut(lane, " ")
	_, err = tx.Exec(ctx, `UPDATE jobs SET run_at = CASE WHEN run_at < ? THEN run_at ELSE ? END
		WHERE tenant_id = ? AND id = (SELECT id FROM jobs WHERE queue = ? AND lane = ? AND `+isReadyCondition+` ORDER BY seq LIMIT 1)`,
		toMicros(tx.now), toMicros(tx.now), tenant, queue, lane)
	return true, err
}

// countLanesQuery counts a tenant's jobs that have not ended, and the held ones
// among them, by lane. Both parts read only an index: stored lanes begin with
// their tenant.
func (q *Queue) countLanesQuery() string {
	return `SELECT lane, COUNT(*), 0 FROM jobs WHERE queue = ? AND ended_at IS NULL AND lane >= ? AND lane < ? GROUP BY lane
		UNION ALL SELECT lane, 0, COUNT(*) FROM jobs WHERE queue = ? AND ` + q.options.DB.Dialect.Stuck(string(StateHeld)) + ` AND lane >= ? AND lane < ? GROUP BY lane`
}

// storedLaneRange returns where the lanes of a tenant begin and end in the order
// of stored lanes.
func storedLaneRange(tenant junctor.TenantID) (from, to string) {
	from = storedLane(tenant, "")
	return from, strings.TrimSuffix(from, " ") + "!" // the character after the space
}

// Lanes returns a tenant's lanes that have unfinished jobs or are not closed, by
// name.
func (q *Queue) Lanes(ctx context.Context, queue string, tenant junctor.TenantID) ([]Lane, error) {
	lanes := map[string]*Lane{}
	lane := func(name string) *Lane {
		if lanes[name] == nil {
			lanes[name] = &Lane{Tenant: tenant, Name: strings.TrimPrefix(name, storedLane(tenant, "")), State: LaneClosed}
		}
		return lanes[name]
	}
	from, to := storedLaneRange(tenant)
	err := q.eachRow(ctx, func(rows *sql.Rows) error {
		var name string
		var jobs, held int
		if err := rows.Scan(&name, &jobs, &held); err != nil {
			return err
		}
		l := lane(name)
		l.Jobs, l.Held = l.Jobs+jobs, l.Held+held
		return nil
	}, q.countLanesQuery(), queue, from, to, queue, from, to)
	if err != nil {
		return nil, q.wrapError(ctx, err, "list lanes")
	}
	err = q.eachRow(ctx, func(rows *sql.Rows) error {
		var name, why string
		var state LaneState
		var until, changed int64
		var opened int
		if err := rows.Scan(&name, &state, &until, &opened, &why, &changed); err != nil {
			return err
		}
		l := lane(name)
		l.State, l.Opened, l.Reason = state, opened, why
		if until > 0 {
			l.Until = fromMicros(until)
		}
		if changed > 0 {
			l.ChangedAt = fromMicros(changed)
		}
		return nil
	}, `SELECT lane, state, until, opened, why, changed_at FROM job_lanes WHERE queue = ? AND lane >= ? AND lane < ?`, queue, from, to)
	if err != nil {
		return nil, q.wrapError(ctx, err, "list lanes")
	}
	list := make([]Lane, 0, len(lanes))
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		list = append(list, *lanes[name])
	}
	return list, nil
}

// eachRow runs a query and passes each row to scan.
func (q *Queue) eachRow(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.options.DB.Read.QueryContext(ctx, q.options.DB.Dialect.Bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

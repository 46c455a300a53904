package queue

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Change is an operation that a person performs on jobs.
type Change string

// The changes. Queue has a method for each.
const (
	ChangeHold    Change = "hold"
	ChangeRelease Change = "release"
	ChangeDrop    Change = "drop"
	ChangeReplay  Change = "replay"
)

// AppliesTo returns the states of the jobs that the change applies to; nil for an
// unknown change.
func (c Change) AppliesTo() []State {
	switch c {
	case ChangeHold:
		return []State{StateWaiting, StateReady, StateLeased}
	case ChangeRelease:
		return []State{StateHeld, StateWaiting, StateLeased}
	case ChangeDrop:
		return []State{StateWaiting, StateReady, StateLeased, StateHeld, StateDead}
	case ChangeReplay:
		return []State{StateDone, StateDead, StateDropped, StateHeld, StateReady}
	}
	return nil
}

// Hold keeps the jobs that f selects from being leased, until Release. A job that
// is running is held if its attempt fails. It returns the number of jobs.
func (q *Queue) Hold(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ChangeHold, `held = '`+HeldByHand+`', state = CASE state WHEN 'ready' THEN 'held' ELSE state END`)
}

// Release makes held jobs ready now. It returns the number of jobs.
func (q *Queue) Release(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ChangeRelease, `run_at = CASE state WHEN 'held' THEN ? ELSE run_at END, held = '', state = CASE state WHEN 'held' THEN 'ready' ELSE state END`)
}

// Drop ends jobs. A running attempt is not waited for, and not repeated. It
// returns the number of jobs.
func (q *Queue) Drop(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ChangeDrop, `ended_at = COALESCE(ended_at, ?), held = '', blocks = 0, lease_until = 0, owner = '', state = 'dropped'`)
}

// Replay runs jobs that ended again. They keep their ids, and the numbers of
// their attempts continue. Jobs of a line run in their order, before all others
// that are not running. A job that waits for its next attempt, or is held, runs
// now. It returns the number of jobs.
func (q *Queue) Replay(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ChangeReplay, `run_at = ?, held = '', base = CASE WHEN ended_at IS NULL THEN base ELSE attempt END, lost = 0,
			blocks = CASE WHEN ended_at IS NULL THEN blocks WHEN order_key = '' THEN 0 ELSE 1 END,
			state = CASE WHEN ended_at IS NOT NULL AND order_key <> '' THEN 'waiting' ELSE 'ready' END, ended_at = NULL`)
}

// applyChange sets columns of the jobs that f selects and that are in a state
// that c applies to, up to maxChange of them. Each question mark in set stands
// for the current time.
func (q *Queue) applyChange(ctx context.Context, tenant junctor.TenantID, f Filter, c Change, set string) (count int, err error) {
	if !f.narrowStates(c.AppliesTo()) {
		return 0, nil
	}
	where, filterArgs := f.buildCondition(q.options.DB.Dialect, tenant)
	err = q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		var args []any
		for _, r := range set {
			if r == '?' {
				args = append(args, toMicros(tx.now))
			}
		}
		args = append(append(append(args, string(tenant)), filterArgs...), maxChange)
		rows, err := tx.Query(ctx, `UPDATE jobs SET `+set+` WHERE tenant_id = ? AND id IN (SELECT id FROM jobs WHERE `+where+` ORDER BY seq LIMIT ?`+tx.dialect.Wait()+`) RETURNING tenant_id, queue, order_key`, args...)
		if err != nil {
			return err
		}
		defer rows.Close() // rows.Err reports errors
		var lines []orderLine
		for count = 0; rows.Next(); count++ {
			var l orderLine
			if err := rows.Scan(&l.tenant, &l.queue, &l.key); err != nil {
				return err
			}
			if l.key != "" {
				lines = append(lines, l)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		_ = rows.Close() // PostgreSQL runs one statement at a time
		tx.wakesWorkers = true
		return tx.advanceLines(ctx, lines)
	})
	return count, err
}

// Count returns how many jobs a change would apply to. It changes nothing.
func (q *Queue) Count(ctx context.Context, tenant junctor.TenantID, f Filter, c Change) (count int, err error) {
	if !f.narrowStates(c.AppliesTo()) {
		return 0, nil
	}
	where, args := f.buildCondition(q.options.DB.Dialect, tenant)
	err = q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT COUNT(*) FROM jobs WHERE `+where), args...).Scan(&count)
	return count, q.wrapError(ctx, err, "count jobs")
}

// narrowStates limits the filter's states to the given ones, and reports whether
// any are left.
func (f *Filter) narrowStates(to []State) bool {
	if len(f.States) == 0 {
		f.States = to
		return true
	}
	f.States = intersectStates(f.States, to)
	return len(f.States) > 0
}

// intersectStates returns the states that are in both lists, in the order of a.
func intersectStates(a, b []State) (list []State) {
	for _, s := range a {
		for _, t := range b {
			if s == t {
				list = append(list, s)
			}
		}
	}
	return list
}

// Prune deletes up to 500 jobs of a queue that ended before a time, or before
// deadBefore if they are dead. It returns how many it deleted; the caller repeats
// it while there are more. It also deletes lines that were empty for long.
func (q *Queue) Prune(ctx context.Context, queue string, before, deadBefore time.Time) (gone int64, err error) {
	const some = 500
	err = q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM jobs WHERE `+tx.dialect.Among(`SELECT `+tx.dialect.Row()+` FROM jobs
			WHERE queue = ? AND ended_at IS NOT NULL AND ended_at < ? AND (state <> 'dead' OR ended_at < ?) LIMIT ?`), queue, toMicros(before), toMicros(deadBefore), some)
		if err != nil {
			return err
		}
		gone = n
		_, err = tx.Exec(ctx, `DELETE FROM job_lines WHERE queue = ? AND last < ? AND NOT EXISTS (SELECT 1 FROM jobs j
			WHERE j.tenant_id = job_lines.tenant_id AND j.queue = job_lines.queue AND j.order_key = job_lines.order_key AND j.blocks = 1)`,
			queue, tx.now.Add(-emptyLineTTL).UnixNano())
		return err
	})
	return gone, err
}

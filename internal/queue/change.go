package queue

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Change is what a person does with jobs.
type Change string

// The changes; a method of Queue makes each.
const (
	ToHold    Change = "hold"
	ToRelease Change = "release"
	ToDrop    Change = "drop"
	ToReplay  Change = "replay"
)

// From lists the states of the jobs that the change is made with; none for what
// is no change.
func (c Change) From() []State {
	switch c {
	case ToHold:
		return []State{Waiting, Ready, Leased}
	case ToRelease:
		return []State{Held, Waiting, Leased}
	case ToDrop:
		return []State{Waiting, Ready, Leased, Held, Dead}
	case ToReplay:
		return []State{Done, Dead, Dropped, Held, Ready}
	}
	return nil
}

// Hold keeps the jobs that a filter chooses from being leased, until Release.
// One that is under way is held when its attempt failed. It gives how many.
func (q *Queue) Hold(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ToHold, `held = '`+HeldByHand+`', state = CASE state WHEN 'ready' THEN 'held' ELSE state END`)
}

// Release lets held jobs go on, now.
func (q *Queue) Release(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ToRelease, `run_at = CASE state WHEN 'held' THEN ? ELSE run_at END, held = '', state = CASE state WHEN 'held' THEN 'ready' ELSE state END`)
}

// Drop ends jobs: what is under way is no longer waited for, and not repeated.
func (q *Queue) Drop(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ToDrop, `ended_at = COALESCE(ended_at, ?), held = '', blocks = 0, lease_until = 0, owner = '', state = 'dropped'`)
}

// Replay has jobs that ended done again, under the ids that they have and with
// attempts that are numbered on; those of a line in their order, before all that
// is not under way. One that waits for its next attempt, or is held, goes now.
func (q *Queue) Replay(ctx context.Context, tenant junctor.TenantID, f Filter) (int, error) {
	return q.applyChange(ctx, tenant, f, ToReplay, `run_at = ?, held = '', base = CASE WHEN ended_at IS NULL THEN base ELSE attempt END, lost = 0,
			blocks = CASE WHEN ended_at IS NULL THEN blocks WHEN order_key = '' THEN 0 ELSE 1 END,
			state = CASE WHEN ended_at IS NOT NULL AND order_key <> '' THEN 'waiting' ELSE 'ready' END, ended_at = NULL`)
}

// applyChange sets columns of the jobs that a filter chooses and that the change is
// made with. set may have one question mark, for the time.
func (q *Queue) applyChange(ctx context.Context, tenant junctor.TenantID, f Filter, c Change, set string) (count int, err error) {
	if !f.narrowStates(c.From()) {
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
		defer rows.Close() // Err tells what went wrong
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
		_ = rows.Close() // PostgreSQL takes one statement at a time
		tx.wakesWorkers = true
		return tx.advanceLines(ctx, lines)
	})
	return count, err
}

// Count says how many jobs a change would be made with, and changes nothing.
func (q *Queue) Count(ctx context.Context, tenant junctor.TenantID, f Filter, c Change) (count int, err error) {
	if !f.narrowStates(c.From()) {
		return 0, nil
	}
	where, args := f.buildCondition(q.options.DB.Dialect, tenant)
	err = q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT COUNT(*) FROM jobs WHERE `+where), args...).Scan(&count)
	return count, q.wrapError(ctx, err, "count jobs")
}

// narrowStates keeps of the filter's states those that are among some, and says whether
// there are any.
func (f *Filter) narrowStates(to []State) bool {
	if len(f.States) == 0 {
		f.States = to
		return true
	}
	f.States = intersectStates(f.States, to)
	return len(f.States) > 0
}

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

// Prune forgets jobs of a queue that ended before a time, dead ones before
// another, some at once; it gives how many. Lines that are empty go too.
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

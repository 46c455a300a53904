package queue

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxLanes bounds from how many lanes one claim takes.
const maxLanes = 64

// maxIdle is how long at most Claim says that there is nothing to do: another
// process may add jobs unheard.
const maxIdle = 5 * time.Second

// laneView is a lane with jobs that are ready, as a look at the database shows it.
type laneView struct {
	lane  string
	due   int64 // the first of them
	state LaneState
	until int64
	take  int
}

// Claim leases up to most jobs that are due, no more of a lane than room says.
// It also takes back leases that ran out, and sends one job ahead into a lane
// that was closed for long enough. next is when to come again if nobody is woken
// before.
func (q *Queue) Claim(ctx context.Context, queue string, most int, room func(tenant junctor.TenantID, lane string) int) (leases []*Lease, next time.Time, err error) {
	now := q.o.Now()
	next = now.Add(maxIdle)
	if most <= 0 {
		return nil, next, nil
	}
	lanes, err := q.lanes(ctx, queue)
	if err != nil {
		return nil, next, q.fail(ctx, err, "look for jobs")
	}
	runsOut, err := q.runsOut(ctx, queue)
	if err != nil {
		return nil, next, q.fail(ctx, err, "look for jobs")
	}
	later := func(at int64) {
		if t := fromMicros(at); t.Before(next) {
			next = t
		}
	}
	if runsOut > 0 {
		later(runsOut)
	}
	due := lanes[:0]
	for _, l := range lanes {
		switch {
		case l.state == LaneStopped:
		case l.state != LaneClosed && l.until > micros(now):
			later(l.until)
		case l.state == LaneClosed && l.due > micros(now):
			later(l.due)
		default:
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b laneView) int { return cmp.Compare(a.due, b.due) })
	wanted := due[:0]
	left := most
	for _, l := range due {
		if left == 0 || len(wanted) == maxLanes {
			next = now // more than fits: come again at once
			break
		}
		tenant, lane, _ := strings.Cut(l.lane, " ")
		if l.take = min(room(junctor.TenantID(tenant), lane), left); l.take <= 0 {
			continue
		}
		if l.state != LaneClosed {
			l.take = 1
		}
		left -= l.take
		wanted = append(wanted, l)
	}
	late := runsOut > 0 && runsOut <= micros(now)
	if len(wanted) == 0 && !late {
		return nil, next, nil
	}
	err = q.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		if late {
			n, err := tx.takeBack(ctx, queue)
			if err != nil {
				return err
			}
			if n > 0 {
				next = now
			}
		}
		leases, err = tx.lease(ctx, queue, wanted)
		return err
	})
	if err != nil {
		return nil, next, err
	}
	return leases, next, nil
}

// lanes looks which lanes have jobs that are ready, stepping from lane to lane
// over the index: what waits in one costs the others nothing. It asks for the
// first and not for a minimum, for which PostgreSQL may read all that is ready.
func (q *Queue) lanes(ctx context.Context, queue string) ([]laneView, error) {
	rows, err := q.o.DB.Read.QueryContext(ctx, q.o.DB.Dialect.Bind(`WITH RECURSIVE l(lane) AS (
			SELECT (SELECT j.lane FROM jobs j WHERE j.queue = ? AND j.state = 'ready' ORDER BY j.lane LIMIT 1)
			UNION ALL
			SELECT (SELECT j.lane FROM jobs j WHERE j.queue = ? AND j.state = 'ready' AND j.lane > l.lane ORDER BY j.lane LIMIT 1) FROM l WHERE l.lane IS NOT NULL)
		SELECT l.lane, (SELECT j.run_at FROM jobs j WHERE j.queue = ? AND j.state = 'ready' AND j.lane = l.lane ORDER BY j.run_at LIMIT 1), COALESCE(s.state, 'closed'), COALESCE(s.until, 0)
		FROM l LEFT JOIN job_lanes s ON s.queue = ? AND s.lane = l.lane WHERE l.lane IS NOT NULL`), queue, queue, queue, queue)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err tells what went wrong
	var list []laneView
	for rows.Next() {
		var l laneView
		var due sql.NullInt64
		if err := rows.Scan(&l.lane, &due, &l.state, &l.until); err != nil {
			return nil, err
		}
		if l.due = due.Int64; due.Valid {
			list = append(list, l)
		}
	}
	return list, rows.Err()
}

// runsOut is when the first lease does; 0 where there is none.
func (q *Queue) runsOut(ctx context.Context, queue string) (int64, error) {
	var at sql.NullInt64
	err := q.o.DB.Read.QueryRowContext(ctx, q.o.DB.Dialect.Bind(`SELECT (SELECT lease_until FROM jobs WHERE queue = ? AND state = 'leased' ORDER BY lease_until LIMIT 1)`), queue).Scan(&at)
	return at.Int64, err
}

// takeBack makes jobs ready whose leases ran out.
func (tx *Tx) takeBack(ctx context.Context, queue string) (int64, error) {
	return tx.Exec(ctx, `UPDATE jobs SET state = CASE WHEN held = '' THEN 'ready' ELSE 'held' END, run_at = ?, lease_until = 0, owner = '', lost = lost + 1
		WHERE `+tx.dialect.Among(`SELECT `+tx.dialect.Row()+` FROM jobs WHERE queue = ? AND state = 'leased' AND lease_until <= ?`+tx.dialect.Skip()),
		micros(tx.now), queue, micros(tx.now))
}

// lease takes jobs of lanes.
func (tx *Tx) lease(ctx context.Context, queue string, lanes []laneView) ([]*Lease, error) {
	var pick strings.Builder
	var args []any
	for _, l := range lanes {
		if l.state != LaneClosed {
			ahead, err := tx.sendAhead(ctx, queue, l.lane)
			if err != nil {
				return nil, err
			}
			if !ahead {
				continue
			}
		}
		if pick.Len() > 0 {
			pick.WriteString(" UNION ALL ")
		}
		pick.WriteString(`SELECT place FROM (SELECT ` + tx.dialect.Row() + ` AS place FROM jobs WHERE queue = ? AND lane = ? AND state = 'ready' AND run_at <= ? ORDER BY run_at, seq LIMIT ?` + tx.dialect.Skip() + `) AS one`)
		args = append(args, queue, l.lane, micros(tx.now), l.take)
	}
	if len(args) == 0 {
		return nil, nil
	}
	until := tx.now.Add(tx.q.o.Lease)
	args = append([]any{micros(until), tx.q.o.Owner}, args...)
	rows, err := tx.Query(ctx, `UPDATE jobs SET state = 'leased', lease = lease + 1, lease_until = ?, owner = ? WHERE `+tx.dialect.Among(pick.String())+` RETURNING `+jobColumns, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err tells what went wrong
	var leases []*Lease
	for rows.Next() {
		l := &Lease{Until: until}
		if err := scanJob(rows, &l.Job); err != nil {
			return nil, err
		}
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.seq, b.seq) })
	return leases, rows.Err()
}

// isLeased says that a job is leased so that no index is taken for it: the job is
// found by its id, and not among all that are leased or were.
const isLeased = `COALESCE(state, '') = 'leased'`

// Extend makes leases last from now on. Those that are no longer this process's
// come back: their work should end.
func (q *Queue) Extend(ctx context.Context, leases []*Lease) (lost []*Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	tenants, ids, tokens := make([]string, len(leases)), make([]string, len(leases)), make([]int64, len(leases))
	for i, l := range leases {
		tenants[i], ids[i], tokens[i] = string(l.Tenant), l.ID, l.lease
	}
	rows, args, err := q.o.DB.Dialect.Zip(tenants, ids, tokens)
	if err != nil {
		return nil, q.fail(ctx, err, "extend leases")
	}
	err = q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		until := tx.now.Add(q.o.Lease)
		found, err := tx.Query(ctx, `WITH r(whose, job, token) AS (`+rows+`)
			UPDATE jobs SET lease_until = ? FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+isLeased+` RETURNING id, lease`,
			append(slices.Clone(args), micros(until))...)
		if err != nil {
			return err
		}
		defer found.Close() // Err tells what went wrong
		kept := map[string]int64{}
		for found.Next() {
			var id string
			var token int64
			if err := found.Scan(&id, &token); err != nil {
				return err
			}
			kept[id] = token
		}
		lost = lost[:0]
		for _, l := range leases {
			if kept[l.ID] != l.lease {
				lost = append(lost, l)
			}
		}
		return found.Err()
	})
	return lost, err
}

// TakeBack ends all leases of an owner that is known to be gone: this node's own,
// when it starts.
func (q *Queue) TakeBack(ctx context.Context, owner string) error {
	if owner == "" {
		return errors.New("nobody's leases cannot be taken back")
	}
	return q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, `UPDATE jobs SET state = CASE WHEN held = '' THEN 'ready' ELSE 'held' END, run_at = ?, lease_until = 0, owner = '', lost = lost + 1
			WHERE state = 'leased' AND owner = ?`, micros(tx.now), owner)
		tx.told = true
		return err
	})
}

package queue

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxLanesPerClaim bounds the number of lanes that one claim leases from.
const maxLanesPerClaim = 64

// maxClaimDelay is the longest time until the next claim: another process may add
// jobs without a notification.
const maxClaimDelay = 5 * time.Second

// readyLane is a lane with ready jobs, as findLanes read it.
type readyLane struct {
	lane string
	// When its first job is due, in microseconds.
	firstDue int64
	state    LaneState
	// When an open or half-open lane may be probed.
	until      int64
	leaseCount int // how many jobs to lease
}

// Claim leases up to most due jobs. room returns how many more jobs of a lane the
// caller can run. Claim also takes back expired leases, and leases a single job
// of a lane that was open for long enough, to probe it. next is when to call
// again, unless a waker signals earlier.
func (q *Queue) Claim(ctx context.Context, queue string, most int, room func(tenant junctor.TenantID, lane string) int) (leases []*Lease, next time.Time, err error) {
	now := q.options.Now()
	next = now.Add(maxClaimDelay)
	if most <= 0 {
		return nil, next, nil
	}
	lanes, runsOut, err := q.findLanes(ctx, queue)
	if err != nil {
		return nil, next, q.wrapError(ctx, err, "look for jobs")
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
		case l.state != LaneClosed && l.until > toMicros(now):
			later(l.until)
		case l.state == LaneClosed && l.firstDue > toMicros(now):
			later(l.firstDue)
		default:
			due = append(due, l)
		}
	}
	slices.SortFunc(due, func(a, b readyLane) int { return cmp.Compare(a.firstDue, b.firstDue) })
	wanted := due[:0]
	left := most
	for _, l := range due {
		if left == 0 || len(wanted) == maxLanesPerClaim {
			next = now // there are more jobs than fit: claim again at once
			break
		}
		tenant, lane, _ := strings.Cut(l.lane, " ")
		if l.leaseCount = min(room(junctor.TenantID(tenant), lane), left); l.leaseCount <= 0 {
			continue
		}
		if l.state != LaneClosed {
			l.leaseCount = 1
		}
		left -= l.leaseCount
		wanted = append(wanted, l)
	}
	strays, err := q.hasStrays(ctx, queue, now)
	if err != nil {
		return nil, next, q.wrapError(ctx, err, "look for jobs")
	}
	late := strays || runsOut > 0 && runsOut <= toMicros(now)
	if len(wanted) == 0 && !late {
		return nil, next, nil
	}
	over := q.takeEmptyClaims()
	take := func(ctx context.Context, tx *Tx) (err error) {
		if err := tx.deleteClaims(ctx, over); err != nil { // first, since only this statement may wait for a lock
			return err
		}
		if late {
			more, err := tx.takeBackExpired(ctx, queue, strays)
			if err != nil {
				return err
			}
			if more {
				next = now
			}
		}
		if leases, err = tx.leaseJobs(ctx, queue, wanted); err != nil {
			return err
		}
		return tx.insertClaims(ctx, queue, leases)
	}
	if err := q.submit(ctx, q.claimWrites, &pendingWrite{fn: take, done: make(chan error, 1)}); err != nil {
		return nil, next, err
	}
	return leases, next, nil
}

// These conditions select ready and leased jobs. Both have phase 1 in the
// indexes, so leasing a job writes no index.
const (
	isReadyCondition  = `phase = 1 AND state = 'ready'`
	isLeasedCondition = `phase = 1 AND state = 'leased'`
	// hasLeaseCondition selects leased jobs among jobs that are found by their
	// ids. COALESCE hides the column from the planner, which would otherwise
	// begin with all leased jobs.
	hasLeaseCondition = `COALESCE(state, '') = 'leased'`
)

// findLanes returns the lanes that have ready jobs. It steps from lane to lane
// over the index, so a long lane costs the others nothing. It selects the first
// row instead of a minimum, for which PostgreSQL may read all ready jobs. runsOut
// is when the first lease may expire; 0 if there is none.
func (q *Queue) findLanes(ctx context.Context, queue string) (lanes []readyLane, runsOut int64, err error) {
	rows, err := q.options.DB.Read.QueryContext(ctx, q.options.DB.Dialect.Bind(`WITH RECURSIVE l(lane) AS (
			SELECT (SELECT j.lane FROM jobs j WHERE j.queue = ? AND j.phase = 1 ORDER BY j.lane LIMIT 1)
			UNION ALL
			SELECT (SELECT j.lane FROM jobs j WHERE j.queue = ? AND j.phase = 1 AND j.lane > l.lane ORDER BY j.lane LIMIT 1) FROM l WHERE l.lane IS NOT NULL),
		first(until) AS (SELECT (SELECT c.until FROM job_claims c WHERE c.queue = ? ORDER BY c.until LIMIT 1))
		SELECT COALESCE(first.until, 0), COALESCE(l.lane, ''), (SELECT j.run_at FROM jobs j WHERE j.queue = ? AND j.phase = 1 AND j.state = 'ready' AND j.lane = l.lane ORDER BY j.run_at LIMIT 1), COALESCE(s.state, 'closed'), COALESCE(s.until, 0)
		FROM first CROSS JOIN l LEFT JOIN job_lanes s ON s.queue = ? AND s.lane = l.lane`), queue, queue, queue, queue, queue)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {  // the last one is of no lane
		var l readyLane
		var due sql.NullInt64
		if err := rows.Scan(&runsOut, &l.lane, &due, &l.state, &l.until); err != nil {
			return nil, 0, err
		}
		if l.firstDue = due.Int64; due.Valid {
			lanes = append(lanes, l)
		}
	}
	return lanes, runsOut, rows.Err()
}

// leaseJobs leases due jobs of lanes, oldest first. Jobs that another transaction
// has locked are skipped.
func (tx *Tx) leaseJobs(ctx context.Context, queue string, lanes []readyLane) ([]*Lease, error) {
	var pick strings.Builder
	var args []any
	for _, l := range lanes {
		if l.state != LaneClosed {
			ahead, err := tx.admitProbe(ctx, queue, l.lane)
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
		pick.WriteString(`SELECT place FROM (SELECT ` + tx.dialect.Row() + ` AS place FROM jobs WHERE queue = ? AND lane = ? AND ` + isReadyCondition + ` AND run_at <= ? ORDER BY run_at, seq LIMIT ?` + tx.dialect.Skip() + `) AS one`)
		args = append(args, queue, l.lane, toMicros(tx.now), l.leaseCount)
	}
	if len(args) == 0 {
		return nil, nil
	}
	until := tx.now.Add(tx.q.options.LeaseDuration)
	args = append([]any{toMicros(until), tx.q.options.Owner}, args...)
	rows, err := tx.Query(ctx, `UPDATE jobs SET state = 'leased', lease = lease + 1, lease_until = ?, owner = ? WHERE `+tx.dialect.Among(pick.String())+` RETURNING `+leaseColumns, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err reports errors
	var leases []*Lease
	for rows.Next() {
		l := &Lease{Job: Job{Queue: queue, State: StateLeased}, Until: until}
		if err := scanLease(rows, &l.Job); err != nil {
			return nil, err
		}
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.seq, b.seq) })
	return leases, rows.Err()
}

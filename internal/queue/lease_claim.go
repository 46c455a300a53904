package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// leaseClaim stands for all jobs of one tenant that were leased together. It is
// one stored row, which says when to check for expired leases and of which jobs.
// Whether a lease has expired is decided by the job's own row.
type leaseClaim struct {
	tenant junctor.TenantID
	id     string
	// Leases whose jobs are not known to be settled.
	openLeases atomic.Int64
}

const (
	// Expired claims that are read together.
	maxExpiredClaims = 64
	// Between two checks for strays.
	strayCheckInterval = time.Minute
)

// insertClaims stores which jobs were leased, so that they are found when their
// leases expire.
func (tx *Tx) insertClaims(ctx context.Context, queue string, leases []*Lease) error {
	jobs := map[junctor.TenantID][]byte{} // the members of each JSON object, each after a comma
	claims := map[junctor.TenantID]*leaseClaim{}
	for _, l := range leases {
		if claims[l.Tenant] == nil {
			claims[l.Tenant] = &leaseClaim{tenant: l.Tenant, id: tx.newID()}
		}
		l.claim = claims[l.Tenant]
		l.claim.openLeases.Add(1)
		list := append(append(jobs[l.Tenant], `,"`...), l.ID...) // hexadecimal, so there is nothing to escape
		jobs[l.Tenant] = strconv.AppendInt(append(list, `":`...), l.lease, 10)
	}
	for tenant, c := range claims {
		_, err := tx.Exec(ctx, `INSERT INTO job_claims (tenant_id, id, queue, owner, until, jobs) VALUES (?, ?, ?, ?, ?, ?)`,
			string(tenant), c.id, queue, tx.q.options.Owner, toMicros(tx.now.Add(tx.q.options.LeaseDuration)), "{"+string(jobs[tenant][1:])+"}")
		if err != nil {
			return err
		}
	}
	return nil
}

// countSettled counts the settlements of a batch that is on disk, and collects
// the claims without open leases.
func (q *Queue) countSettled(batch []*pendingWrite) {
	for _, e := range batch {
		if e.settle == nil || e.err != nil || e.settle.state == "" {
			continue
		}
		if c := e.settle.lease.claim; c != nil && c.openLeases.Add(-1) == 0 {
			q.mu.Lock()
			q.emptyClaims = append(q.emptyClaims, c)
			q.mu.Unlock()
		}
	}
}

// takeEmptyClaims returns the claims without open leases, each once. The next
// claim deletes them.
func (q *Queue) takeEmptyClaims() []*leaseClaim {
	q.mu.Lock()
	defer q.mu.Unlock()
	over := q.emptyClaims
	q.emptyClaims = nil
	return over
}

// deleteClaims deletes claims without open leases. The claims of a process that
// ended earlier are found when they expire.
func (tx *Tx) deleteClaims(ctx context.Context, over []*leaseClaim) error {
	if len(over) == 0 {
		return nil
	}
	tenants, ids := make([]string, len(over)), make([]string, len(over))
	for i, c := range over {
		tenants[i], ids[i] = string(c.tenant), c.id
	}
	rows, args, err := tx.dialect.Zip(tenants, ids)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `WITH r(whose, claim) AS (`+rows+`) DELETE FROM job_claims WHERE (tenant_id, id) IN (SELECT whose, claim FROM r)`, args...)
	return err
}

// hasStrays reports whether leases expired that may have no stored claim.
// Replicas of a version without claims leave such leases during a rolling
// upgrade. It reads all ready jobs, so it runs rarely.
func (q *Queue) hasStrays(ctx context.Context, queue string, now time.Time) (found bool, err error) {
	q.mu.Lock()
	since := now.Sub(q.strayChecks[queue])
	if since >= 0 && since < strayCheckInterval {
		q.mu.Unlock()
		return false, nil
	}
	q.strayChecks[queue] = now
	q.mu.Unlock()
	err = q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT EXISTS (SELECT 1 FROM jobs WHERE queue = ? AND `+isLeasedCondition+` AND lease_until <= ?)`), queue, toMicros(now)).Scan(&found)
	return found, err
}

// returnJobs makes a job ready (or held) whose lease ended without a settlement.
const returnJobs = `UPDATE jobs SET state = CASE WHEN held = '' THEN 'ready' ELSE 'held' END, run_at = ?, lease_until = 0, owner = '', lost = lost + 1 WHERE `

// takeBackExpired makes jobs ready whose leases expired, with strays also those
// without a claim. again says that more may have expired, or that there is
// something to lease.
func (tx *Tx) takeBackExpired(ctx context.Context, queue string, strays bool) (again bool, err error) {
	var alone int64
	if strays {
		alone, err = tx.Exec(ctx, returnJobs+tx.dialect.Among(`SELECT `+tx.dialect.Row()+` FROM jobs WHERE queue = ? AND `+isLeasedCondition+` AND lease_until <= ?`+tx.dialect.Skip()),
			toMicros(tx.now), queue, toMicros(tx.now))
		if err != nil {
			return false, err
		}
	}
	found, err := tx.readClaims(ctx, `queue = ? AND until <= ? ORDER BY until LIMIT ?`+tx.dialect.Skip(), queue, toMicros(tx.now), maxExpiredClaims)
	if err != nil {
		return false, err
	}
	n, err := tx.takeBackJobs(ctx, found, ` AND j.lease_until <= ?`, toMicros(tx.now))
	return alone+n > 0 || len(found) == maxExpiredClaims, err
}

// TakeBackLeases ends all leases of an owner that no longer runs: a replica calls it at
// its start for its own former leases.
func (q *Queue) TakeBackLeases(ctx context.Context, owner string) error {
	if owner == "" {
		return errors.New("nobody's leases cannot be taken back")
	}
	return q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		found, err := tx.readClaims(ctx, `owner = ? ORDER BY until`+tx.dialect.Wait(), owner)
		if err != nil {
			return err
		}
		tx.wakesWorkers = true
		_, err = tx.takeBackJobs(ctx, found, "")
		return err
	})
}

// storedClaim is a leaseClaim as it is stored.
type storedClaim struct {
	tenant, id string
	jobs       map[string]int64 // fencing tokens, by job id
}

// readClaims reads claims and locks them until the end of the transaction.
func (tx *Tx) readClaims(ctx context.Context, which string, args ...any) ([]storedClaim, error) {
	rows, err := tx.Query(ctx, `SELECT tenant_id, id, jobs FROM job_claims WHERE `+which, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err reports errors
	var found []storedClaim
	for rows.Next() {
		var w storedClaim
		var jobs string
		if err := rows.Scan(&w.tenant, &w.id, &jobs); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(jobs), &w.jobs); err != nil {
			return nil, fmt.Errorf("what was leased under %s cannot be read: %w", w.id, err)
		}
		found = append(found, w)
	}
	return found, rows.Err()
}

// takeBackJobs makes the jobs of claims ready that are still leased under them
// and that match a condition. It returns how many. The claims keep the jobs that
// remain leased.
func (tx *Tx) takeBackJobs(ctx context.Context, found []storedClaim, condition string, args ...any) (int64, error) {
	if len(found) == 0 {
		return 0, nil
	}
	var tenants, ids []string
	var tokens, claims []int64
	for i, w := range found {
		for id, token := range w.jobs {
			tenants, ids, tokens, claims = append(tenants, w.tenant), append(ids, id), append(tokens, token), append(claims, int64(i))
		}
	}
	rows, listed, err := tx.dialect.Zip(tenants, ids, tokens, claims)
	if err != nil {
		return 0, err
	}
	leased := func(columns string) string {
		return `WITH r(whose, job, token, claim) AS (` + rows + `) SELECT ` + columns + ` FROM r JOIN jobs j ON j.tenant_id = whose AND j.id = job WHERE j.lease = token AND ` + hasLeaseCondition
	}
	n, err := tx.Exec(ctx, returnJobs+tx.dialect.Among(leased("j."+tx.dialect.Row())+condition+tx.dialect.Skip()),
		slices.Concat([]any{toMicros(tx.now)}, listed, args)...)
	if err != nil {
		return n, err
	}
	left, err := tx.Query(ctx, leased("claim, job, token, j.lease_until"), listed...)
	if err != nil {
		return n, err
	}
	defer left.Close() // rows.Err reports errors
	jobs, until := make([]map[string]int64, len(found)), make([]int64, len(found))
	for left.Next() {
		var claim, token, at int64
		var job string
		if err := left.Scan(&claim, &job, &token, &at); err != nil {
			return n, err
		}
		if jobs[claim] == nil {
			jobs[claim], until[claim] = map[string]int64{}, at
		}
		jobs[claim][job], until[claim] = token, min(until[claim], at)
	}
	if err := left.Err(); err != nil {
		return n, err
	}
	_ = left.Close() // PostgreSQL runs one statement at a time
	return n, tx.updateClaims(ctx, found, jobs, until)
}

// updateClaims reduces claims to the jobs that remain leased, and deletes the
// empty ones.
func (tx *Tx) updateClaims(ctx context.Context, found []storedClaim, jobs []map[string]int64, until []int64) error {
	var over []*leaseClaim
	for i, w := range found {
		if jobs[i] == nil {
			over = append(over, &leaseClaim{tenant: junctor.TenantID(w.tenant), id: w.id})
			continue
		}
		list, err := json.Marshal(jobs[i])
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE job_claims SET until = ?, jobs = ? WHERE tenant_id = ? AND id = ?`, until[i], string(list), w.tenant, w.id); err != nil {
			return err
		}
	}
	return tx.deleteClaims(ctx, over)
}

// ExtendLeases makes leases last for another lease time from now. It returns the leases
// that this process has lost: their work should stop.
func (q *Queue) ExtendLeases(ctx context.Context, leases []*Lease) (lost []*Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	tenants, ids, tokens, claims := make([]string, len(leases)), make([]string, len(leases)), make([]int64, len(leases)), make([]string, len(leases))
	for i, l := range leases {
		tenants[i], ids[i], tokens[i], claims[i] = string(l.Tenant), l.ID, l.lease, l.claim.id
	}
	rows, args, err := q.options.DB.Dialect.Zip(tenants, ids, tokens)
	if err != nil {
		return nil, q.wrapError(ctx, err, "extend leases")
	}
	under, underArgs, err := q.options.DB.Dialect.Zip(tenants, claims)
	if err != nil {
		return nil, q.wrapError(ctx, err, "extend leases")
	}
	err = q.Write(ctx, func(ctx context.Context, tx *Tx) error {
		until := toMicros(tx.now.Add(q.options.LeaseDuration))
		kept, err := tx.extendLeases(ctx, rows, append(slices.Clone(args), until))
		if err != nil {
			return err
		}
		lost = lost[:0]
		for _, l := range leases {
			if kept[l.ID] != l.lease {
				lost = append(lost, l)
			}
		}
		// If the clock was set back, the leases now expire earlier than the claims say.
		_, err = tx.Exec(ctx, `WITH r(whose, claim) AS (`+under+`) UPDATE job_claims SET until = ? WHERE until > ? AND (tenant_id, id) IN (SELECT whose, claim FROM r)`,
			append(slices.Clone(underArgs), until, until)...)
		return err
	})
	return lost, err
}

// extendLeases returns the tokens of the leases that were extended, by job id.
func (tx *Tx) extendLeases(ctx context.Context, rows string, args []any) (map[string]int64, error) {
	found, err := tx.Query(ctx, `WITH r(whose, job, token) AS (`+rows+`)
		UPDATE jobs SET lease_until = ? FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+hasLeaseCondition+` RETURNING id, lease`, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // rows.Err reports errors
	kept := map[string]int64{}
	for found.Next() {
		var id string
		var token int64
		if err := found.Scan(&id, &token); err != nil {
			return nil, err
		}
		kept[id] = token
	}
	return kept, found.Err()
}

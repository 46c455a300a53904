package queue

import (
	"context"
	"database/sql"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Enqueue adds jobs and returns their ids. If a job's dedupe key is taken, it
// adds nothing and returns the id of the job that has the key.
func (tx *Tx) Enqueue(ctx context.Context, jobs ...Job) (ids []string, err error) {
	ids = make([]string, len(jobs))
	var lines []orderLine
	for i := range jobs {
		added, id, err := tx.insertJob(ctx, &jobs[i])
		if err != nil {
			return nil, err
		}
		ids[i] = id
		if !added {
			continue
		}
		if jobs[i].OrderKey != "" {
			lines = append(lines, orderLine{jobs[i].Tenant, jobs[i].Queue, jobs[i].OrderKey})
		}
		tx.wakesWorkers = true
		tx.NoteChange(jobs[i].Tenant)
	}
	return ids, tx.advanceLines(ctx, lines)
}

// insertJob adds one job, or returns the id of the job with the same dedupe key.
// A job with an order key starts as waiting; advanceLines makes it ready.
func (tx *Tx) insertJob(ctx context.Context, j *Job) (added bool, id string, err error) {
	if j.Tenant == "" || j.Queue == "" || len(j.Payload) == 0 {
		return false, "", junctor.Errorf(junctor.CodeInternal, "a job needs a tenant, a queue and a payload")
	}
	state, blocks, seq := StateReady, 0, tx.now.UnixNano()
	if j.OrderKey != "" {
		state, blocks = StateWaiting, 1
		// The line stays locked until the end of the transaction. So the order of
		// the numbers is the order of the commits, even if clocks differ.
		err := tx.QueryRow(ctx, `INSERT INTO job_lines (tenant_id, queue, order_key, last) VALUES (?, ?, ?, ?)
			ON CONFLICT (tenant_id, queue, order_key) DO UPDATE SET last = CASE WHEN job_lines.last >= excluded.last THEN job_lines.last + 1 ELSE excluded.last END
			RETURNING last`, string(j.Tenant), j.Queue, j.OrderKey, seq).Scan(&seq)
		if err != nil {
			return false, "", err
		}
	}
	id = tx.newID()
	runAt := j.RunAt
	if runAt.IsZero() {
		runAt = tx.now
	}
	var dedupe sql.NullString
	if j.DedupeKey != "" {
		dedupe = sql.NullString{String: j.DedupeKey, Valid: true}
	}
	n, err := tx.Exec(ctx, `INSERT INTO jobs (tenant_id, id, queue, lane, order_key, seq, blocks, dedupe_key, event, trigger_id, agent, tool, payload,
			state, held, run_at, lease, lease_until, owner, lost, attempt, base, max_attempts, skip_after, error, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, 0, '', 0, 0, 0, ?, ?, '', ?) ON CONFLICT DO NOTHING`,
		string(j.Tenant), id, j.Queue, storedLane(j.Tenant, j.Lane), j.OrderKey, seq, blocks, dedupe, j.Event, j.Trigger, j.Agent, j.Tool, string(j.Payload),
		string(state), toMicros(runAt), j.MaxAttempts, j.SkipAfter, toMicros(tx.now))
	if err != nil || n == 1 {
		return n == 1, id, err
	}
	err = tx.QueryRow(ctx, `SELECT id FROM jobs WHERE tenant_id = ? AND queue = ? AND dedupe_key = ?`, string(j.Tenant), j.Queue, j.DedupeKey).Scan(&id)
	return false, id, err
}

// orderLine identifies the jobs with one order key.
type orderLine struct {
	tenant     junctor.TenantID
	queue, key string
}

// advanceLines makes the oldest waiting job of each line ready, unless another
// job of the line is ready, leased or held.
func (tx *Tx) advanceLines(ctx context.Context, lines []orderLine) error {
	if len(lines) == 0 {
		return nil
	}
	// Lock the lines in a fixed order: otherwise two transactions could deadlock.
	slices.SortFunc(lines, func(a, b orderLine) int {
		return slices.Compare([]string{string(a.tenant), a.queue, a.key}, []string{string(b.tenant), b.queue, b.key})
	})
	var tenants, queues, keys []string
	for _, l := range slices.Compact(lines) {
		tenants, queues, keys = append(tenants, string(l.tenant)), append(queues, l.queue), append(keys, l.key)
	}
	rows, args, err := tx.dialect.Zip(tenants, queues, keys)
	if err != nil {
		return err
	}
	with := `WITH r(tenant_id, queue, order_key) AS (` + rows + `)`
	if wait := tx.dialect.Wait(); wait != "" {
		// A statement sees only what was committed before it began. So lock the lines
		// in one statement, and read them in the next.
		_, err := tx.Exec(ctx, with+` SELECT 1 FROM job_lines l JOIN r ON l.tenant_id = r.tenant_id AND l.queue = r.queue AND l.order_key = r.order_key
			ORDER BY l.tenant_id, l.queue, l.order_key`+wait+` OF l`, args...)
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, with+`, oldest(whose, job) AS (
			SELECT r.tenant_id, (SELECT j.id FROM jobs j WHERE j.tenant_id = r.tenant_id AND j.queue = r.queue AND j.order_key = r.order_key AND j.blocks = 1 AND j.state = 'waiting'
				ORDER BY j.seq LIMIT 1)
			FROM r WHERE NOT EXISTS (SELECT 1 FROM jobs m
				WHERE m.tenant_id = r.tenant_id AND m.queue = r.queue AND m.order_key = r.order_key AND m.blocks = 1 AND m.phase <> 0))
		UPDATE jobs SET state = CASE WHEN held = '' THEN 'ready' ELSE 'held' END FROM oldest WHERE tenant_id = whose AND id = job`, args...)
	return err
}

// emptyLineTTL is how long an empty line is remembered. A clock may be set back
// by this much without an effect on the order.
const emptyLineTTL = 48 * time.Hour

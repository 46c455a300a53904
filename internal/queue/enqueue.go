package queue

import (
	"context"
	"database/sql"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Enqueue adds jobs, and gives their ids. For a job whose dedupe key is taken
// the id of the one that has it is given, and nothing is added.
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
		if jobs[i].Key != "" {
			lines = append(lines, orderLine{jobs[i].Tenant, jobs[i].Queue, jobs[i].Key})
		}
		tx.wakesWorkers = true
	}
	return ids, tx.advanceLines(ctx, lines)
}

func (tx *Tx) insertJob(ctx context.Context, j *Job) (added bool, id string, err error) {
	if j.Tenant == "" || j.Queue == "" || len(j.Payload) == 0 {
		return false, "", junctor.Errorf(junctor.CodeInternal, "a job needs a tenant, a queue and a payload")
	}
	state, blocks, seq := Ready, 0, tx.now.UnixNano()
	if j.Key != "" {
		state, blocks = Waiting, 1
		// Whoever adds to a line holds it until the end of the transaction, so
		// the order of the numbers is that of the commits, whatever clocks say.
		err := tx.QueryRow(ctx, `INSERT INTO job_lines (tenant_id, queue, order_key, last) VALUES (?, ?, ?, ?)
			ON CONFLICT (tenant_id, queue, order_key) DO UPDATE SET last = CASE WHEN job_lines.last >= excluded.last THEN job_lines.last + 1 ELSE excluded.last END
			RETURNING last`, string(j.Tenant), j.Queue, j.Key, seq).Scan(&seq)
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
	if j.Dedupe != "" {
		dedupe = sql.NullString{String: j.Dedupe, Valid: true}
	}
	n, err := tx.Exec(ctx, `INSERT INTO jobs (tenant_id, id, queue, lane, order_key, seq, blocks, dedupe_key, event, trigger_id, agent, tool, payload,
			state, held, run_at, lease, lease_until, owner, lost, attempt, base, max_attempts, skip_after, error, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, 0, '', 0, 0, 0, ?, ?, '', ?) ON CONFLICT DO NOTHING`,
		string(j.Tenant), id, j.Queue, storedLane(j.Tenant, j.Lane), j.Key, seq, blocks, dedupe, j.Event, j.Trigger, j.Agent, j.Tool, string(j.Payload),
		string(state), toMicros(runAt), j.MaxAttempts, j.SkipAfter, toMicros(tx.now))
	if err != nil || n == 1 {
		return n == 1, id, err
	}
	err = tx.QueryRow(ctx, `SELECT id FROM jobs WHERE tenant_id = ? AND queue = ? AND dedupe_key = ?`, string(j.Tenant), j.Queue, j.Dedupe).Scan(&id)
	return false, id, err
}

// orderLine names the jobs with one order key.
type orderLine struct {
	tenant     junctor.TenantID
	queue, key string
}

// advanceLines lets the oldest job of each line move where none does.
func (tx *Tx) advanceLines(ctx context.Context, lines []orderLine) error {
	if len(lines) == 0 {
		return nil
	}
	// Always in the same order, so that two who hold several do not wait for each other.
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
		// A statement sees what was committed before it began: hold first, then look.
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

// emptyLineTTL is how long a line that nothing is in is remembered, and so how far a
// clock may be set back without an effect on order.
const emptyLineTTL = 48 * time.Hour

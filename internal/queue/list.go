package queue

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Filter selects jobs of a tenant's queue; empty fields select all.
type Filter struct {
	Queue                       string
	IDs                         []string
	States                      []State
	Event, Trigger, Agent, Tool string
	Lane                        string
	// By creation; To is exclusive.
	From, To time.Time
	// List continues after the job with this id.
	After string
	Limit int // default 100

	// Known, if not nil, excludes the jobs of every lane that begins with
	// KnownLanePrefix and is not a key of KnownLanes. It also excludes jobs that were
	// created before the time that Known has for their lane.
	KnownLanes      map[string]time.Time
	KnownLanePrefix string
}

// maxList bounds a list, and maxChange bounds how many jobs one change modifies.
const (
	maxList   = 1000
	maxChange = 10000
)

// The columns of a lease, and of a job. For a lease, the remaining columns of the
// job are already known.
const (
	leaseColumns = `tenant_id, id, lane, order_key, seq, event, trigger_id, agent, tool, payload, run_at, lease, attempt, base, lost, max_attempts, skip_after, error, created_at`
	jobColumns   = leaseColumns + `, queue, dedupe_key, state, held, ended_at`
)

// rowScanner is the method that *sql.Row and *sql.Rows have in common.
type rowScanner interface{ Scan(dest ...any) error }

// scanLease reads leaseColumns and more. It scans into plain strings and int64:
// for other types, database/sql converts by reflection or through text, which
// took most of the time.
func scanLease(row rowScanner, j *Job, more ...any) error {
	var runAt, created, attempts, base, lost, most, skip int64
	err := row.Scan(append([]any{
		(*string)(&j.Tenant), &j.ID, &j.Lane, &j.OrderKey, &j.seq, &j.Event, &j.Trigger, &j.Agent, &j.Tool, &j.Payload,
		&runAt, &j.lease, &attempts, &base, &lost, &most, &skip, &j.Error, &created,
	}, more...)...)
	if err != nil {
		return err
	}
	j.Lane = strings.TrimPrefix(j.Lane, storedLane(j.Tenant, ""))
	j.RunAt, j.CreatedAt = fromMicros(runAt), fromMicros(created)
	j.Attempts, j.AttemptsBeforeReplay, j.LostLeases, j.MaxAttempts, j.SkipAfter = int(attempts), int(base), int(lost), int(most), int(skip)
	return nil
}

// scanJob reads a row with jobColumns.
func scanJob(row rowScanner, j *Job) error {
	var dedupe sql.NullString
	var ended sql.NullInt64
	if err := scanLease(row, j, &j.Queue, &dedupe, (*string)(&j.State), &j.Held, &ended); err != nil {
		return err
	}
	j.DedupeKey = dedupe.String
	if ended.Valid {
		j.EndedAt = fromMicros(ended.Int64)
	}
	return nil
}

// buildCondition returns the SQL condition of the filter and its arguments. It
// ignores After and Limit.
func (f *Filter) buildCondition(d store.Dialect, tenant junctor.TenantID) (string, []any) {
	text := []string{"tenant_id = ?", "queue = ?"}
	args := []any{string(tenant), f.Queue}
	add := func(condition string, value any) {
		text, args = append(text, condition), append(args, value)
	}
	for _, c := range []struct{ column, value string }{{"event", f.Event}, {"trigger_id", f.Trigger}, {"agent", f.Agent}, {"tool", f.Tool}} {
		if c.value != "" {
			add(c.column+" = ?", c.value)
		}
	}
	if f.Lane != "" {
		add("lane = ?", storedLane(tenant, f.Lane))
	}
	if f.KnownLanes != nil {
		prefix := storedLane(tenant, f.KnownLanePrefix)
		either := append(make([]string, 0, 1+len(f.KnownLanes)), "SUBSTR(lane, 1, ?) <> ?")
		args = append(args, utf8.RuneCountInString(prefix), prefix)
		for _, lane := range slices.Sorted(maps.Keys(f.KnownLanes)) {
			either = append(either, "(lane = ? AND id >= ?)")
			args = append(args, storedLane(tenant, lane), firstID(f.KnownLanes[lane]))
		}
		text = append(text, "("+strings.Join(either, " OR ")+")")
	}
	if !f.From.IsZero() {
		add("id >= ?", firstID(f.From))
	}
	if !f.To.IsZero() {
		add("id < ?", firstID(f.To))
	}
	in := func(column string, values []string) {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
		text = append(text, column+" IN ("+marks+")")
		for _, v := range values {
			args = append(args, v)
		}
	}
	if len(f.IDs) > 0 {
		in("id", f.IDs)
	}
	if len(f.States) > 0 {
		states := make([]string, len(f.States))
		for i, s := range f.States {
			states[i] = string(s)
		}
		in("state", states)
		if len(intersectStates(f.States, []State{StateHeld, StateDead})) == len(f.States) {
			text = append(text, d.Stuck("")) // lets the database use the index of held and dead jobs
		}
	}
	return strings.Join(text, " AND "), args
}

// List returns a tenant's jobs, newest first. If next is not "", it is the After
// of the following list.
func (q *Queue) List(ctx context.Context, tenant junctor.TenantID, f Filter) (jobs []Job, next string, err error) {
	where, args := f.buildCondition(q.options.DB.Dialect, tenant)
	if f.After != "" {
		where += " AND id < ?"
		args = append(args, f.After)
	}
	limit := min(max(f.Limit, 0), maxList)
	if limit == 0 {
		limit = 100
	}
	rows, err := q.options.DB.Read.QueryContext(ctx, q.options.DB.Dialect.Bind(`SELECT `+jobColumns+` FROM jobs WHERE `+where+` ORDER BY id DESC LIMIT ?`), append(args, limit+1)...)
	if err != nil {
		return nil, "", q.wrapError(ctx, err, "list jobs")
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {
		if len(jobs) == limit {
			next = jobs[limit-1].ID
			break
		}
		var j Job
		if err := scanJob(rows, &j); err != nil {
			return nil, "", q.wrapError(ctx, err, "list jobs")
		}
		jobs = append(jobs, j)
	}
	return jobs, next, q.wrapError(ctx, rows.Err(), "list jobs")
}

// searchedColumns is the lower-case text of a job that words are searched in. The lane is
// left out: a caller may see only the host of its address.
const searchedColumns = `LOWER(event || ' ' || trigger_id || ' ' || agent || ' ' || tool)`

// Page reads a page of a tenant's jobs, in the order of their creation, with one more job if
// there is another page. It counts the jobs of all pages. After and Limit of the filter are
// ignored.
func (q *Queue) Page(ctx context.Context, tenant junctor.TenantID, f Filter, page *junctor.RowPage) ([]Job, junctor.RowTotal, error) {
	where, args := f.buildCondition(q.options.DB.Dialect, tenant)
	for _, pattern := range page.LikePatterns() {
		where, args = where+" AND "+searchedColumns+" LIKE ? ESCAPE '!'", append(args, pattern)
	}
	var n int
	err := q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT COUNT(*) FROM (SELECT 1 AS one FROM jobs WHERE `+where+` LIMIT ?) AS counted`),
		append(slices.Clip(args), junctor.MaxCounted+1)...).Scan(&n)
	total := junctor.NewRowTotal(n)
	if err != nil || page.Limit == 0 {
		return nil, total, q.wrapError(ctx, err, "count jobs")
	}
	before, direction := " AND id < ?", " DESC"
	if page.Ascending {
		before, direction = " AND id > ?", ""
	}
	if page.ID != "" {
		where, args = where+before, append(args, page.ID)
	}
	rows, err := q.options.DB.Read.QueryContext(ctx, q.options.DB.Dialect.Bind(`SELECT `+jobColumns+` FROM jobs WHERE `+where+` ORDER BY id`+direction+` LIMIT ?`), append(args, page.Limit+1)...)
	if err != nil {
		return nil, total, q.wrapError(ctx, err, "list jobs")
	}
	defer rows.Close() // rows.Err reports errors
	var jobs []Job
	for rows.Next() {
		var j Job
		if err := scanJob(rows, &j); err != nil {
			return nil, total, q.wrapError(ctx, err, "list jobs")
		}
		jobs = append(jobs, j)
	}
	return jobs, total, q.wrapError(ctx, rows.Err(), "list jobs")
}

// Get returns one job. The error is CodeNotFound if the tenant has no job with
// that id.
func (q *Queue) Get(ctx context.Context, tenant junctor.TenantID, id string) (Job, error) {
	var j Job
	err := scanJob(q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT `+jobColumns+` FROM jobs WHERE tenant_id = ? AND id = ?`), string(tenant), id), &j)
	if errors.Is(err, sql.ErrNoRows) {
		return j, junctor.Errorf(junctor.CodeNotFound, "there is no job %q", id)
	}
	return j, q.wrapError(ctx, err, "read a job")
}

// Attempts returns the completed attempts of a job, oldest first. It returns none
// for an unknown job.
func (q *Queue) Attempts(ctx context.Context, tenant junctor.TenantID, id string) ([]Attempt, error) {
	var lines string
	err := q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(`SELECT tried FROM jobs WHERE tenant_id = ? AND id = ?`), string(tenant), id).Scan(&lines)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, q.wrapError(ctx, err, "list attempts")
	}
	list, err := decodeAttempts(lines)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the attempts of the job %s cannot be read: %w", id, err)
	}
	return list, nil
}

// Stats are figures of a queue, over all tenants.
type Stats struct {
	// Of jobs that have not ended, and of dead ones.
	Counts map[State]int
	// Since when the oldest due job is due; zero for none.
	OldestReady time.Time
	Lanes       map[LaneState]int
}

// countJobsQuery counts the jobs of a queue: those that have not ended, those
// that block their line, the lines of these, the held, the dead and the leased.
// Each count reads only an index, because the rows of many jobs are most of the
// database. The lines are grouped in the order of their index, so there is no
// condition on the queue before. The leased jobs are found through the claims,
// which are few.
func (q *Queue) countJobsQuery() string {
	d := q.options.DB.Dialect
	return `SELECT o.n, b.jobs, b.lines, h.n, e.n, l.n
	FROM (SELECT COUNT(*) AS n FROM jobs WHERE queue = ? AND ended_at IS NULL) o
	CROSS JOIN (SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) AS jobs, COUNT(*) AS lines
		FROM (SELECT COUNT(*) AS n FROM jobs WHERE blocks = 1 GROUP BY tenant_id, queue, order_key HAVING MIN(queue) = ?) AS line) b
	CROSS JOIN (SELECT COUNT(*) AS n FROM jobs WHERE queue = ? AND ` + d.Stuck(string(StateHeld)) + `) h
	CROSS JOIN (SELECT COUNT(*) AS n FROM jobs WHERE queue = ? AND ` + d.Stuck(string(StateDead)) + `) e
	CROSS JOIN (SELECT COUNT(*) AS n FROM job_claims c CROSS JOIN ` + d.Members("c.jobs") + ` AS m CROSS JOIN jobs j
		WHERE c.queue = ? AND j.tenant_id = c.tenant_id AND j.id = m.key AND j.lease = CAST(m.value AS BIGINT) AND ` + hasLeaseCondition + `) l`
}

// Stats counts the jobs of a queue. It reads one index entry per job that has not
// ended; jobs that ended cost nothing.
func (q *Queue) Stats(ctx context.Context, queue string) (Stats, error) {
	s := Stats{Counts: map[State]int{}, Lanes: map[LaneState]int{}}
	// One statement sees all jobs at one moment. With two, a job that is claimed in
	// between would be missing in both counts.
	var open, blocking, lines, held, dead, leased int
	err := q.options.DB.Read.QueryRowContext(ctx, q.options.DB.Dialect.Bind(q.countJobsQuery()), queue, queue, queue, queue, queue).Scan(&open, &blocking, &lines, &held, &dead, &leased)
	if err != nil {
		return s, q.wrapError(ctx, err, "count jobs")
	}
	waiting := blocking - lines // of each line one moves, and the others wait
	s.Counts = map[State]int{StateWaiting: waiting, StateReady: open - waiting - held - leased, StateLeased: leased, StateHeld: held, StateDead: dead}
	lanes, _, err := q.findLanes(ctx, queue)
	if err != nil {
		return s, q.wrapError(ctx, err, "count jobs")
	}
	now := q.options.Now()
	for _, l := range lanes {
		if due := fromMicros(l.firstDue); !due.After(now) && (s.OldestReady.IsZero() || due.Before(s.OldestReady)) {
			s.OldestReady = due
		}
	}
	err = q.eachRow(ctx, func(rows *sql.Rows) error {
		var state LaneState
		var n int
		err := rows.Scan(&state, &n)
		s.Lanes[state] = n
		return err
	}, `SELECT state, COUNT(*) FROM job_lanes WHERE queue = ? GROUP BY state`, queue)
	return s, q.wrapError(ctx, err, "count jobs")
}

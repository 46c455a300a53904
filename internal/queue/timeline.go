package queue

import (
	"context"
	"database/sql"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// TimelineQuery selects jobs of a tenant's queue, and the steps of a period.
type TimelineQuery struct {
	// Only Queue, Event, Trigger, Agent, Tool and Lane select jobs, and what is Known.
	Filter
	From time.Time     // start of the first step
	Step time.Duration // length of a step
	// How many steps there are, at most MaxTimelineSteps.
	Steps int
}

// MaxTimelineSteps bounds the steps of a Timeline.
const MaxTimelineSteps = 400

// TimelinePoint is what happened to the jobs of a queue in a step.
type TimelinePoint struct {
	Time    time.Time `json:"time" doc:"Start of the step."`
	Done    int       `json:"done" doc:"Deliveries that were delivered in the step."`
	Dead    int       `json:"dead" doc:"Deliveries that failed permanently in the step."`
	Dropped int       `json:"dropped" doc:"Deliveries that were discarded in the step."`
	// At the end of the step; of a step that has not ended, now.
	Open int `json:"open" doc:"Deliveries that had not ended at the end of the step."`
	// Of the oldest job that had not ended.
	OldestSeconds int64 `json:"oldest_seconds" doc:"Age of the oldest of these, in seconds; 0 if there is none."`
}

// Timeline returns how the jobs of a tenant ended, and how many had not ended, over time.
// It is computed from the jobs that are kept, so it leaves out those that Prune deleted.
// A job that is replayed has not ended since it was created.
func (q *Queue) Timeline(ctx context.Context, tenant junctor.TenantID, in TimelineQuery) ([]TimelinePoint, error) {
	step := in.Step.Microseconds()
	if step <= 0 || in.Steps <= 0 || in.Steps > MaxTimelineSteps {
		return nil, junctor.Errorf(junctor.CodeInternal, "queue: %d steps of %s are no timeline", in.Steps, in.Step)
	}
	now := q.options.Now()
	t := timeline{from: toMicros(in.From), step: step, points: make([]TimelinePoint, in.Steps), oldest: make([]int64, in.Steps)}
	for i := range t.points {
		t.points[i].Time = in.From.Add(time.Duration(i) * in.Step).UTC()
	}
	filter := in.Filter
	filter.From, filter.To, filter.States = time.Time{}, time.Time{}, nil
	where, args := filter.buildCondition(q.options.DB.Dialect, tenant)
	// The database groups the jobs by the steps in which they were created and ended: jobs are
	// many, and these groups few. A job that ended in the step in which it was created is in no
	// count but that of its outcome.
	to := t.from + step*int64(in.Steps)
	const created = `CASE WHEN created_at < ? THEN -1 ELSE (created_at - ?) / ? END`
	ended := `SELECT state, made, gone, COUNT(*), MIN(created_at) FROM (
		SELECT state, created_at, ` + created + ` AS made, CASE WHEN ended_at >= ? THEN ? ELSE (ended_at - ?) / ? END AS gone
		FROM jobs WHERE ` + where + ` AND ended_at IS NOT NULL AND ended_at >= ? AND created_at < ?) AS job GROUP BY state, made, gone`
	list := append([]any{t.from, t.from, step, to, in.Steps, t.from, step}, args...)
	if err := t.addRows(ctx, q, ended, append(list, t.from, to)); err != nil {
		return nil, err
	}
	open := `SELECT '', made, CAST(? AS BIGINT), COUNT(*), MIN(created_at) FROM (
		SELECT created_at, ` + created + ` AS made FROM jobs WHERE ` + where + ` AND ended_at IS NULL AND created_at < ?) AS job GROUP BY made`
	list = append([]any{in.Steps, t.from, t.from, step}, args...)
	if err := t.addRows(ctx, q, open, append(list, to)); err != nil {
		return nil, err
	}
	t.setAges(toMicros(now))
	return t.points, nil
}

// timeline collects the groups of jobs of a Timeline.
type timeline struct {
	from, step int64 // microseconds
	points     []TimelinePoint
	oldest     []int64 // when the oldest job was created that had not ended at the end of the step
}

// addRows adds the groups of a query: a state, the step of the creation, -1 for before the
// first, the step of the end, or the number of steps for later or never, how many jobs there
// are, and when the first was created.
func (t *timeline) addRows(ctx context.Context, q *Queue, query string, args []any) error {
	rows, err := q.options.DB.Read.QueryContext(ctx, q.options.DB.Dialect.Bind(query), args...)
	if err != nil {
		return q.wrapError(ctx, err, "count jobs over time")
	}
	defer rows.Close() // rows.Err reports errors
	for rows.Next() {
		if err := t.addRow(rows); err != nil {
			return q.wrapError(ctx, err, "count jobs over time")
		}
	}
	return q.wrapError(ctx, rows.Err(), "count jobs over time")
}

func (t *timeline) addRow(rows *sql.Rows) error {
	var state State
	var made, gone, n int
	var first int64
	if err := rows.Scan((*string)(&state), &made, &gone, &n, &first); err != nil {
		return err
	}
	if gone < len(t.points) {
		p := &t.points[gone]
		switch state {
		case StateDone:
			p.Done += n
		case StateDead:
			p.Dead += n
		case StateDropped:
			p.Dropped += n
		default:
		}
	}
	for i := max(made, 0); i < min(gone, len(t.points)); i++ {
		t.points[i].Open += n
		if t.oldest[i] == 0 || first < t.oldest[i] {
			t.oldest[i] = first
		}
	}
	return nil
}

// setAges sets the ages at the end of each step. Nothing is known of the future.
func (t *timeline) setAges(now int64) {
	for i := range t.points {
		begin := t.from + t.step*int64(i)
		switch {
		case begin > now:
			t.points[i].Open = 0
		case t.oldest[i] != 0:
			t.points[i].OldestSeconds = max(0, min(begin+t.step, now)-t.oldest[i]) / 1e6
		}
	}
}

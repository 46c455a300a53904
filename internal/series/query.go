package series

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Query selects series of a tenant.
type Query struct {
	By Dimension
	// Only series with this first key, or with any of these; nil is all.
	First []string
	// Only series with this second key; "" is all.
	Second string
	// The period, from the beginning of a step to its end.
	From, To time.Time
	// The length of a point, a multiple of a minute; 0 chooses one for the period.
	Step time.Duration
	// How many series to return, those with the most calls first.
	Limit int
	// Whether to return the points of each series, beside its total.
	Points bool

	// Since when a server, the first key, has its id: sums of periods that began before may
	// be those of another server. nil is no limit.
	since map[string]time.Time
}

// Limits of a query.
const (
	MaxReturnedSeries = 100
	MaxPoints         = 1500
	// maxChosenPoints is how many points a chosen step gives at most.
	maxChosenPoints = 240
)

// Numbers are sums and the percentiles of their durations.
type Numbers struct {
	Sums
	P50 int64 `json:"p50_us" doc:"p50 of the duration of calls that ran, in microseconds."`
	P95 int64 `json:"p95_us" doc:"p95 of the duration of calls that ran, in microseconds."`
	P99 int64 `json:"p99_us" doc:"p99 of the duration of calls that ran, in microseconds."`
}

// Point is the numbers of one step.
type Point struct {
	Time time.Time `json:"time" doc:"Start of the step."`
	Numbers
}

// Series is one series of an answer.
type Series struct {
	First  string  `json:"first" doc:"The first key of the series: a server, an agent, a user, an issuer, an entry point, a key or a rule."`
	Second string  `json:"second,omitempty" doc:"The second key: a tool, or the subject of a caller."`
	Total  Numbers `json:"total" doc:"The numbers of the whole period."`
	Points []Point `json:"points,omitempty" doc:"The numbers of each step that had calls."`
}

// Answer is what a Query selects.
type Answer struct {
	From   time.Time `json:"from" doc:"Start of the first step."`
	To     time.Time `json:"to" doc:"The end of the last step."`
	Step   int64     `json:"step_seconds" doc:"Length of a step, in seconds."`
	Count  int       `json:"count" doc:"Number of series with calls, including those that are not returned."`
	Series []Series  `json:"series" nullable:"false" doc:"The series with the most calls."`
}

// plan is a query with its step, period and stored step decided.
type plan struct {
	from, to, step int64 // seconds
	stored         Step
}

// planQuery decides which stored sums answer a query: the longest that divide the step and
// are still kept for the beginning of the period.
func planQuery(q *Query, now time.Time) (plan, error) {
	if !q.From.Before(q.To) {
		return plan{}, junctor.Errorf(junctor.CodeInvalid, "from %s is not before to %s", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))
	}
	kept := Day
	for _, s := range Steps() {
		if s.keepFor() == 0 || !q.From.Before(now.Add(-s.keepFor())) {
			kept = s
			break
		}
	}
	step := q.Step
	if step == 0 {
		step = ChooseStep(q.To.Sub(q.From), kept.duration())
	}
	if step < kept.duration() || step%kept.duration() != 0 {
		return plan{}, junctor.Errorf(junctor.CodeInvalid, "step %s is not possible: for a period that begins %s ago, sums are kept per %s; use a multiple of it",
			step, now.Sub(q.From).Round(time.Minute), kept.duration())
	}
	p := plan{step: int64(step / time.Second), stored: Minute}
	for _, s := range Steps() {
		if step%s.duration() == 0 && s >= kept {
			p.stored = s
		}
	}
	if q.since != nil { // the shortest step hides least of the period in which an id changed hands
		p.stored = kept
	}
	p.from = q.From.Unix() / p.step * p.step
	// A period that ends within the first second of a step has that step, too.
	end := q.To.Add(time.Second - time.Nanosecond).Unix()
	p.to = (end + p.step - 1) / p.step * p.step
	if n := (p.to - p.from) / p.step; q.Points && n > MaxPoints {
		return plan{}, junctor.Errorf(junctor.CodeInvalid, "step %s gives %d points for this period; at most %d are possible, so use a longer step", step, n, MaxPoints)
	}
	return p, nil
}

// ChooseStep returns the shortest usual step of at least a length that gives few points for a
// period.
func ChooseStep(period, least time.Duration) time.Duration {
	const day = 24 * time.Hour
	usual := []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
	}
	for _, step := range usual {
		if step >= least && period/step <= maxChosenPoints {
			return step
		}
	}
	days := int64(period/maxChosenPoints/day) + 1
	return time.Duration(days) * day
}

// Read answers a query.
func Read(ctx context.Context, db store.Database, tenant junctor.TenantID, q Query, now time.Time) (Answer, error) {
	if !slices.Contains(Dimensions(), q.By) {
		return Answer{}, junctor.Errorf(junctor.CodeInvalid, "unknown dimension %q; use one of %v", q.By, Dimensions())
	}
	p, err := planQuery(&q, now)
	if err != nil {
		return Answer{}, err
	}
	out := Answer{From: time.Unix(p.from, 0).UTC(), To: time.Unix(p.to, 0).UTC(), Step: p.step, Series: []Series{}}
	keys, count, err := readLargestSeries(ctx, db, tenant, &q, &p)
	if err != nil {
		return out, db.Fail(ctx, err, "read the sums of calls")
	}
	out.Count = count
	if len(keys) == 0 {
		return out, nil
	}
	points, err := readPoints(ctx, db, tenant, &q, keys, &p)
	if err != nil {
		return out, db.Fail(ctx, err, "read the sums of calls")
	}
	for _, key := range keys {
		if len(points[key]) == 0 {
			out.Count--
			continue
		}
		out.Series = append(out.Series, newSeries(key, points[key], q.Points))
	}
	return out, nil
}

// buildCondition returns the WHERE clause of a query, and its arguments.
func (q *Query) buildCondition(tenant junctor.TenantID, p *plan) (where string, args []any) {
	where = `tenant_id = ? AND step = ? AND dimension = ? AND begins >= ? AND begins < ?`
	args = []any{string(tenant), int64(p.stored), string(q.By), p.from, p.to}
	if q.First != nil {
		if len(q.First) == 0 {
			return `1 = 0`, nil
		}
		where += ` AND first_key IN (?` + strings.Repeat(", ?", len(q.First)-1) + `)`
		for _, first := range q.First {
			args = append(args, first)
		}
	}
	if q.Second != "" {
		where, args = where+` AND second_key = ?`, append(args, q.Second)
	}
	return where, args
}

// readLargestSeries returns the series with the most calls, and how many there are.
func readLargestSeries(ctx context.Context, db store.Database, tenant junctor.TenantID, q *Query, p *plan) (keys []Key, count int, err error) {
	where, args := q.buildCondition(tenant, p)
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(
		`SELECT first_key, second_key, COUNT(*) OVER () FROM series WHERE `+where+` GROUP BY first_key, second_key ORDER BY SUM(calls) DESC, first_key, second_key LIMIT ?`),
		append(args, min(max(q.Limit, 1), MaxReturnedSeries))...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		key := Key{By: q.By}
		if err := rows.Scan(&key.First, &key.Second, &count); err != nil {
			return nil, 0, err
		}
		keys = append(keys, key)
	}
	return keys, count, rows.Err()
}

// readPoints reads the sums of series, by the beginning of the point.
func readPoints(ctx context.Context, db store.Database, tenant junctor.TenantID, q *Query, keys []Key, p *plan) (map[Key]map[int64]*Sums, error) {
	list := make([][2]string, len(keys))
	for i, key := range keys {
		list[i] = [2]string{key.First, key.Second}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode the keys of series: %w", err)
	}
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(
		`WITH wanted (a, b) AS (`+db.Dialect.SelectRows("tt")+`) SELECT begins, first_key, second_key, `+strings.Join(countColumns(), ", ")+`, durations
		FROM series, wanted WHERE first_key = wanted.a AND second_key = wanted.b AND tenant_id = ? AND step = ? AND dimension = ? AND begins >= ? AND begins < ?`),
		string(text), string(tenant), int64(p.stored), string(q.By), p.from, p.to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[Key]map[int64]*Sums{}
	for rows.Next() {
		var begins int64
		key := Key{By: q.By}
		sums, err := scanSums(rows, len(countColumns()), &begins, &key.First, &key.Second)
		if err != nil {
			return nil, fmt.Errorf("sums of %v: %w", key, err)
		}
		if since, limited := q.since[key.First]; limited && begins < since.Unix() {
			continue
		}
		if found[key] == nil {
			found[key] = map[int64]*Sums{}
		}
		findOrAddSums(found[key], begins/p.step*p.step).addSums(sums)
	}
	return found, rows.Err()
}

// scanSums reads a row: what into points to, the first of the counts, and the durations.
func scanSums(rows *sql.Rows, counts int, into ...any) (*Sums, error) {
	sums, durations := &Sums{}, ""
	fields := sums.countFields()
	for _, field := range fields[:counts] {
		into = append(into, field)
	}
	if err := rows.Scan(append(into, &durations)...); err != nil {
		return nil, err
	}
	read, err := decodeSketch(durations)
	if err != nil {
		return nil, fmt.Errorf("durations: %w", err)
	}
	sums.durations = *read
	return sums, nil
}

// newSeries returns a series with its total, and with its points in their order.
func newSeries(key Key, points map[int64]*Sums, withPoints bool) Series {
	one := Series{First: key.First, Second: key.Second}
	var total Sums
	for at, sums := range points {
		total.addSums(sums)
		if withPoints {
			one.Points = append(one.Points, Point{Time: time.Unix(at, 0).UTC(), Numbers: sums.withPercentiles()})
		}
	}
	slices.SortFunc(one.Points, func(a, b Point) int { return cmp.Compare(a.Time.Unix(), b.Time.Unix()) })
	one.Total = total.withPercentiles()
	return one
}

// withPercentiles returns the sums with their percentiles.
func (s *Sums) withPercentiles() Numbers {
	n := Numbers{Sums: *s}
	if s.durations.Count() > 0 {
		n.P50, n.P95, n.P99 = int64(s.durations.Quantile(0.5)), int64(s.durations.Quantile(0.95)), int64(s.durations.Quantile(0.99))
	}
	return n
}

// RecentPeriod is the period of ReadRecent.
const RecentPeriod = 5 * time.Minute

// ReadRecent returns the numbers of all calls of all tenants in the last RecentPeriod, from
// the beginning of its first minute.
func ReadRecent(ctx context.Context, db store.Database, now time.Time) (Numbers, error) {
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(`SELECT `+strings.Join(countColumns(), ", ")+`, durations FROM series WHERE step = ? AND begins >= ? AND dimension = ?`),
		int64(Minute), Minute.beginOf(now.Add(-RecentPeriod)), string(ByAll))
	if err != nil {
		return Numbers{}, db.Fail(ctx, err, "read the sums of the last minutes")
	}
	defer rows.Close()
	var total Sums
	for rows.Next() {
		sums, err := scanSums(rows, len(countColumns()))
		if err != nil {
			return Numbers{}, db.Fail(ctx, err, "read the sums of the last minutes")
		}
		total.addSums(sums)
	}
	if err := rows.Err(); err != nil {
		return Numbers{}, db.Fail(ctx, err, "read the sums of the last minutes")
	}
	return total.withPercentiles(), nil
}

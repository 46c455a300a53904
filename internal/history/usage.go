package history

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// UsageGroup is the property by which usage is summed up.
type UsageGroup string

// The groups of usage.
const (
	ByTool       UsageGroup = "tool"
	ByServer     UsageGroup = "server"
	ByUser       UsageGroup = "user"   // the users who called, or for whom an agent called
	ByAgent      UsageGroup = "agent"  // the agents that called, or as which a user acted
	ByCaller     UsageGroup = "caller" // the subjects that called: users, agents and services
	ByEntryPoint UsageGroup = "entry_point"
	ByDay        UsageGroup = "day"
)

// UsageGroups returns all groups.
func UsageGroups() []UsageGroup {
	return []UsageGroup{ByTool, ByServer, ByUser, ByAgent, ByCaller, ByEntryPoint, ByDay}
}

// Usage is a sum over calls. Of the fields before Calls, only those of its group
// are set. The percentiles cover calls that ran, and are interpolated within the
// buckets in which durations are counted.
type Usage struct {
	Server string `json:"server,omitempty"`
	// Of a tool; each other kind is one row, in parentheses.
	Name       string             `json:"name,omitempty"`
	EntryPoint junctor.EntryPoint `json:"entry_point,omitempty"`
	Issuer     string             `json:"issuer,omitempty"`
	Subject    string             `json:"subject,omitempty"`
	// Absent for calls without a user.
	User string `json:"user,omitempty"`
	// Absent for calls without an agent.
	Agent string    `json:"agent,omitempty"`
	Day   time.Time `json:"day,omitzero"`

	Calls int64 `json:"calls"`
	// Calls that ran and did not succeed.
	Errors   int64         `json:"errors"`
	Refused  int64         `json:"refused"` // calls that never ran
	Duration time.Duration `json:"duration_ns"`
	BytesIn  int64         `json:"bytes_in"`
	BytesOut int64         `json:"bytes_out"`
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
	P99      time.Duration `json:"p99_ns"`
}

// bucketCount is the number of buckets in which durations are counted. Each has a
// column in the database.
const bucketCount = 18

// bucketBounds returns the upper bounds of all buckets but the last, in
// microseconds.
func bucketBounds() [bucketCount - 1]int64 {
	return [...]int64{
		100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
		1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000,
	}
}

// usageKey identifies one row of sums.
type usageKey struct {
	tenant          junctor.TenantID
	day             int64 // days since 1970-01-01 UTC
	server, name    string
	entryPoint      string
	issuer, subject string
	user, agent     string
}

// usageSums are the sums of one row; duration is in microseconds.
type usageSums struct {
	calls, errors, refused, duration, bytesIn, bytesOut int64
	bucketCounts                                        [bucketCount]int64
}

// usageTally sums up calls. It is safe for concurrent use.
type usageTally struct {
	mu   sync.Mutex
	rows map[usageKey]*usageSums
}

// maxTallyKeys bounds a tally. Calls that would add more rows are summed up in
// one row per tenant and day.
const maxTallyKeys = 10_000

// addCall adds a call to its row.
func (t *usageTally) addCall(c *junctor.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = map[usageKey]*usageSums{}
	}
	k := usageKeyOf(c)
	s := t.rows[k]
	if s == nil {
		if len(t.rows) >= maxTallyKeys {
			k = usageKey{tenant: c.Tenant, day: k.day, name: "(other)"}
		}
		if s = t.rows[k]; s == nil {
			s = new(usageSums)
			t.rows[k] = s
		}
	}
	s.addCall(c)
}

// takeAll returns the sums and empties the tally.
func (t *usageTally) takeAll() map[usageKey]*usageSums {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.rows
	t.rows = nil
	return rows
}

// usageKeyOf returns the row that a call belongs to. A name that a caller can
// choose freely is not used as a key, because the number of rows would have no
// limit.
func usageKeyOf(c *junctor.Call) usageKey {
	k := usageKey{
		tenant: c.Tenant, day: dayOf(c.Start), server: c.Server, name: c.Name, entryPoint: string(c.EntryPoint),
		issuer: storableText(c.Issuer), subject: storableText(c.Subject), user: storableText(c.User), agent: storableText(c.Agent),
	}
	switch {
	case c.Kind != junctor.KindTool:
		k.name = kindName(c.Kind)
	case c.Server == "":
		k.name = "(unknown)"
	}
	k.server, k.name = storableText(k.server), storableText(k.name)
	return k
}

// kindName returns the name under which all operations of a kind are summed up.
func kindName(kind junctor.Kind) string {
	switch kind {
	case junctor.KindResource:
		return "(resource)"
	case junctor.KindPrompt:
		return "(prompt)"
	case junctor.KindCompletion:
		return "(completion)"
	case junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel:
		return "(tasks)"
	case junctor.KindSubscription:
		return "(subscription)"
	default:
		return "(" + string(kind) + ")"
	}
}

// dayOf returns the number of days since 1970-01-01 UTC, rounded down.
func dayOf(t time.Time) int64 {
	const day = 24 * 60 * 60
	s := t.Unix()
	if s < 0 {
		s -= day - 1
	}
	return s / day
}

// addCall adds a call. A refused call has no duration, since it never ran.
func (s *usageSums) addCall(c *junctor.Call) {
	s.calls++
	s.bytesIn += int64(c.BytesIn)
	s.bytesOut += int64(c.BytesOut)
	switch c.Status {
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid:
		s.refused++
		return
	case junctor.StatusSuccess:
	default:
		s.errors++
	}
	us := c.Duration.Microseconds()
	s.duration += us
	b := bucketBounds()
	s.bucketCounts[sort.Search(len(b), func(i int) bool { return us <= b[i] })]++
}

// percentile returns the duration below which the share p of the calls lies. It
// assumes that durations are spread evenly within a bucket.
func (s *usageSums) percentile(p float64) time.Duration {
	var ran int64
	for _, n := range s.bucketCounts {
		ran += n
	}
	if ran == 0 {
		return 0
	}
	rank, b, low := p*float64(ran), bucketBounds(), int64(0)
	for i, high := range b {
		n := float64(s.bucketCounts[i])
		if n > 0 && rank <= n {
			return time.Duration(float64(low)+float64(high-low)*rank/n) * time.Microsecond
		}
		rank -= n
		low = high
	}
	return time.Duration(low) * time.Microsecond // the last bucket has no upper bound
}

// countColumns lists the columns d00, d01 and so on; each replaces # in format.
func countColumns(format string) string {
	list := make([]string, bucketCount)
	for i := range list {
		list[i] = strings.ReplaceAll(format, "#", fmt.Sprintf("d%02d", i))
	}
	return strings.Join(list, ", ")
}

// groupColumns returns the columns that identify a row of the group, in the order
// of keyColumns; nil for an unknown group.
func (g UsageGroup) groupColumns() []string {
	switch g {
	case ByTool:
		return []string{"server", "name"}
	case ByServer:
		return []string{"server"}
	case ByUser:
		return []string{"user_id"}
	case ByAgent:
		return []string{"agent"}
	case ByCaller:
		return []string{"issuer", "subject"}
	case ByEntryPoint:
		return []string{"entry_point"}
	case ByDay:
		return []string{"day"}
	}
	return nil
}

// keyColumns returns the columns of the fields of Usage before Calls, in their
// order.
func keyColumns() []string {
	return []string{"server", "name", "entry_point", "issuer", "subject", "user_id", "agent", "day"}
}

// UsageFilter selects the calls that are summed up; empty fields select all. Days
// are those from Since to Until, both included, in UTC.
type UsageFilter struct {
	Since, Until time.Time
	// The server's own name for it, or server__name.
	Tool       string
	Server     string
	User       string // by id
	Agent      string // by name
	Caller     string // subject of the caller
	EntryPoint junctor.EntryPoint
}

// buildCondition returns the SQL condition of the filter and its arguments.
func (f *UsageFilter) buildCondition(access *junctor.CallAccess) (string, []any) {
	where, args := access.SumCondition("day", firstDay)
	and := func(cond string, values ...any) { where, args = where+" AND ("+cond+")", append(args, values...) }
	if !f.Since.IsZero() {
		and("day >= ?", dayOf(f.Since))
	}
	if !f.Until.IsZero() {
		and("day <= ?", dayOf(f.Until))
	}
	if f.Tool != "" {
		cond, of := toolCondition(f.Tool)
		and(cond, of...)
	}
	for _, is := range [...]struct{ column, value string }{
		{"server", f.Server}, {"user_id", f.User}, {"agent", f.Agent}, {"subject", f.Caller}, {"entry_point", string(f.EntryPoint)},
	} {
		if is.value != "" {
			and(is.column+" = ?", is.value)
		}
	}
	return where, args
}

// firstDay returns the first day whose sums belong only to the server that was
// added at that time. Earlier on the day of added, a former server may have had
// the same id.
func firstDay(added time.Time) int64 {
	day := dayOf(added)
	if added.After(time.Unix(day*24*60*60, 0)) {
		day++
	}
	return day
}

// Usage sums up the calls that access may see. Groups are ordered by calls, most
// first; days are in their own order. An unknown group is CodeInvalid.
func (h *History) Usage(ctx context.Context, access junctor.CallAccess, f UsageFilter, by UsageGroup) ([]Usage, error) {
	group := by.groupColumns()
	if group == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "usage is summed up by tool, server, user, agent, caller, entry_point or day, not by %q", string(by))
	}
	keys := keyColumns()
	for i, column := range keys {
		switch {
		case slices.Contains(group, column):
		case column == "day":
			keys[i] = "0"
		default:
			keys[i] = "''"
		}
	}
	where, args := f.buildCondition(&access)
	grouped := strings.Join(group, ", ")
	query := `SELECT ` + strings.Join(keys, ", ") + `, CAST(SUM(calls) AS BIGINT), CAST(SUM(errors) AS BIGINT), CAST(SUM(refused) AS BIGINT), CAST(SUM(duration) AS BIGINT),
		CAST(SUM(bytes_in) AS BIGINT), CAST(SUM(bytes_out) AS BIGINT), ` + countColumns("CAST(SUM(#) AS BIGINT)") + `
		FROM history_usage WHERE ` + where + ` GROUP BY ` + grouped
	if by == ByDay {
		query += ` ORDER BY day`
	} else {
		query += ` ORDER BY SUM(calls) DESC, ` + grouped
	}
	rows, err := h.options.Read.QueryContext(ctx, h.options.Dialect.Bind(query), args...)
	if err != nil {
		return nil, h.wrapError(ctx, err, "read the usage")
	}
	defer rows.Close()
	var list []Usage
	for rows.Next() {
		u, err := scanUsage(rows, by)
		if err != nil {
			return nil, h.wrapError(ctx, err, "read the usage")
		}
		list = append(list, u)
	}
	if err := rows.Err(); err != nil {
		return nil, h.wrapError(ctx, err, "read the usage")
	}
	return list, nil
}

// scanUsage reads a row of the query of Usage.
func scanUsage(row rowScanner, by UsageGroup) (Usage, error) {
	var u Usage
	var s usageSums
	var day int64
	dest := make([]any, 0, 14+bucketCount)
	dest = append(dest, &u.Server, &u.Name, &u.EntryPoint, &u.Issuer, &u.Subject, &u.User, &u.Agent, &day, &s.calls, &s.errors, &s.refused, &s.duration, &s.bytesIn, &s.bytesOut)
	for i := range s.bucketCounts {
		dest = append(dest, &s.bucketCounts[i])
	}
	err := row.Scan(dest...)
	u.Calls, u.Errors, u.Refused, u.BytesIn, u.BytesOut = s.calls, s.errors, s.refused, s.bytesIn, s.bytesOut
	u.Duration = time.Duration(s.duration) * time.Microsecond
	u.P50, u.P95, u.P99 = s.percentile(.5), s.percentile(.95), s.percentile(.99)
	if by == ByDay {
		u.Day = time.Unix(day*24*60*60, 0).UTC()
	}
	return u, err
}

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

// Group says by what usage is summed up.
type Group string

// Groups of usage.
const (
	ByTool   Group = "tool"
	ByServer Group = "server"
	ByUser   Group = "user"   // the people who called, or were called for
	ByAgent  Group = "agent"  // the agents that called, or that somebody acted as
	ByCaller Group = "caller" // whoever called: a user, an agent, a service
	ByDoor   Group = "door"
	ByDay    Group = "day"
)

// Groups lists them.
func Groups() []Group { return []Group{ByTool, ByServer, ByUser, ByAgent, ByCaller, ByDoor, ByDay} }

// Usage is a sum over calls. Of the members before Calls, those of its group
// are set. Percentiles are of calls that ran, within the bounds that durations
// are counted by.
type Usage struct {
	Server  string       `json:"server,omitempty"`
	Name    string       `json:"name,omitempty"` // of a tool; other kinds are one each, in parentheses
	Door    junctor.Door `json:"door,omitempty"`
	Issuer  string       `json:"issuer,omitempty"`
	Subject string       `json:"subject,omitempty"`
	User    string       `json:"user,omitempty"`  // absent where calls were for nobody
	Agent   string       `json:"agent,omitempty"` // absent where calls were by none
	Day     time.Time    `json:"day,omitzero"`

	Calls    int64         `json:"calls"`
	Errors   int64         `json:"errors"`  // ran, and did not succeed
	Refused  int64         `json:"refused"` // never ran
	Duration time.Duration `json:"duration_ns"`
	BytesIn  int64         `json:"bytes_in"`
	BytesOut int64         `json:"bytes_out"`
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
	P99      time.Duration `json:"p99_ns"`
}

// bucketCount is how many ranges of durations are counted apart.
const bucketCount = 18

// bucketBounds are the upper ends of the ranges but the last, in microseconds.
func bucketBounds() [bucketCount - 1]int64 {
	return [...]int64{
		100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
		1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000,
	}
}

// usageKey is one row of the sums.
type usageKey struct {
	tenant          junctor.TenantID
	day             int64
	server, name    string
	door            string
	issuer, subject string
	user, agent     string
}

type usageSums struct {
	calls, errors, refused, duration, bytesIn, bytesOut int64
	bucketCounts                                        [bucketCount]int64
}

// usageTally sums up calls. It is safe for concurrent use.
type usageTally struct {
	mu   sync.Mutex
	rows map[usageKey]*usageSums
}

// maxTallyKeys bounds a tally; calls that would make more rows are summed up under
// one name.
const maxTallyKeys = 10_000

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

// takeAll empties the tally.
func (t *usageTally) takeAll() map[usageKey]*usageSums {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.rows
	t.rows = nil
	return rows
}

// usageKeyOf is the row that a call belongs to. Names that callers are free to
// choose are no keys: they would make rows without end.
func usageKeyOf(c *junctor.Call) usageKey {
	k := usageKey{
		tenant: c.Tenant, day: dayOf(c.Start), server: c.Server, name: c.Name, door: string(c.Door),
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

// kindName is what the sums call all operations of a kind.
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

func dayOf(t time.Time) int64 {
	const day = 24 * 60 * 60
	s := t.Unix()
	if s < 0 {
		s -= day - 1
	}
	return s / day
}

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

// percentile is where the share p of the counted durations lies, taking each
// range to be filled evenly.
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
	return time.Duration(low) * time.Microsecond // at least
}

// countColumns lists d00 and so on, each as format has it.
func countColumns(format string) string {
	list := make([]string, bucketCount)
	for i := range list {
		list[i] = strings.ReplaceAll(format, "#", fmt.Sprintf("d%02d", i))
	}
	return strings.Join(list, ", ")
}

// groupColumns are those that a group has one row for, in the order of places; nil
// where there is no such group.
func (g Group) groupColumns() []string {
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
	case ByDoor:
		return []string{"door"}
	case ByDay:
		return []string{"day"}
	}
	return nil
}

// keyColumns are the members of Usage before Calls, as columns.
func keyColumns() []string {
	return []string{"server", "name", "door", "issuer", "subject", "user_id", "agent", "day"}
}

// UsageFilter says which calls are summed up; zero members do not filter. Days
// are those from Since to Until, both included and taken in UTC.
type UsageFilter struct {
	Since, Until time.Time
	Tool         string // a server's own name, or server__name
	Server       string
	User         string // by id
	Agent        string // by name
	Caller       string // the subject of whoever called
	Door         junctor.Door
}

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
		{"server", f.Server}, {"user_id", f.User}, {"agent", f.Agent}, {"subject", f.Caller}, {"door", string(f.Door)},
	} {
		if is.value != "" {
			and(is.column+" = ?", is.value)
		}
	}
	return where, args
}

// firstDay is the first day whose sums are of a server alone that was added then:
// a former one of the same id may have been called earlier on that day.
func firstDay(added time.Time) int64 {
	day := dayOf(added)
	if added.After(time.Unix(day*24*60*60, 0)) {
		day++
	}
	return day
}

// Usage sums up the calls that access has. Groups come by calls, most first, and days in
// their order. Sums of before user, agent and door were kept apart have none.
func (h *History) Usage(ctx context.Context, access junctor.CallAccess, f UsageFilter, by Group) ([]Usage, error) {
	group := by.groupColumns()
	if group == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "usage is summed up by tool, server, user, agent, caller, door or day, not by %q", string(by))
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

func scanUsage(row rowScanner, by Group) (Usage, error) {
	var u Usage
	var s usageSums
	var day int64
	dest := make([]any, 0, 14+bucketCount)
	dest = append(dest, &u.Server, &u.Name, &u.Door, &u.Issuer, &u.Subject, &u.User, &u.Agent, &day, &s.calls, &s.errors, &s.refused, &s.duration, &s.bytesIn, &s.bytesOut)
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

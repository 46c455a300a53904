package history

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/sketch"
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
// are set. The percentiles cover calls that ran, and differ from the exact ones by at
// most sketch.MaxError. For calls that were counted by a version without sketches, they
// are interpolated within wide buckets.
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

// bucketCount is the number of buckets in which versions without sketches count
// durations. Each has a column in the database.
const bucketCount = 18

// bucketBounds returns the upper bounds of all of these buckets but the last, in
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

// usageSums are the sums of one row; duration is in microseconds, and durations has
// nanoseconds.
type usageSums struct {
	calls, errors, refused, duration, bytesIn, bytesOut int64
	durations                                           sketch.Sketch
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
	s.duration += c.Duration.Microseconds()
	s.durations.Add(int64(c.Duration))
}

// addFormerCounts adds the calls that a version without sketches counted in buckets. It
// assumes that durations are spread evenly within a bucket.
func addFormerCounts(to *sketch.Sketch, counts *[bucketCount]int64) {
	low := int64(0)
	for i, high := range bucketBounds() {
		to.AddRange(low*1000, high*1000, uint64(max(counts[i], 0)))
		low = high
	}
	to.AddCount(low*1000, uint64(max(counts[bucketCount-1], 0))) // the last bucket has no upper bound
}

// encodeDurations returns a sketch as text, in which form the database has it.
func encodeDurations(s *sketch.Sketch) string {
	return base64.RawStdEncoding.EncodeToString(s.AppendBinary(nil))
}

// mergeDurations adds a stored sketch to another. "" is an empty one.
func mergeDurations(to *sketch.Sketch, text string) error {
	if text == "" {
		return nil
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	var stored sketch.Sketch
	if err := stored.Decode(data); err != nil {
		return err
	}
	to.Merge(&stored)
	return nil
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
	var list []Usage
	durations := map[groupKey]*sketch.Sketch{}
	err := h.eachRow(ctx, query, args, func(row rowScanner) error {
		u, key, former, err := scanUsage(row)
		if err != nil {
			return err
		}
		durations[key] = former
		list = append(list, u)
		return nil
	})
	// A sketch cannot be merged in SQL.
	if err == nil && len(list) > 0 {
		err = h.eachRow(ctx, `SELECT `+strings.Join(keys, ", ")+`, durations FROM history_usage WHERE (`+where+`) AND durations <> ''`, args, func(row rowScanner) error {
			return h.mergeStoredDurations(ctx, durations, row)
		})
	}
	if err != nil {
		return nil, h.wrapError(ctx, err, "read the usage")
	}
	for i := range list {
		u := &list[i]
		s := durations[u.groupKey()]
		u.P50, u.P95, u.P99 = percentile(s, .5), percentile(s, .95), percentile(s, .99)
		if by != ByDay {
			u.Day = time.Time{}
		}
	}
	return list, nil
}

// percentile returns a quantile of a sketch of nanoseconds.
func percentile(s *sketch.Sketch, q float64) time.Duration {
	return time.Duration(math.Round(s.Quantile(q)))
}

// eachRow calls use with each row of a query, until one fails.
func (h *History) eachRow(ctx context.Context, query string, args []any, use func(rowScanner) error) error {
	rows, err := h.options.Read.QueryContext(ctx, h.options.Dialect.Bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := use(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// groupKey identifies a sum; it has the columns of keyColumns.
type groupKey struct {
	server, name, entryPoint, issuer, subject, user, agent string
	day                                                    int64
}

// pointers returns where a row's key is scanned to.
func (k *groupKey) pointers() []any {
	return []any{&k.server, &k.name, &k.entryPoint, &k.issuer, &k.subject, &k.user, &k.agent, &k.day}
}

// groupKey returns the key of a sum.
func (u *Usage) groupKey() groupKey {
	return groupKey{
		server: u.Server, name: u.Name, entryPoint: string(u.EntryPoint), issuer: u.Issuer, subject: u.Subject, user: u.User, agent: u.Agent,
		day: dayOf(u.Day),
	}
}

// scanUsage reads a row of the sums of Usage. former has the durations that are not in
// sketches.
func scanUsage(row rowScanner) (u Usage, key groupKey, former *sketch.Sketch, err error) {
	var micros int64
	var counts [bucketCount]int64
	dest := append(key.pointers(), &u.Calls, &u.Errors, &u.Refused, &micros, &u.BytesIn, &u.BytesOut)
	for i := range counts {
		dest = append(dest, &counts[i])
	}
	err = row.Scan(dest...)
	u.Server, u.Name, u.EntryPoint, u.Issuer, u.Subject, u.User, u.Agent = key.server, key.name, junctor.EntryPoint(key.entryPoint), key.issuer, key.subject, key.user, key.agent
	u.Day = time.Unix(key.day*24*60*60, 0).UTC()
	u.Duration = time.Duration(micros) * time.Microsecond
	former = new(sketch.Sketch)
	addFormerCounts(former, &counts)
	return u, key, former, err
}

// mergeStoredDurations adds the sketch of a row to the sketch of its sum. A sketch that
// cannot be read is logged and left out, since everything else of the sums is right.
func (h *History) mergeStoredDurations(ctx context.Context, sums map[groupKey]*sketch.Sketch, row rowScanner) error {
	var key groupKey
	var text string
	if err := row.Scan(append(key.pointers(), &text)...); err != nil {
		return err
	}
	to := sums[key]
	if to == nil { // it was added after the sums were read
		return nil
	}
	if err := mergeDurations(to, text); err != nil {
		h.options.Logger.WarnContext(ctx, "cannot decode the durations of a usage row; percentiles leave them out", "day", key.day, "error", err)
	}
	return nil
}

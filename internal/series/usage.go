package series

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// UsageGroup is the property by which usage is summed up.
type UsageGroup string

// The groups of usage.
const (
	UsageByTool       UsageGroup = "tool"
	UsageByServer     UsageGroup = "server"
	UsageByUser       UsageGroup = "user"   // the users who called, or for whom an agent called
	UsageByAgent      UsageGroup = "agent"  // the agents that called, or as which a user acted
	UsageByCaller     UsageGroup = "caller" // the subjects that called: users, agents and services
	UsageByEntryPoint UsageGroup = "entry_point"
	UsageByDay        UsageGroup = "day"
)

// UsageGroups returns all groups.
func UsageGroups() []UsageGroup {
	return []UsageGroup{UsageByTool, UsageByServer, UsageByUser, UsageByAgent, UsageByCaller, UsageByEntryPoint, UsageByDay}
}

// Usage is a sum over the calls of whole days. Of the fields before Calls, only those of
// its group are set. The percentiles cover calls that ran, and differ from the exact ones
// by at most sketch.MaxError.
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

// usageKey identifies a row of sums of a day, by everything that a UsageFilter selects.
type usageKey struct {
	tenant          junctor.TenantID
	day             int64 // since 1970-01-01 UTC
	server, name    string
	entryPoint      string
	issuer, subject string
	user, agent     string
}

// usageKeyOf returns the row that counts a call.
func usageKeyOf(c *audit.EndedCall) usageKey {
	return usageKey{
		tenant: c.Tenant, day: dayOf(c.Time), server: keyText(c.Server), name: toolKeyOf(c), entryPoint: string(c.EntryPoint),
		issuer: keyText(c.Issuer), subject: keyText(c.Subject), user: keyText(c.User), agent: keyText(c.Agent),
	}
}

// otherUsage returns the row of a call whose own would be one too many.
func otherUsage(c *audit.EndedCall) usageKey {
	return usageKey{tenant: c.Tenant, day: dayOf(c.Time), name: otherKey(ByTool).First}
}

// dayOf returns the number of the day of a time.
func dayOf(t time.Time) int64 { return Day.beginOf(t) / int64(Day) }

// usageTable returns the table of the sums by usageKey.
func usageTable() table[usageKey] {
	return table[usageKey]{
		name: "usage_days", keyColumns: "tenant_id, day, server, name, entry_point, issuer, subject, user_id, agent", keyTypes: "ti" + "ttttttt", counts: callColumns(),
		values: func(k *usageKey) []any {
			return []any{string(k.tenant), k.day, k.server, k.name, k.entryPoint, k.issuer, k.subject, k.user, k.agent}
		},
		into: func(k *usageKey) []any {
			return []any{&k.tenant, &k.day, &k.server, &k.name, &k.entryPoint, &k.issuer, &k.subject, &k.user, &k.agent}
		},
		compare: func(a, b usageKey) int {
			return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.day, b.day), cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name),
				cmp.Compare(a.entryPoint, b.entryPoint), cmp.Compare(a.issuer, b.issuer), cmp.Compare(a.subject, b.subject), cmp.Compare(a.user, b.user), cmp.Compare(a.agent, b.agent))
		},
	}
}

// groupColumns returns the columns of usage_days that identify a sum of the group, and the
// fields of Usage and the day that have them; nil for an unknown group.
func (g UsageGroup) groupColumns(u *Usage, day *int64) (columns []string, into []any) {
	switch g {
	case UsageByTool:
		return []string{"server", "name"}, []any{&u.Server, &u.Name}
	case UsageByServer:
		return []string{"server"}, []any{&u.Server}
	case UsageByUser:
		return []string{"user_id"}, []any{&u.User}
	case UsageByAgent:
		return []string{"agent"}, []any{&u.Agent}
	case UsageByCaller:
		return []string{"issuer", "subject"}, []any{&u.Issuer, &u.Subject}
	case UsageByEntryPoint:
		return []string{"entry_point"}, []any{&u.EntryPoint}
	case UsageByDay:
		return []string{"day"}, []any{day}
	}
	return nil, nil
}

// buildCondition returns the SQL condition of the filter over usage_days, and its arguments.
func (f *UsageFilter) buildCondition(access *junctor.CallAccess) (string, []any) {
	where, args := access.SumCondition("day", firstDay)
	where = "(" + where + ")"
	and := func(cond string, values ...any) { where, args = where+" AND ("+cond+")", append(args, values...) }
	if !f.Since.IsZero() {
		and("day >= ?", dayOf(f.Since))
	}
	if !f.Until.IsZero() {
		and("day <= ?", dayOf(f.Until))
	}
	if server, name, ok := strings.Cut(f.Tool, "__"); ok && server != "" && name != "" {
		and("name = ? OR server = ? AND name = ?", f.Tool, server, name)
	} else if f.Tool != "" {
		and("name = ?", f.Tool)
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
	if added.After(time.Unix(day*int64(Day), 0)) {
		day++
	}
	return day
}

// Usage sums up the calls that access may see. Groups are ordered by calls, most
// first; days are in their own order. An unknown group is CodeInvalid.
func (r *Reader) Usage(ctx context.Context, access junctor.CallAccess, f UsageFilter, by UsageGroup) ([]Usage, error) {
	columns, _ := by.groupColumns(&Usage{}, new(int64))
	if columns == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "usage is summed up by tool, server, user, agent, caller, entry_point or day, not by %q", string(by))
	}
	sums, err := r.readGroups(ctx, &access, &f, by, columns)
	if err != nil {
		return nil, r.o.DB.Fail(ctx, err, "read the usage")
	}
	list := make([]Usage, 0, len(sums))
	for key, s := range sums {
		list = append(list, key.withSums(s))
	}
	slices.SortFunc(list, func(a, b Usage) int {
		if by == UsageByDay {
			return a.Day.Compare(b.Day)
		}
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.EntryPoint, b.EntryPoint))
	})
	return list, nil
}

// readGroups returns the sums of the groups: from those that are kept for each day, or else from
// the rows of all combinations.
func (r *Reader) readGroups(ctx context.Context, access *junctor.CallAccess, f *UsageFilter, by UsageGroup, columns []string) (map[Usage]*Sums, error) {
	if kept, ok := f.findKeptSums(by); ok && access.All() {
		return kept.read(ctx, r.o.DB, access.Tenant())
	}
	where, args := f.buildCondition(access)
	query := `SELECT ` + strings.Join(slices.Concat(columns, callColumns()), ", ") + `, durations FROM ` + usageTable().name + ` WHERE ` + where
	return readUsage(ctx, r.o.DB, query, args, by)
}

// readUsage adds up the rows of a query by their group. The keys have the fields of the
// group only.
func readUsage(ctx context.Context, db store.Database, query string, args []any, by UsageGroup) (map[Usage]*Sums, error) {
	rows, err := db.Read.QueryContext(ctx, db.Dialect.Bind(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[Usage]*Sums{}
	for rows.Next() {
		var key Usage
		var day int64
		_, into := by.groupColumns(&key, &day)
		sums, err := scanSums(rows, len(callColumns()), into...)
		if err != nil {
			return nil, fmt.Errorf("a sum of usage: %w", err)
		}
		if by == UsageByDay {
			key.Day = time.Unix(day*int64(Day), 0).UTC()
		}
		findOrAddSums(found, key).addSums(sums)
	}
	return found, rows.Err()
}

// withSums returns the usage of a group.
func (u Usage) withSums(s *Sums) Usage {
	const us = float64(time.Microsecond)
	u.Calls, u.Errors, u.Refused, u.BytesIn, u.BytesOut = s.Calls, s.Failed(), s.Refused(), s.BytesIn, s.BytesOut
	u.Duration = time.Duration(s.Duration) * time.Microsecond
	percentile := func(q float64) time.Duration { return time.Duration(math.Round(us * s.durations.Quantile(q))) }
	u.P50, u.P95, u.P99 = percentile(.5), percentile(.95), percentile(.99)
	return u
}

package numbers

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// maxError is by how much a percentile may differ from the exact one.
const maxError = 0.01

// numbers are the members of a point or a total of the metrics API.
type numbers struct {
	Calls, Errors, Timeouts, Canceled, Denied, Limited, Invalid int64
	Duration                                                    int64 `json:"duration_us"`
	BytesIn                                                     int64 `json:"bytes_in"`
	BytesOut                                                    int64 `json:"bytes_out"`
	ToolLists                                                   int64 `json:"tool_lists"`
	DefinitionTokens                                            int64 `json:"definition_tokens"`
	P50                                                         int64 `json:"p50_us"`
	P95                                                         int64 `json:"p95_us"`
	P99                                                         int64 `json:"p99_us"`
}

// answer is one of the metrics API.
type answer struct {
	From, To time.Time
	Step     int64 `json:"step_seconds"`
	Count    int
	Series   []struct {
		First, Second string
		Total         numbers
		Points        []struct {
			Time time.Time
			numbers
		}
	}
}

// sum sums records up.
type sum struct {
	numbers
	durations []int64
}

func (s *sum) add(r *record) {
	if r.isList() {
		s.ToolLists++
		s.DefinitionTokens += int64(math.Ceil(float64(r.BytesOut) / 4))
		return
	}
	s.Calls++
	s.BytesIn += r.BytesIn
	s.BytesOut += r.BytesOut
	switch r.Status {
	case "error":
		s.Errors++
	case "timeout":
		s.Timeouts++
	case "canceled", "lapsed":
		s.Canceled++
	case "denied":
		s.Denied++
	case "limited":
		s.Limited++
	case "invalid":
		s.Invalid++
	}
	if !r.isRefused() {
		s.Duration += r.Duration
		s.durations = append(s.durations, r.Duration)
	}
}

// quantile is the exact one of the durations.
func (s *sum) quantile(q float64) int64 {
	if len(s.durations) == 0 {
		return 0
	}
	return s.durations[int(math.Ceil(q*float64(len(s.durations))))-1]
}

// isNear reports whether a percentile is within maxError of the exact one.
func isNear(got, want int64) bool {
	return math.Abs(float64(got-want)) <= maxError*float64(want)+1
}

// compare holds numbers to a sum, and returns how many figures it compared.
func (s *sum) compare(t *testing.T, what string, got numbers) int {
	t.Helper()
	slices.Sort(s.durations)
	want := s.numbers
	want.P50, want.P95, want.P99 = s.quantile(.5), s.quantile(.95), s.quantile(.99)
	if !isNear(got.P50, want.P50) || !isNear(got.P95, want.P95) || !isNear(got.P99, want.P99) {
		t.Errorf("%s: p50, p95, p99 are %d, %d, %d; want %d, %d, %d", what, got.P50, got.P95, got.P99, want.P50, want.P95, want.P99)
	}
	got.P50, got.P95, got.P99 = want.P50, want.P95, want.P99
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
	return 15
}

// keysOf returns the keys of the series of a dimension that count a record.
func keysOf(by string, r *record) (keys [][2]string) {
	if by != "policy" {
		if first, second, counts := keyOf(by, r); counts {
			keys = append(keys, [2]string{first, second})
		}
		return keys
	}
	for rule := range strings.SplitSeq(r.Rules, ",") {
		if name, _, ok := strings.Cut(rule, ":"); ok {
			keys = append(keys, [2]string{name, ""})
		}
	}
	return keys
}

// keyOf returns the key of the series of a dimension that counts a record.
func keyOf(by string, r *record) (first, second string, counts bool) {
	path := r.tool()
	if r.Server != "" {
		path = r.Server + "/" + path
	}
	switch by {
	case "all":
		return "", "", true
	case "server":
		return r.Server, "", !r.isList() || r.Server != ""
	case "tool":
		return r.Server, r.tool(), !r.isList()
	case "agent":
		return r.Agent, "", r.Agent != ""
	case "user":
		return r.User, "", r.User != ""
	case "caller":
		return r.Issuer, r.Subject, true
	case "entry_point":
		return r.EntryPoint, "", true
	case "agent_tool":
		return r.Agent, path, r.Agent != "" && !r.isList()
	case "user_tool":
		return r.User, path, r.User != "" && !r.isList()
	case "key":
		return r.Key, "", r.Key != ""
	}
	panic(by)
}

func dimensions() []string {
	return []string{"all", "server", "tool", "agent", "user", "caller", "entry_point", "agent_tool", "user_tool", "key", "policy"}
}

// get asks an instance for JSON.
func get(t *testing.T, in *program.Instance, path string, query url.Values, into any) {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodGet, "/api/v1"+path+"?"+query.Encode(), "")
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s?%s: %d %.300s %v", path, query.Encode(), a.Status, a.Body, err)
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatalf("%s: %v: %.300s", path, err, a.Body)
	}
}

// compareMetrics holds every dimension of the metrics API, over several periods, to records.
// It returns how many figures it compared.
func compareMetrics(t *testing.T, in *program.Instance, records []record) (figures int) {
	t.Helper()
	first, last := records[0].Time, records[0].Time
	for i := range records {
		if at := records[i].Time; at.Before(first) {
			first = at
		} else if at.After(last) {
			last = at
		}
	}
	end := last.Truncate(time.Minute).Add(time.Minute)
	middle := first.Add(last.Sub(first) / 2).Truncate(time.Minute)
	for _, period := range []struct {
		from, to time.Time
		step     string
	}{
		{first, end, "1m"},
		{first, end, "5m"},
		{first, end, "1h"},
		{first, end, "24h"},
		{first.Add(-30 * 24 * time.Hour), end, "1h"},
		{middle, middle.Add(time.Minute), "1m"},
		{middle, end, "1m"},
		{end.Add(-time.Minute), end, "1m"},
	} {
		for _, by := range dimensions() {
			var got answer
			get(t, in, "/metrics", url.Values{
				"by": {by}, "from": {period.from.Format(time.RFC3339Nano)}, "to": {period.to.Format(time.RFC3339Nano)}, "step": {period.step}, "limit": {"100"},
			}, &got)
			figures += compareAnswer(t, by, &got, records)
		}
	}
	return figures
}

// compareAnswer holds an answer to the records of its period.
func compareAnswer(t *testing.T, by string, got *answer, records []record) (figures int) {
	t.Helper()
	totals, points := map[[2]string]*sum{}, map[[2]string]map[int64]*sum{}
	for i := range records {
		r := records[i]
		if r.Time.Before(got.From) || !r.Time.Before(got.To) {
			continue
		}
		if by == "policy" && strings.Contains(r.Rules, ":deny:enforce") {
			r.Status = "denied" // also if its result was withheld
		}
		at := r.Time.Unix() / got.Step * got.Step
		for _, key := range keysOf(by, &r) {
			if totals[key] == nil {
				totals[key], points[key] = &sum{}, map[int64]*sum{}
			}
			if points[key][at] == nil {
				points[key][at] = &sum{}
			}
			totals[key].add(&r)
			points[key][at].add(&r)
		}
	}
	what := fmt.Sprintf("by %s from %s to %s per %ds", by, got.From.Format(time.RFC3339), got.To.Format(time.RFC3339), got.Step)
	if got.Count != len(totals) || len(got.Series) != len(totals) {
		t.Errorf("%s: %d of %d series, want %d", what, len(got.Series), got.Count, len(totals))
	}
	for _, line := range got.Series {
		key := [2]string{line.First, line.Second}
		if totals[key] == nil {
			t.Errorf("%s: there were no calls of %q", what, key)
			continue
		}
		figures += totals[key].compare(t, fmt.Sprintf("%s: %q", what, key), line.Total)
		if len(line.Points) != len(points[key]) {
			t.Errorf("%s: %q: %d points, want %d", what, key, len(line.Points), len(points[key]))
		}
		for _, p := range line.Points {
			want := points[key][p.Time.Unix()]
			if want == nil {
				t.Errorf("%s: %q: there were no calls at %s", what, key, p.Time)
				continue
			}
			figures += want.compare(t, fmt.Sprintf("%s: %q at %s", what, key, p.Time), p.numbers)
		}
	}
	return figures
}

// usageRow is a sum of usage.
type usageRow struct {
	Server, Name, Issuer, Subject, User, Agent string
	EntryPoint                                 string `json:"entry_point"`
	Day                                        time.Time
	Calls, Errors, Refused                     int64
	Duration                                   int64 `json:"duration_ns"`
	BytesIn                                    int64 `json:"bytes_in"`
	BytesOut                                   int64 `json:"bytes_out"`
	P50                                        int64 `json:"p50_ns"`
	P95                                        int64 `json:"p95_ns"`
	P99                                        int64 `json:"p99_ns"`
}

// key returns what identifies the row among those of a group.
func (u *usageRow) key() string {
	day := ""
	if !u.Day.IsZero() {
		day = u.Day.Format(time.DateOnly)
	}
	return strings.Join([]string{u.Server, u.Name, u.Issuer, u.Subject, u.User, u.Agent, u.EntryPoint, day}, "|")
}

// usageKey returns the key of the row of a group that counts a call.
func usageKey(by string, r *record) string {
	u := map[string]usageRow{
		"tool": {Server: r.Server, Name: r.tool()}, "server": {Server: r.Server}, "user": {User: r.User}, "agent": {Agent: r.Agent},
		"caller": {Issuer: r.Issuer, Subject: r.Subject}, "entry_point": {EntryPoint: r.EntryPoint}, "day": {Day: r.Time},
	}[by]
	return u.key()
}

// compareUsage holds the usage of each group to records. It returns how many figures it
// compared.
func compareUsage(t *testing.T, in *program.Instance, records []record) (figures int) {
	t.Helper()
	for _, by := range []string{"tool", "server", "user", "agent", "caller", "entry_point", "day"} {
		want := map[string]*sum{}
		for i := range records {
			if r := &records[i]; !r.isList() {
				key := usageKey(by, r)
				if want[key] == nil {
					want[key] = &sum{}
				}
				want[key].add(r)
			}
		}
		var got struct{ Items []usageRow }
		get(t, in, "/usage", url.Values{"by": {by}, "limit": {"1000"}}, &got)
		if len(got.Items) != len(want) {
			t.Errorf("usage by %s: %d rows, want %d", by, len(got.Items), len(want))
		}
		for _, u := range got.Items {
			w := want[u.key()]
			if w == nil {
				t.Errorf("usage by %s: there were no calls of %s", by, u.key())
				continue
			}
			figures += 9
			const us = int64(time.Microsecond)
			slices.Sort(w.durations)
			if u.Calls != w.Calls || u.Errors != w.Errors+w.Timeouts+w.Canceled || u.Refused != w.Denied+w.Limited+w.Invalid || u.Duration != w.Duration*us || u.BytesIn != w.BytesIn || u.BytesOut != w.BytesOut ||
				!isNear(u.P50/us, w.quantile(.5)) || !isNear(u.P95/us, w.quantile(.95)) || !isNear(u.P99/us, w.quantile(.99)) {
				t.Errorf("usage by %s: %+v, want %+v", by, u, w.numbers)
			}
		}
	}
	return figures
}

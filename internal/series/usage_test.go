package series_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/store"
)

// keptUsage are the questions about usage that sums of days answer which are kept for each
// value: all calls by any group, and those of one server, tool, user, agent, caller or entry
// point by the groups that an operator looks at.
func keptUsage() map[string][]series.UsageGroup {
	const tool, svr, user, agent, caller, entry, day = series.UsageByTool, series.UsageByServer, series.UsageByUser, series.UsageByAgent, series.UsageByCaller, series.UsageByEntryPoint, series.UsageByDay
	return map[string][]series.UsageGroup{
		"":       {tool, svr, user, agent, caller, entry, day},
		"server": {tool, svr, day}, "tool": {tool, svr, day}, "exposed tool": {tool, svr, day}, "user": {tool, svr, user, day}, "agent": {tool, svr, agent, day},
		"caller": {caller, day}, "entry point": {entry, day},
	}
}

// usageFilters returns the filters of keptUsage.
func usageFilters() map[string]series.UsageFilter {
	return map[string]series.UsageFilter{
		"": {}, "server": {Server: "s1"}, "tool": {Tool: "t2"}, "exposed tool": {Tool: "s1__t2"}, "user": {User: "u1"}, "agent": {Agent: "a1"},
		"caller": {Caller: "k1"}, "entry point": {EntryPoint: junctor.EntryMCP},
	}
}

// readUsage answers all questions of keptUsage.
func readUsage(t *testing.T, db store.Database, each func(name string, by series.UsageGroup, took time.Duration)) map[string][]series.Usage {
	t.Helper()
	reader := series.NewReader(series.ReaderOptions{DB: db, Now: time.Now})
	out := map[string][]series.Usage{}
	for name, groups := range keptUsage() {
		for _, by := range groups {
			begin := time.Now()
			list, err := reader.Usage(t.Context(), junctor.AllCalls(junctor.DefaultTenant), usageFilters()[name], by)
			if err != nil {
				t.Fatal(err)
			}
			each(name, by, time.Since(begin))
			out[name+" by "+string(by)] = list
		}
	}
	return out
}

// execute runs a statement.
func execute(t *testing.T, db store.Database, query string) {
	t.Helper()
	if _, err := db.Write.ExecContext(context.Background(), query); err != nil {
		t.Fatal(err)
	}
}

// TestUsageReadsKeptSums removes the rows of all combinations: what an operator asks for is
// answered from sums that are kept for each day, and not summed up from those rows again.
// TestKilledRecorders compares the same answers with the journals.
func TestUsageReadsKeptSums(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		r := newReplica(t, db, "one", c)
		for range 1500 {
			r.call()
			c.add(3 * time.Minute)
		}
		r.flush()
		if figures := checkUsage(t, db, c.Now(), r.truth); figures < 500 {
			t.Errorf("only %d figures", figures)
		}
		want := readUsage(t, db, func(string, series.UsageGroup, time.Duration) {})
		execute(t, db, `DELETE FROM usage_days`)
		for question, got := range readUsage(t, db, func(string, series.UsageGroup, time.Duration) {}) {
			if len(want[question]) == 0 || !slices.Equal(got, want[question]) {
				t.Errorf("usage of %s has %d rows without the rows of all combinations, and %d with them\n%+v\n%+v", question, len(got), len(want[question]), got, want[question])
			}
		}
	})
}

// TestUsageOfManyRows measures how long answers take with many rows of combinations.
func TestUsageOfManyRows(t *testing.T) {
	if os.Getenv("JUNCTOR_LONG") == "" {
		t.Skip("a measurement: make prove, part usage")
	}
	const combinations, days = 10_000, 30
	var mu sync.Mutex
	var figures []string
	t.Cleanup(func() {
		for _, figure := range figures {
			t.Logf("figure: %s", figure)
		}
	})
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		r := newReplica(t, db, "one", c)
		for i := range combinations {
			n := r.rand.IntN
			for range 4 {
				call := junctor.Call{
					ID: fmt.Sprintf("%032x", r.rand.Uint64()), Tenant: junctor.DefaultTenant, Kind: junctor.KindTool, EntryPoint: junctor.EntryMCP, Server: fmt.Sprint("s", i%5), Name: fmt.Sprint("t", i%100),
					Issuer: junctor.IssuerUser, Subject: fmt.Sprint("u", i/100), User: fmt.Sprint("u", i/100), Agent: strings.Repeat("a1", i%2),
					Status: junctor.StatusRunning, Start: c.Now(), BytesIn: n(1000),
				}
				r.append(&call)
				call.Status, call.Duration, call.BytesOut = junctor.StatusSuccess, time.Duration(n(1_000_000)+1)*time.Microsecond, n(5000)
				r.append(&call)
			}
			if i%1000 == 999 {
				r.flush()
				c.add(time.Minute)
			}
		}
		columns := `calls, errors, timeouts, canceled, denied, limited, invalid, duration, bytes_in, bytes_out, durations`
		for day := 1; day < days; day++ {
			execute(t, db, fmt.Sprintf(`INSERT INTO usage_days (tenant_id, day, server, name, entry_point, issuer, subject, user_id, agent, %[1]s)
				SELECT tenant_id, day - %[2]d, server, name, entry_point, issuer, subject, user_id, agent, %[1]s FROM usage_days WHERE day = (SELECT MAX(day) FROM usage_days)`, columns, day))
			execute(t, db, fmt.Sprintf(`INSERT INTO series (tenant_id, step, begins, dimension, first_key, second_key, %[1]s)
				SELECT tenant_id, step, begins - 86400 * %[2]d, dimension, first_key, second_key, %[1]s FROM series WHERE step = 86400 AND begins = (SELECT MAX(begins) FROM series WHERE step = 86400)`, columns, day))
		}
		var longest time.Duration
		var which string
		readUsage(t, db, func(name string, by series.UsageGroup, took time.Duration) {
			t.Logf("%q by %s: %s", name, by, took)
			if took > longest {
				longest, which = took, "of all calls by "+string(by)
				if name != "" {
					which = "of one " + name + " by " + string(by)
				}
			}
		})
		mu.Lock()
		defer mu.Unlock()
		figures = append(figures, fmt.Sprintf("%s: usage of %d days, %d rows: the slowest answer, %s, takes %.2f s", path.Base(t.Name()), days, combinations*days, which, longest.Seconds()))
	})
}

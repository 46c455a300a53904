package history_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"

	"pgregory.net/rapid"
)

// usageOf returns the only sum of all calls of the tenant acme.
func usageOf(t testing.TB, h *history.History) history.Usage {
	t.Helper()
	usage, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByServer)
	ok(t, err)
	if len(usage) != 1 {
		t.Fatalf("%d sums, want 1: %+v", len(usage), usage)
	}
	return usage[0]
}

// near fails unless a percentile differs from the exact one by 1 % at most.
func near(t testing.TB, name string, got, want time.Duration) {
	t.Helper()
	if math.Abs(float64(got-want)) > .01*float64(want) {
		t.Errorf("%s is %v, want %v within 1 %%", name, got, want)
	}
}

func TestPercentilesOfOneCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		c := call(1)
		c.Duration = 7010 * time.Millisecond
		h.Record(&c, nil, nil)
		ok(t, h.Flush(t.Context()))
		u := usageOf(t, h)
		near(t, "p50", u.P50, c.Duration)
		near(t, "p95", u.P95, c.Duration)
		near(t, "p99", u.P99, c.Duration)
	})
}

// Percentiles are those of the calls themselves, over batches, days, tools and
// restarts, and when several replicas write at once.
func TestPercentilesOfManyCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		var durations []time.Duration
		took := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1, 1<<42).Draw(t, "took")) >> rapid.IntRange(0, 38).Draw(t, "shift")
		})
		h := t.open(t, history.Options{})
		second := h
		if t.Name() == "TestPercentilesOfManyCalls/postgres" { // one process alone writes a SQLite file
			second = t.open(t, history.Options{})
		}
		for n := range 600 {
			c := call(n % 50)
			c.ID = fmt.Sprintf("call%06d", n)
			c.Start = c.Start.AddDate(0, 0, n%3)
			c.Server, c.Name = "demo", []string{"echo", "sum"}[n%2]
			c.Status = junctor.StatusSuccess
			c.Duration = took.Example(n)
			durations = append(durations, c.Duration)
			[]*history.History{h, second}[n%2].Record(&c, nil, nil)
			if n%60 == 59 {
				var both sync.WaitGroup
				for _, one := range []*history.History{h, second} {
					both.Go(func() {
						if err := one.Flush(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		}
		slices.Sort(durations)
		u := usageOf(t, h)
		near(t, "p50", u.P50, durations[299])
		near(t, "p95", u.P95, durations[569])
		near(t, "p99", u.P99, durations[593])
		if u.Calls != 600 {
			t.Errorf("%d calls", u.Calls)
		}
	})
}

// Calls that an earlier version counted in wide buckets still have percentiles, as
// exact as those buckets, and mix with later ones.
func TestPercentilesOfFormerCalls(t *testing.T) {
	t.Parallel()
	former := func(t testing.TB, raw *store.Raw, err error) {
		t.Helper()
		ok(t, err)
		defer raw.Close()
		ok(t, raw.MigrateTo(t.Context(), 50))
		tx, err := raw.Begin(t.Context())
		ok(t, err)
		// 10 calls of 5 to 10 s.
		insert(t, tx, raw, `INSERT INTO history_usage (tenant_id, day, server, name, issuer, subject, calls, errors, refused, duration, bytes_in, bytes_out,
			d00, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12, d13, d14, d15, d16, d17, entry_point, user_id, agent)
			VALUES ('acme', ?, 'demo', 'echo', 'key', 'k1', 10, 0, 0, 75000000, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 'mcp', '', '')`, moment(0).Unix()/86400)
		ok(t, tx.Commit())
	}
	check := func(t testing.TB, h *history.History) {
		t.Helper()
		if u := usageOf(t, h); u.P50 < 7*time.Second || u.P50 > 8*time.Second || u.P99 < 9*time.Second || u.P99 > 10*time.Second {
			t.Errorf("former calls: %+v", u)
		}
		for n := range 90 { // of the same key and day
			c := call(n)
			c.Server, c.Name, c.EntryPoint, c.Issuer, c.Subject, c.User, c.Agent = "demo", "echo", junctor.EntryMCP, junctor.IssuerKey, "k1", "", ""
			c.Status, c.Start, c.Duration = junctor.StatusSuccess, moment(0), 20*time.Millisecond
			h.Record(&c, nil, nil)
		}
		ok(t, h.Flush(t.Context()))
		u := usageOf(t, h)
		near(t, "p50", u.P50, 20*time.Millisecond)
		if u.Calls != 100 || u.P95 < 7*time.Second || u.P95 > 8*time.Second {
			t.Errorf("former and new calls: %+v", u)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "history.db")
		raw, err := sqlite.RawHistory(t.Context(), path)
		former(t, raw, err)
		db, err := sqlite.OpenHistory(t.Context(), path)
		check(t, start(t, db, err, history.Options{}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := server.Database(t)
		raw, err := postgres.RawHistory(t.Context(), url)
		former(t, raw, err)
		db, err := postgres.OpenHistory(t.Context(), url)
		check(t, start(t, db, err, history.Options{}))
	})
}

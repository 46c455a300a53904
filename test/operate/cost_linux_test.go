package operate

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestCostOfSharing compares what a call costs a replica with a PostgreSQL and a
// Redis with what it costs an instance that is alone: processor time of the process,
// with all that it writes behind the call's back, in turns.
func TestCostOfSharing(t *testing.T) {
	if !program.Long() {
		t.Skip("a measurement: make prove, part cluster-cpu")
	}
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	addr, _ := redis(t)
	alone := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0")
	shared := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0",
		"--db", pg.Database(t), "--seal-key-file", filepath.Join(t.TempDir(), "seal.key"), "--redis", "redis://"+addr)
	both := []*program.Instance{alone, shared}
	for _, in := range both {
		if a, err := in.Request(t.Context(), http.MethodPatch, "/api/v1/limits", limited); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%v %d %s", err, a.Status, a.Body)
		}
		costOf(t, in) // warm
	}
	const rounds = 7
	var ratios []float64
	var sums [2]float64
	for round := range rounds {
		var cost [2]float64
		for n := range both {
			which := (n + round) % 2 // who comes first changes
			cost[which] = costOf(t, both[which])
		}
		ratios = append(ratios, cost[1]/cost[0])
		sums[0], sums[1] = sums[0]+cost[0], sums[1]+cost[1]
		t.Logf("alone %.1f us, shared %.1f us a call", cost[0], cost[1])
	}
	slices.Sort(ratios)
	middle := ratios[rounds/2]
	t.Logf("figure: CPU time of a call with PostgreSQL and Redis: %.2f of that of a single instance (%.2f to %.2f in %d rounds; %.0f us and %.0f us)",
		middle, ratios[0], ratios[rounds-1], rounds, sums[1]/rounds, sums[0]/rounds)
	if middle > 1.1 {
		t.Errorf("a call costs %.2f of what it costs alone; 1.1 is promised", middle)
	}
}

// costOf makes many calls, waits until all that follows from them is written, and
// gives the microseconds of processor time for each.
func costOf(t *testing.T, in *program.Instance) float64 {
	t.Helper()
	const callers, each = 4, 5000
	before := processorTime(t, in)
	var all sync.WaitGroup
	for c := range callers {
		caller := program.NewCaller(t, program.Plain, in.URL, program.AdminKey)
		all.Go(func() {
			defer caller.CloseIdle()
			for n := range each {
				want := fmt.Sprintf("caller %d, call %d", c, n)
				if a, err := caller.Call(t.Context(), "demo__echo", fmt.Sprintf(`{"text":%q}`, want)); err != nil || a.Text != want {
					t.Errorf("%v %d %s", err, a.Status, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
	poll.Until(t, "the copy of the journal", patience, func() bool {
		if lag(t, in) == 0 {
			return true
		}
		poll.Pause(200*time.Millisecond, "every look costs processor time, which is measured")
		return false
	})
	return float64((processorTime(t, in) - before).Microseconds()) / (callers * each)
}

func lag(t *testing.T, in *program.Instance) int {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodGet, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(a.Body) {
		if value, ok := strings.CutPrefix(line, "junctor_journal_lag_records "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatal("no metric says how far the journal is copied")
	return 0
}

// processorTime is what the process has used since its start.
func processorTime(t *testing.T, in *program.Instance) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", in.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ, which is 100 everywhere
}

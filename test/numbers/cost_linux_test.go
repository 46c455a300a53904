package numbers

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// maxCost is what a call may cost with numbers over time, as a part of what it costs without.
const maxCost = 1.05

// TestCostOfNumbers compares the processor time of a call at an instance with that at one which
// does not add calls up, in turns: of the process, with all that it writes in the background.
func TestCostOfNumbers(t *testing.T) {
	if !program.Long() {
		t.Skip("a measurement: make prove, part numbers")
	}
	with := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0")
	without, pid := startUncounted(t)
	instances := []struct {
		in  *program.Instance
		pid int
	}{{with, with.PID()}, {without, pid}}
	for _, one := range instances {
		measureCall(t, one.in, one.pid) // warm
	}
	const rounds = 11
	var ratios []float64
	var sums [2]float64
	for round := range rounds {
		var cost [2]float64
		for n := range instances {
			which := (n + round) % 2 // who comes first changes
			cost[which] = measureCall(t, instances[which].in, instances[which].pid)
			sums[which] += cost[which]
		}
		ratios = append(ratios, cost[0]/cost[1])
		t.Logf("with numbers %.1f us a call, without %.1f us", cost[0], cost[1])
	}
	slices.Sort(ratios)
	middle := ratios[rounds/2]
	t.Logf("figure: CPU time of a call with numbers over time: %.3f of that without (%.3f to %.3f in %d rounds; %.1f us and %.1f us)",
		middle, ratios[0], ratios[rounds-1], rounds, sums[0]/rounds, sums[1]/rounds)
	if middle > maxCost {
		t.Errorf("a call costs %.3f of what it costs without numbers over time; %.2f is promised", middle, maxCost)
	}
}

// startUncounted starts an instance that records calls but does not add them up.
func startUncounted(t *testing.T) (in *program.Instance, pid int) {
	t.Helper()
	addr := program.FreeAddr(t)
	cmd := exec.Command(program.Binary(t), "bench-child", "uncounted")
	cmd.Env = program.Env("JUNCTOR_ADMIN_KEY="+program.AdminKey, "JUNCTOR_LISTEN="+addr, "JUNCTOR_DATA_DIR="+t.TempDir(), "JUNCTOR_RATE_LIMIT=0")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its standard input
		_ = cmd.Wait()
	})
	in = program.At("http://" + addr)
	in.WaitReady(t)
	return in, cmd.Process.Pid
}

// measureCall makes many calls, waits until all that follows from them is written, and returns
// the microseconds of processor time of the process for each.
func measureCall(t *testing.T, in *program.Instance, pid int) float64 {
	t.Helper()
	const callers, each = 4, 5000
	before := processorTime(t, pid)
	var all sync.WaitGroup
	for range callers {
		caller := program.NewCaller(t, program.Plain, in.URL, program.AdminKey)
		all.Go(func() {
			defer caller.CloseIdle()
			for range each {
				if a, err := caller.Call(t.Context(), "demo__echo", `{"text":"hello"}`); err != nil || a.Text != "hello" {
					t.Errorf("%v %d %s", err, a.Status, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
	poll.Until(t, "all is written", patience, func() bool {
		samples := readPrometheus(t, in)
		if samples["junctor_journal_lag_records"] == 0 && samples["junctor_series_lag_records"] == 0 {
			return true
		}
		poll.Pause(500*time.Millisecond, "every look costs processor time, which is measured")
		return false
	})
	return float64((processorTime(t, pid) - before).Microseconds()) / (callers * each)
}

// processorTime returns what a process has used since its start.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	var ticks int64
	for _, field := range strings.Fields(rest)[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ, which is 100 everywhere
}

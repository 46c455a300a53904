package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// What a call may cost with rules, as a part of what it costs without.
const (
	maxRules  = 1.15 // 50 rules, of which 3 apply
	maxRedact = 1.5  // redaction of 64 KiB
)

// fiftyRules are 50 rules of which 3 are about calls of web/fetch.
func fiftyRules() []junctor.PolicyRule {
	on := func(item string) junctor.PolicyTarget { return junctor.PolicyTarget{Items: []string{item}} }
	var all []junctor.PolicyRule
	for i := range 47 {
		all = append(all, junctor.PolicyRule{Name: fmt.Sprintf("other-%d", i), Verdict: junctor.VerdictDeny, When: `has(args.path) && !below(args.path, "/srv")`, Target: on(fmt.Sprintf("server-%d/*", i))})
	}
	return append(all,
		junctor.PolicyRule{Name: "domains", Verdict: junctor.VerdictDeny, When: `!(domain(args.url) in ["example.com", "example.org"])`, Target: on("web/*")},
		junctor.PolicyRule{Name: "amounts", Verdict: junctor.VerdictDeny, When: `has(args.amount) && args.amount > 100.0 && principal.role != "admin"`, Target: on("web/fetch")},
		junctor.PolicyRule{Name: "office", Verdict: junctor.VerdictDeny, When: `!tool.read_only && principal.agent != "" && !hours("Mon-Fri 08:00-18:00", "UTC")`},
	)
}

// redacting is a rule that looks for everything in results.
func redacting() []junctor.PolicyRule {
	return []junctor.PolicyRule{{
		Name: "redacting", Phase: junctor.PhaseResult, Verdict: junctor.VerdictRedact, Redact: []string{"secrets", "email", "phone", "iban", "card", "jwt"},
		Target: junctor.PolicyTarget{Items: []string{"web/*"}},
	}}
}

// pageText is 64 KiB of prose, with some mail addresses or without.
func pageText(hasMail bool) string {
	var b strings.Builder
	for n := 0; b.Len() < 64<<10; n++ {
		fmt.Fprintf(&b, "Line %d: the quick brown fox jumps over the lazy dog, and a customer of the shop wrote that it was fine.\n", n)
		if n%50 == 0 && hasMail {
			fmt.Fprintf(&b, "Reply to customer%d@example.com before noon.\n", n)
		}
	}
	return b.String()[:64<<10]
}

// web starts a server with the tools fetch, clean and page, in this process: what it costs does not
// count.
func web(t *testing.T) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"},"amount":{"type":"number"},"count":{"type":"integer"}},"required":["url"]}`)
	for name, answer := range map[string]string{"fetch": "fetched", "clean": pageText(false), "page": pageText(true)} {
		sdk.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil
		})
	}
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(func() {
		_ = srv.Config.Close()
		srv.Close()
	})
	return srv.URL
}

// TestCostOfRules compares the processor time of a call at an instance with rules with that
// at one without, in turns: of the process, with all that it writes in the background.
func TestCostOfRules(t *testing.T) { //nolint:paralleltest // a measurement
	if !program.Long() {
		t.Skip("a measurement: make prove, part policy-cost")
	}
	url := web(t)
	start := func(rules []junctor.PolicyRule) *program.Instance {
		in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0", "--builtin", "", "--egress-allow", "127.0.0.0/8")
		in.Add(t, "web", url)
		if a, err := in.Request(t.Context(), http.MethodPut, "/api/v1/policies", `{"rules":`+encode(rules)+`}`); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%v %d %s", err, a.Status, a.Body)
		}
		return in
	}
	without := start([]junctor.PolicyRule{})
	for _, c := range []struct {
		what, tool, arguments string
		rules                 []junctor.PolicyRule
		calls, rounds         int
		most                  float64
	}{
		{"50 rules, of which 3 apply", "fetch", `{"url":"https://example.com/x","amount":12.5,"count":3}`, fiftyRules(), 4000, 7, maxRules},
		{"50 rules, of which none applies", "fetch", `{"url":"https://example.com/x","amount":12.5,"count":3}`, fiftyRules()[:47], 4000, 7, maxRules},
		{"a rule that looks for all kinds of values in a result of 64 KiB, which has none", "clean", `{"url":"https://example.com/x"}`, redacting(), 500, 7, maxRedact},
		{"a rule that redacts 13 of them from a result of 64 KiB", "page", `{"url":"https://example.com/x"}`, redacting(), 500, 7, maxRedact},
	} {
		with := start(c.rules)
		both := []*program.Instance{with, without}
		for _, in := range both {
			costOf(t, in, c.tool, c.arguments, c.calls) // warm
		}
		var ratios []float64
		var sums [2]float64
		for round := range c.rounds {
			var cost [2]float64
			for n := range both {
				which := (n + round) % 2 // which comes first changes
				cost[which] = costOf(t, both[which], c.tool, c.arguments, c.calls)
				sums[which] += cost[which]
			}
			ratios = append(ratios, cost[0]/cost[1])
			t.Logf("%s: %.1f us a call, without %.1f us", c.what, cost[0], cost[1])
		}
		slices.Sort(ratios)
		middle := ratios[c.rounds/2]
		t.Logf("figure: CPU time of a call with %s: %.3f of that without rules (%.3f to %.3f in %d rounds of %d calls; %.1f us and %.1f us)",
			c.what, middle, ratios[0], ratios[c.rounds-1], c.rounds, c.calls, sums[0]/float64(c.rounds), sums[1]/float64(c.rounds))
		if middle > c.most {
			t.Errorf("a call with %s costs %.3f of what it costs without rules; %.2f is promised", c.what, middle, c.most)
		}
		with.Kill()
	}
}

// costOf makes many calls, waits until all that follows from them is written, and returns
// the microseconds of processor time of the process for each.
func costOf(t *testing.T, in *program.Instance, tool, arguments string, calls int) float64 {
	t.Helper()
	const callers = 4
	before := processorTime(t, in.PID())
	var all sync.WaitGroup
	for range callers {
		caller := program.NewCaller(t, program.Plain, in.URL, program.AdminKey)
		all.Go(func() {
			defer caller.CloseIdle()
			for range calls / callers {
				if a, err := caller.Call(t.Context(), "web__"+tool, arguments); err != nil || !a.OK {
					t.Errorf("%v %d %.300s", err, a.Status, a.Body)
					return
				}
			}
		})
	}
	all.Wait()
	poll.Until(t, "all is written", patience, func() bool {
		if lag(t, in) == 0 {
			return true
		}
		poll.Pause(500*time.Millisecond, "every look costs processor time, which is measured")
		return false
	})
	return float64((processorTime(t, in.PID()) - before).Microseconds()) / float64(calls)
}

// lag returns how many records an instance has still to write.
func lag(t *testing.T, in *program.Instance) (n float64) {
	t.Helper()
	a, err := in.Request(t.Context(), http.MethodGet, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(a.Body) {
		for _, name := range []string{"junctor_journal_lag_records ", "junctor_series_lag_records "} {
			if value, ok := strings.CutPrefix(line, name); ok {
				records, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil {
					t.Fatal(err)
				}
				n += records
				found++
			}
		}
	}
	if found != 2 {
		t.Fatal("no metric says how far the records are written")
	}
	return n
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

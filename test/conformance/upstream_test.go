package conformance

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// everything is the official SDK's own server for the suite, built from the
// module that go.mod pins.
const everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// modern is the version without sessions; the others are legacy.
const modern = "2026-07-28"

// unreachable are the checks that no gateway can pass in front of this server,
// each with its reason. They fail, or the entry is stale.
var unreachable = map[string]string{
	"legacy 2026-07-28 input-required-result-basic-elicitation/sep-2322-elicitation-incomplete": "to a client of its era the server asks by elicitation/create, which does not carry the key user_name",
	"legacy 2026-07-28 input-required-result-multi-round/sep-2322-multi-round-r2":               "to a client of its era the server asks one round, and gives up",
	"modern 2025-06-18 tools-call-elicitation/tools-call-elicitation":                           "the tool sends elicitation/create, which this server has forbidden itself",
	"modern 2025-06-18 tools-call-sampling/tools-call-sampling":                                 "the tool sends sampling/createMessage, which this server has forbidden itself",
	"modern 2025-11-25 tools-call-elicitation/tools-call-elicitation":                           "the tool sends elicitation/create, which this server has forbidden itself",
	"modern 2025-11-25 tools-call-sampling/tools-call-sampling":                                 "the tool sends sampling/createMessage, which this server has forbidden itself",
	"modern 2025-11-25 elicitation-sep1034-defaults/elicitation-sep1034-general":                "the tool sends elicitation/create, which this server has forbidden itself",
	"modern 2025-11-25 elicitation-sep1330-enums/elicitation-sep1330-general":                   "the tool sends elicitation/create, which this server has forbidden itself",
}

// TestThroughTheGateway runs the suite against the official SDK's server in both
// its modes, directly and behind a Junctor, with clients of both eras: whatever
// passes directly passes through the gateway.
func TestThroughTheGateway(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	base := readBaseline(t)
	server := program.Build(t, everything)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--open")
	table := []string{fmt.Sprintf("%-8s %-12s %12s %12s", "server", "client", "directly", "through")}
	for _, mode := range []struct{ name, flag, version, other string }{
		{"legacy", "-stateless=false", "2025-11-25", modern},
		{"modern", "-stateless=true", modern, "2025-11-25"},
	} {
		// In the short form a client of the other era; TestReplicas has one of the same.
		versions := []string{mode.other}
		if program.Long() {
			versions = []string{"2025-06-18", "2025-11-25", modern}
		}
		// Two of each, so that neither run finds what the other left.
		addresses := []string{program.FreeAddr(t), program.FreeAddr(t)}
		for _, addr := range addresses {
			program.Serve(t, addr, nil, server, "-http", addr, mode.flag)
		}
		in.Add(t, mode.name, "http://"+addresses[1])
		if out, _, _ := in.CLI(t, "server", "show", mode.name); !strings.Contains(out, "("+mode.name+")") {
			t.Errorf("the era of the %s server was not found:\n%s", mode.name, out)
		}
		directly := map[string]results{}
		for _, v := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(versions), mode.version)))) {
			directly[v] = runSuite(t, node, "http://"+addresses[0], v)
		}
		for _, v := range versions {
			through := runSuite(t, node, in.URL+"/mcp/s/"+mode.name, v)
			where := mode.name + " " + v
			problems := judge(through, scenarios(t, node, "--spec-version", v), base)
			for _, p := range problems {
				if check, _, _ := strings.Cut(p, ": "); unreachable[where+" "+check] == "" {
					t.Errorf("%s server, client %s: %s", mode.name, v, p)
				}
			}
			for _, p := range lost(directly[v], through) {
				t.Errorf("%s server, client %s: passes directly, and not through the gateway: %s", mode.name, v, p)
			}
			for _, p := range lostScenarios(directly[mode.version], through, where) {
				t.Errorf("%s server, client %s: passes directly with a client of %s, and not through the gateway: %s", mode.name, v, mode.version, p)
			}
			for _, p := range stale(through, where) {
				t.Errorf("%s server, client %s: %s passes: take it off the list", mode.name, v, p)
			}
			row := fmt.Sprintf("%-8s %-12s %12s %12s", mode.name, v, directly[v].score(), through.score())
			table = append(table, row)
			t.Logf("figure: go-sdk's everything-server, %s, client %s: %s directly, %s through the gateway (passed/failed)", mode.name, v, directly[v].score(), through.score())
		}
	}
	t.Logf("passed/failed of the suite, in front of go-sdk's everything-server\n%s", strings.Join(table, "\n"))
}

// results are the checks of one run, by scenario.
type results map[string][]check

func (r results) score() string {
	passed, failed := count(r)
	return fmt.Sprintf("%d/%d", passed, failed)
}

// passed counts the passes of each check.
func passed(checks []check) map[string]int {
	n := map[string]int{}
	for _, c := range checks {
		if c.Status == "SUCCESS" {
			n[c.ID]++
		}
	}
	return n
}

// lost are the checks that pass less often through the gateway than directly.
func lost(directly, through results) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(directly)) {
		want, got := passed(directly[name]), passed(through[name])
		for _, id := range slices.Sorted(maps.Keys(want)) {
			if got[id] < want[id] {
				all = append(all, fmt.Sprintf("%s/%s, %d of %d: %s", name, id, got[id], want[id], said(through[name], id)))
			}
		}
	}
	return all
}

// said is what the suite says about a check that did not pass.
func said(checks []check, id string) string {
	for _, c := range checks {
		if c.ID == id && c.Status != "SUCCESS" {
			return c.Status + " " + c.Message
		}
	}
	return "it was not made"
}

// lostScenarios are scenarios that pass directly with a client of the server's
// own era and fail through the gateway with one of another version.
func lostScenarios(own, through results, where string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		_, both := through[name]
		if p, f := countChecks(own[name]); !both || p == 0 || f > 0 {
			continue
		}
		p, _ := countChecks(through[name])
		if p == 0 {
			all = append(all, name+": nothing passes")
		}
		for _, c := range through[name] {
			if c.Status == "FAILURE" && unreachable[where+" "+name+"/"+c.ID] == "" {
				all = append(all, name+"/"+c.ID+": "+c.Message)
			}
		}
	}
	return all
}

// stale are the checks of the list that do not fail.
func stale(through results, where string) (all []string) {
	for key := range unreachable {
		item, ok := strings.CutPrefix(key, where+" ")
		if !ok {
			continue
		}
		name, id, _ := strings.Cut(item, "/")
		if !slices.ContainsFunc(through[name], func(c check) bool { return c.ID == id && c.Status == "FAILURE" }) {
			all = append(all, item)
		}
	}
	return all
}

// runSuite runs all scenarios of a version against an address.
func runSuite(t *testing.T, node *program.Node, url, version string) results {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	out, err := node.Run(t, limit, node.Module(suite), "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", dir)
	if err != nil && len(out) == 0 {
		t.Fatalf("the suite did not run: %v", err) // that checks failed is judged by what it wrote
	}
	return readResults(t, dir, "server")
}

func TestLost(t *testing.T) {
	t.Parallel()
	ok, bad, warn := check{ID: "a", Status: "SUCCESS"}, check{ID: "a", Status: "FAILURE"}, check{ID: "a", Status: "WARNING"}
	tests := []struct {
		name              string
		directly, through []check
		want              int
	}{
		{"passes in both", []check{ok}, []check{ok}, 0},
		{"fails through the gateway", []check{ok}, []check{bad}, 1},
		{"only a warning is left", []check{ok}, []check{warn}, 1},
		{"was not made", []check{ok}, nil, 1},
		{"passes less often", []check{ok, ok}, []check{ok, bad}, 1},
		{"fails directly", []check{bad}, []check{bad}, 0},
		{"passes only through the gateway", []check{bad}, []check{ok}, 0},
	}
	for _, tt := range tests {
		if got := lost(results{"x": tt.directly}, results{"x": tt.through}); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// Package apps holds the console's host for MCP Apps to real Apps: those of the
// official example servers, in a real browser, through the whole program. The
// same Apps run in the official host library too, against the same gateway.
package apps

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// rig is a console that Apps are shown in.
type rig struct{ *program.Console }

func start(t *testing.T, flags ...string) *rig {
	t.Helper()
	return &rig{program.StartConsole(t, append([]string{"--allow-commands"}, flags...)...)}
}

// add adds an official example server, which runs as a child.
func (r *rig) add(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		r.Tell(t, "server", "add", name, "--yes", "--", r.Node.Bin(), r.Node.Module("@modelcontextprotocol/server-"+name+"/dist/index.js"), "--stdio")
	}
}

// run runs a script; what it prints are the steps that it took.
func (r *rig) run(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := r.Node.Run(t, 10*time.Minute, script, args...)
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}

// What `make test` runs, and what only the long form does.
var (
	short = []string{"basic-vanillajs", "basic-react", "debug", "budget-allocator"}
	long  = []string{"system-monitor", "cohort-heatmap", "customer-segmentation", "scenario-modeler", "shadertoy", "transcript", "threejs", "map"}
)

func chosen() []string {
	if program.Long() {
		return append(append([]string{}, short...), long...)
	}
	return short
}

// TestRealApps has each App begin, take its tool's input and result, call back,
// take its size, and say farewell.
func TestRealApps(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.add(t, chosen()...)
	out := r.run(t, "apps.mjs", "walk", r.Link(t, "ada"), strings.Join(chosen(), " "), r.Node.Module("cesium/Build/Cesium"))
	t.Logf("figure: %d official Apps start, receive input and result, call back, receive their size and end in the console's sandbox, in Chromium", strings.Count(out, "walked "))
}

// TestOfficialHost runs them in the official library's host, in a plain page that
// speaks with the gateway's endpoint.
func TestOfficialHost(t *testing.T) {
	t.Parallel()
	r := start(t)
	names := short
	if program.Long() {
		names = append(append([]string{}, short...), "system-monitor", "cohort-heatmap", "customer-segmentation", "scenario-modeler", "shadertoy", "transcript")
	}
	r.add(t, names...)
	modules, err := json.Marshal(map[string]string{"root": r.Node.Module("")})
	if err != nil {
		t.Fatal(err)
	}
	out := r.run(t, "apps_official.mjs", r.URL, program.AdminKey, strings.Join(names, " "), string(modules))
	t.Logf("figure: %d official Apps run in the official host library, against the gateway", strings.Count(out, "walked "))
}

// TestCapabilities tries every capability of a host, announced and switched off.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.add(t, "debug", "transcript")
	r.run(t, "apps.mjs", "capabilities", r.Link(t, "ada"))
}

// TestTimes is a figure of the long form: how soon a View has begun, and whether
// twenty at once still answer. Its goal, 1.5 s, is for two quiet cores: a test
// fails at twice that.
func TestTimes(t *testing.T) {
	if !program.Long() {
		t.Skip("times are taken by tools/prove.sh apps")
	}
	r := start(t)
	r.add(t, "basic-vanillajs")
	out := strings.TrimSpace(r.run(t, "apps.mjs", "times", r.Link(t, "ada")))
	var got struct{ Median, All, Click, Slowest int } // milliseconds
	if err := json.Unmarshal([]byte(out[strings.LastIndex(out, "\n")+1:]), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("figure: basic-vanillajs has started %d ms after its tool's result, median of 8 (goal 1500 ms)", got.Median)
	t.Logf("figure: 20 App views at once: all had started after %d ms; a click in one takes %d ms (median), %d ms at most", got.All, got.Click, got.Slowest)
	if got.Median > 3000 {
		t.Errorf("%d ms are twice the goal", got.Median)
	}
	if got.Slowest > 5000 {
		t.Errorf("with 20 Views open a click takes %d ms", got.Slowest)
	}
}

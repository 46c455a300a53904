package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestTasksThroughTheGateway runs the scenarios of the tasks extension against a
// modern server that makes tasks, behind a Junctor: nothing fails. The long form runs
// them against the server itself too: whatever passes there passes through the gateway.
func TestTasksThroughTheGateway(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--open")
	in.Add(t, "tasks", upstreams.Tasks(t))
	for name := range readBaseline(t) {
		if !strings.HasPrefix(name, "tasks-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through := runScenario(t, node, in.URL+"/mcp/s/tasks", name)
			if program.Long() {
				directly := runScenario(t, node, upstreams.Tasks(t), name)
				for _, p := range lost(directly, through) {
					t.Errorf("passes directly, and not through the gateway: %s", p)
				}
				t.Logf("figure: %s: %s directly, %s through the gateway (passed/failed)", name, directly.score(), through.score())
			}
			for scenario, checks := range through {
				for _, c := range checks {
					if c.Status == "FAILURE" {
						t.Errorf("%s/%s: %s", scenario, c.ID, said(checks, c.ID))
					}
				}
			}
			if ran, _ := count(through); ran == 0 && name != "tasks-status-notifications" { // which are not offered
				t.Error("nothing was checked")
			}
		})
	}
}

func runScenario(t *testing.T, node *program.Node, url, scenario string) results {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	out, err := node.Run(t, limit, node.Module(suite), "server", "--url", url, "--scenario", scenario, "--spec-version", modern, "--force", "-o", dir)
	if err != nil && len(out) == 0 {
		t.Fatalf("the suite did not run: %v", err)
	}
	return readResults(t, dir, "server")
}

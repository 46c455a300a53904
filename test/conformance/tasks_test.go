package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/peers"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestTasksThroughTheGateway runs the scenarios of the tasks extension against a
// modern server that makes tasks, directly and behind a Junctor: whatever passes
// directly passes through the gateway, and nothing fails.
func TestTasksThroughTheGateway(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--open")
	own, url := peers.Tasks(t), peers.Tasks(t)
	in.Add(t, "tasks", url)
	for name := range readBaseline(t) {
		if !strings.HasPrefix(name, "tasks-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directly, through := runScenario(t, node, own, name), runScenario(t, node, in.URL+"/mcp/s/tasks", name)
			for _, p := range lost(directly, through) {
				t.Errorf("passes directly, and not through the gateway: %s", p)
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
			t.Logf("figure: %s: %s directly, %s through the gateway (passed/failed)", name, directly.score(), through.score())
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

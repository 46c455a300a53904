package junctor_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Limits of the program, which is compiled by everyone who tries Junctor with `go run`
// (docs/adr/0054-talk-to-model-apis-and-redis-with-our-own-clients.md).
const (
	maxColdBuild  = 210 * time.Second // of CPU time, with an empty build cache
	maxBinarySize = 62_000_000        // bytes, stripped
)

// replacedModules are modules of which the program would use little and link much. Tests
// may import them.
func replacedModules() []string {
	return []string{
		"github.com/anthropics/anthropic-sdk-go",
		"github.com/openai/openai-go",
		"github.com/redis/go-redis",
	}
}

// findReplacedModules returns those of the modules, one per line, that the program must
// not link.
func findReplacedModules(modules string) (found []string) {
	for path := range strings.FieldsSeq(modules) {
		for _, one := range replacedModules() {
			if path == one || strings.HasPrefix(path, one+"/") {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestReplacedModules holds that the program links no module that a client of our own
// replaces.
func TestReplacedModules(t *testing.T) {
	t.Parallel()
	modules := string(run(t, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/junctor"))
	if !strings.Contains(modules, "github.com/spf13/cobra\n") {
		t.Fatalf("the program's modules are not listed: %.300s", modules)
	}
	for _, path := range findReplacedModules(modules) {
		t.Errorf("the program links %s: use internal/agent/model for models and egress.NewRedisClient for Redis (ADR 54); go list -deps ./cmd/junctor shows the importer", path)
	}
}

// TestReplacedModulesPlanted shows that TestReplacedModules finds a module, of each major
// version, and no neighbour of it.
func TestReplacedModulesPlanted(t *testing.T) {
	t.Parallel()
	for modules, want := range map[string]string{
		"github.com/spf13/cobra\n\ngithub.com/openai/openai-go/v3\ngithub.com/openai/openai-go/v3\n": "github.com/openai/openai-go/v3",
		"github.com/anthropics/anthropic-sdk-go\n":                                                   "github.com/anthropics/anthropic-sdk-go",
		"github.com/redis/go-redis/v9\ngithub.com/redis/go-redis-entraid\n":                          "github.com/redis/go-redis/v9",
		"github.com/modelcontextprotocol/go-sdk\n":                                                   "",
	} {
		if got := strings.Join(findReplacedModules(modules), " "); got != want {
			t.Errorf("%q: found %q", modules, got)
		}
	}
}

// TestBuildCost compiles the program with an empty build cache and holds the CPU time and
// the size. The time counts only on a machine without other work: beside it, the same build
// takes up to half more.
func TestBuildCost(t *testing.T) {
	if os.Getenv("JUNCTOR_PROVE") == "" {
		t.Skip("long: set JUNCTOR_PROVE=1")
	}
	dir := t.TempDir()
	binary, graph := filepath.Join(dir, "junctor"), filepath.Join(dir, "graph.json")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-debug-actiongraph="+graph, "-o", binary, "./cmd/junctor")
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(graph)
	if err != nil {
		t.Fatal(err)
	}
	took, costs := cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), readBuildCosts(t, text)
	t.Logf("figure: a cold build takes %.0f CPU seconds (%s, %s/%s), the stripped program has %.1f MB; most expensive: %s",
		took.Seconds(), runtime.Version(), runtime.GOOS, runtime.GOARCH, float64(state.Size())/1e6, strings.Join(costs[:5], ", "))
	for _, fault := range checkBuildCost(took, state.Size()) {
		t.Errorf("%s. The most expensive packages:\n\t%s", fault, strings.Join(costs[:15], "\n\t"))
	}
}

// checkBuildCost compares a build with the limits.
func checkBuildCost(took time.Duration, size int64) (faults []string) {
	if took > maxColdBuild {
		faults = append(faults, fmt.Sprintf("a cold build takes %.0f CPU seconds, the limit is %.0f: replace the dependency that is new, or use less of it", took.Seconds(), maxColdBuild.Seconds()))
	}
	if size > maxBinarySize {
		faults = append(faults, fmt.Sprintf("the stripped program has %.1f MB, the limit is %.0f MB: go tool nm -size -sort size shows what is linked", float64(size)/1e6, maxBinarySize/1e6))
	}
	return faults
}

// readBuildCosts returns the packages of an action graph with their CPU seconds, the most
// expensive ones first.
func readBuildCosts(t *testing.T, graph []byte) []string {
	t.Helper()
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys time.Duration
	}
	if err := json.Unmarshal(graph, &actions); err != nil {
		t.Fatal(err)
	}
	costs := map[string]time.Duration{}
	for _, a := range actions {
		if a.Mode == "build" || a.Mode == "link" {
			costs[a.Package] += a.CmdUser + a.CmdSys
		}
	}
	if len(costs) < 100 {
		t.Fatalf("the action graph has %d packages: the go command writes another format", len(costs))
	}
	var out []string
	for _, path := range slices.SortedFunc(maps.Keys(costs), func(a, b string) int {
		return cmp.Or(cmp.Compare(costs[b], costs[a]), strings.Compare(a, b))
	}) {
		out = append(out, fmt.Sprintf("%s %.1f s", path, costs[path].Seconds()))
	}
	return out
}

// TestBuildCostPlanted shows that each limit is held, and that the order is that of the
// costs.
func TestBuildCostPlanted(t *testing.T) {
	t.Parallel()
	if got := checkBuildCost(maxColdBuild, maxBinarySize); len(got) != 0 {
		t.Errorf("at the limits: %q", got)
	}
	if got := checkBuildCost(maxColdBuild+time.Second, maxBinarySize); len(got) != 1 || !strings.Contains(got[0], "211 CPU seconds, the limit is 210") {
		t.Errorf("a slow build: %q", got)
	}
	if got := checkBuildCost(0, maxBinarySize+1e6); len(got) != 1 || !strings.Contains(got[0], "63.0 MB, the limit is 62 MB") {
		t.Errorf("a large program: %q", got)
	}
	var graph []map[string]any
	for n := range 120 {
		graph = append(graph, map[string]any{"Mode": "build", "Package": fmt.Sprintf("p%03d", n), "CmdUser": n * int(time.Second), "CmdSys": int(time.Second)})
	}
	graph = append(graph, map[string]any{"Mode": "build check cache", "Package": "other", "CmdUser": int(time.Hour)})
	text, err := json.Marshal(graph)
	if err != nil {
		t.Fatal(err)
	}
	if got := readBuildCosts(t, text); got[0] != "p119 120.0 s" || got[119] != "p000 1.0 s" {
		t.Errorf("%q … %q", got[0], got[119])
	}
}

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
	// maxColdBuild is the CPU time of a build with an empty build cache, as a multiple of
	// what the packages of the standard library take in it. Seconds of one machine say
	// nothing on another one, and on a machine with other work each takes up to half more.
	maxColdBuild  = 5.3
	maxBinarySize = 70_000_000 // bytes, stripped; 10 MB of them for rules (ADR 61)
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
// the size.
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
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	costs, library := readBuildCosts(t, text)
	t.Logf("figure: a cold build takes %.0f CPU seconds, %.2f times the %.0f of the standard library in it (%s, %s/%s); the stripped program has %.1f MB; most expensive: %s",
		took.Seconds(), took.Seconds()/library.Seconds(), library.Seconds(), runtime.Version(), runtime.GOOS, runtime.GOARCH, float64(state.Size())/1e6, strings.Join(costs[:5], ", "))
	for _, fault := range checkBuildCost(took, library, state.Size()) {
		t.Errorf("%s. The most expensive packages:\n\t%s", fault, strings.Join(costs[:15], "\n\t"))
	}
}

// checkBuildCost compares a build with the limits.
func checkBuildCost(took, library time.Duration, size int64) (faults []string) {
	if times := took.Seconds() / library.Seconds(); times > maxColdBuild {
		faults = append(faults, fmt.Sprintf("a cold build takes %.2f times what the standard library takes in it, the limit is %.2f: replace the dependency that is new, or use less of it", times, maxColdBuild))
	}
	if size > maxBinarySize {
		faults = append(faults, fmt.Sprintf("the stripped program has %.1f MB, the limit is %.0f MB: go tool nm -size -sort size shows what is linked", float64(size)/1e6, maxBinarySize/1e6))
	}
	return faults
}

// readBuildCosts returns the packages of an action graph with their CPU seconds, the most
// expensive ones first, and the CPU time of all packages of the standard library.
func readBuildCosts(t *testing.T, graph []byte) (packages []string, library time.Duration) {
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
			if root, _, _ := strings.Cut(a.Package, "/"); !strings.Contains(root, ".") {
				library += a.CmdUser + a.CmdSys
			}
		}
	}
	if len(costs) < 100 {
		t.Fatalf("the action graph has %d packages: the go command writes another format", len(costs))
	}
	for _, path := range slices.SortedFunc(maps.Keys(costs), func(a, b string) int {
		return cmp.Or(cmp.Compare(costs[b], costs[a]), strings.Compare(a, b))
	}) {
		packages = append(packages, fmt.Sprintf("%s %.1f s", path, costs[path].Seconds()))
	}
	return packages, library
}

// TestBuildCostPlanted shows that each limit is held, and that the order is that of the
// costs.
func TestBuildCostPlanted(t *testing.T) {
	t.Parallel()
	if got := checkBuildCost(530*time.Second, 100*time.Second, maxBinarySize); len(got) != 0 {
		t.Errorf("at the limits: %q", got)
	}
	if got := checkBuildCost(531*time.Second, 100*time.Second, maxBinarySize); len(got) != 1 || !strings.Contains(got[0], "5.31 times what the standard library takes in it, the limit is 5.30") {
		t.Errorf("a slow build: %q", got)
	}
	if got := checkBuildCost(0, time.Second, maxBinarySize+1e6); len(got) != 1 || !strings.Contains(got[0], "71.0 MB, the limit is 70 MB") {
		t.Errorf("a large program: %q", got)
	}
	var graph []map[string]any
	for n := range 120 {
		graph = append(graph, map[string]any{"Mode": "build", "Package": fmt.Sprintf("p%03d", n), "CmdUser": n * int(time.Second), "CmdSys": int(time.Second)})
	}
	graph = append(graph, map[string]any{"Mode": "link", "Package": "example.com/p", "CmdUser": 200 * int(time.Second)})
	graph = append(graph, map[string]any{"Mode": "build check cache", "Package": "other", "CmdUser": int(time.Hour)})
	text, err := json.Marshal(graph)
	if err != nil {
		t.Fatal(err)
	}
	got, library := readBuildCosts(t, text)
	if got[0] != "example.com/p 200.0 s" || got[1] != "p119 120.0 s" || got[120] != "p000 1.0 s" || library != 120*121/2*time.Second {
		t.Errorf("%q … %q, the standard library %v", got[:2], got[120], library)
	}
}

// Package conformance runs the official MCP conformance suite against the
// fixture server beside it, through the whole gateway. The suite's own verdict
// is not enough: a scenario without a single check counts as failed here, every
// scenario that the suite lists must have run, and the sums are held.
package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

const suite = "@modelcontextprotocol/conformance/dist/index.js"

// limit is for one run of the suite; it takes a few seconds.
const limit = 3 * time.Minute

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

func TestConformance(t *testing.T) {
	node := program.FindNode(t)
	base := readBaseline(t)
	for _, tt := range []struct {
		version string
		passed  int // at least
	}{
		{"2025-06-18", 56},
		{"2025-11-25", 84},
		{"2026-07-28", 153},
	} {
		t.Run(tt.version, func(t *testing.T) {
			want := scenarios(t, node, "--spec-version", tt.version)
			dir := filepath.Join(t.TempDir(), "results")
			out, err := node.Run(t, limit, node.Module(suite), "server",
				"--url", start(t), "--suite", "all", "--spec-version", tt.version, "-o", dir)
			if err != nil {
				t.Logf("the suite says: %v\n%s", err, summary(out)) // judged below, by what it wrote
			}
			got := readResults(t, dir, "server")
			problems := judge(got, want, base)
			for _, p := range problems {
				t.Error(p)
			}
			for _, w := range warnings(got) {
				t.Log(w)
			}
			passed, failed := count(got)
			t.Logf("figure: conformance %s: %d passed, %d failed, %d scenarios", tt.version, passed, failed, len(got))
			if passed < tt.passed {
				t.Errorf("%d checks passed, want at least %d", passed, tt.passed)
			}
		})
	}
}

// TestBaseline holds the baseline to what it is for: scenarios of extensions,
// each with its reason, all of them known to the suite, and none forgotten.
func TestBaseline(t *testing.T) {
	node := program.FindNode(t)
	base := readBaseline(t)
	var extensions []string
	for _, line := range scenarioLines(t, node, "--server") {
		if name, ok := strings.CutSuffix(line, " [extension]"); ok {
			extensions = append(extensions, name)
		}
	}
	if len(extensions) == 0 {
		t.Fatal("the suite lists no extension scenarios: its output has changed")
	}
	for name, reason := range base {
		if !slices.Contains(extensions, name) {
			t.Errorf("%s is in the baseline, but no extension scenario of the suite", name)
		}
		if len(reason) < 20 {
			t.Errorf("%s: the baseline gives no reason", name)
		}
	}
	for _, name := range extensions {
		if base[name] == "" {
			t.Errorf("%s is neither run nor in the baseline", name)
		}
	}
}

// scenarios lists the names of the server scenarios.
func scenarios(t *testing.T, node *program.Node, args ...string) []string {
	t.Helper()
	var names []string
	for _, line := range scenarioLines(t, node, "--server", args...) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatal("the suite lists no scenarios")
	}
	return names
}

// scenarioLines lists the scenarios of a kind that the suite has.
func scenarioLines(t *testing.T, node *program.Node, kind string, args ...string) (lines []string) {
	t.Helper()
	out, err := node.Run(t, limit, node.Module(suite), append([]string{"list", kind}, args...)...)
	if err != nil {
		t.Fatalf("conformance list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			lines = append(lines, name)
		}
	}
	return lines
}

// summary is the end of what the suite printed.
func summary(out []byte) string {
	if _, after, ok := strings.Cut(string(out), "=== SUMMARY ==="); ok {
		return after
	}
	return fmt.Sprintf("%.2000s", out)
}

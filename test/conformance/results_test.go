package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// check is one line of a scenario's checks.json.
type check struct {
	ID      string          `json:"id"`
	Status  string          `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Message string          `json:"errorMessage"`
	Details json.RawMessage `json:"details"`
}

// readBaseline reads the scenarios that may fail: name -> reason.
func readBaseline(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("baseline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base := map[string]string{}
	if err := yaml.Unmarshal(text, &base); err != nil {
		t.Fatal(err)
	}
	return base
}

// readResults reads what the suite wrote of one side: scenario -> its checks. The
// folders are called <side>-<scenario>-<time>.
func readResults(t *testing.T, dir, side string) map[string][]check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, side+"-*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no results in %s: %v", dir, err)
	}
	stamp := regexp.MustCompile(`^` + side + `-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	got := map[string][]check{}
	for _, file := range files {
		name := stamp.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("unexpected folder name %s", filepath.Dir(file))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got[name[1]] = append(got[name[1]], checks...)
	}
	return got
}

func count(got map[string][]check) (passed, failed int) {
	for _, checks := range got {
		p, f := countChecks(checks)
		passed, failed = passed+p, failed+f
	}
	return passed, failed
}

func countChecks(checks []check) (passed, failed int) {
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE":
			failed++
		}
	}
	return passed, failed
}

// warnings are checks that the suite neither passed nor failed, with what it
// says about them: they explain a sum that is too low.
func warnings(got map[string][]check) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for _, c := range got[name] {
			if c.Status == "WARNING" || c.Status == "SKIPPED" {
				all = append(all, fmt.Sprintf("%s/%s: %s: %s", name, c.ID, c.Status, c.Message))
			}
		}
	}
	return all
}

// judge says everything that is wrong with the results of one run.
func judge(got map[string][]check, want []string, base map[string]string) (problems []string) {
	for _, name := range want {
		if _, ok := got[name]; !ok && base[name] == "" {
			problems = append(problems, name+": listed, but not run")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if base[name] != "" {
			continue
		}
		if p, f := countChecks(got[name]); p+f == 0 {
			problems = append(problems, name+": no check passed or failed; a scenario without checks proves nothing")
		}
		for _, c := range got[name] {
			switch c.Status {
			case "SUCCESS", "INFO", "SKIPPED", "WARNING":
			case "FAILURE":
				problems = append(problems, strings.TrimSpace(fmt.Sprintf("%s/%s: %s %.1500s", name, c.ID, c.Message, c.Details)))
			default:
				problems = append(problems, fmt.Sprintf("%s/%s: unknown status %q", name, c.ID, c.Status))
			}
		}
	}
	return problems
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ok := []check{{ID: "a", Status: "SUCCESS"}}
	tests := []struct {
		name string
		got  map[string][]check
		want int
	}{
		{"all well", map[string][]check{"x": ok, "y": ok}, 0},
		{"not run", map[string][]check{"x": ok}, 1},
		{"no checks", map[string][]check{"x": ok, "y": {}}, 1},
		{"only remarks", map[string][]check{"x": ok, "y": {{ID: "i", Status: "INFO"}}}, 1},
		{"failed", map[string][]check{"x": ok, "y": {{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "FAILURE"}}}, 1},
		{"failed, in the baseline", map[string][]check{"x": ok, "y": ok, "ext": {{ID: "b", Status: "FAILURE"}}}, 0},
		{"unknown status", map[string][]check{"x": ok, "y": {{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "MAYBE"}}}, 1},
	}
	for _, tt := range tests {
		if p := judge(tt.got, []string{"x", "y"}, map[string]string{"ext": "an extension that is not offered"}); len(p) != tt.want {
			t.Errorf("%s: want %d problems, got %q", tt.name, tt.want, p)
		}
	}
}

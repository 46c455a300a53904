package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestChangelog checks the form of CHANGELOG.md: known sections in one order,
// entries of one line, and no entry twice.
func TestChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(program.Root(t), "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range checkChangelog(string(text)) {
		t.Error("CHANGELOG.md:" + problem)
	}
	for planted, want := range map[string]string{
		"## [1]\n### Fixed\n- a\n### Added\n- b\n": "4: the section Added is out of order: Added, Changed, Fixed, Security",
		"## [1]\n### Broken\n":                     "2: the section Broken is not one of Added, Changed, Fixed, Security",
		"## [1]\n### Added\n- a\n  more\n":         "4: an entry has one line",
		"## [1]\n### Added\n- a\n- a\n":            "4: the entry is there twice",
		"## [1]\n### Added\n- a\n\n**x**\n\n- b\n": "",
	} {
		if got := strings.Join(checkChangelog(planted), "\n"); got != want {
			t.Errorf("planted %q: got %q, want %q", planted, got, want)
		}
	}
}

func checkChangelog(text string) (problems []string) {
	sections := []string{"Added", "Changed", "Fixed", "Security"}
	last, seen := -1, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		report := func(what string) { problems = append(problems, fmt.Sprintf("%d: %s", i+1, what)) }
		section, isSection := strings.CutPrefix(line, "### ")
		switch {
		case strings.HasPrefix(line, "## "):
			last, seen = -1, map[string]bool{}
		case isSection:
			at := slices.Index(sections, section)
			if at < 0 {
				report("the section " + section + " is not one of " + strings.Join(sections, ", "))
			} else if at <= last {
				report("the section " + section + " is out of order: " + strings.Join(sections, ", "))
			}
			last = max(last, at)
		case strings.HasPrefix(line, "- "):
			if seen[line] {
				report("the entry is there twice")
			}
			seen[line] = true
		case strings.HasPrefix(line, " "):
			report("an entry has one line")
		}
	}
	return problems
}

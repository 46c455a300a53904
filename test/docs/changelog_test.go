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
// entries of one line, and no entry twice, also in other words.
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
		"## [1]\n### Added\n- [docs/reference/log.md](docs/reference/log.md) lists each message.\n- [docs/reference/log.md](docs/reference/log.md) lists the errors.\n": "4: the entry begins like that of line 3: make one of both",
		"## [1]\n### Added\n- a\n\n**x**\n\n- b\n": "",
	} {
		if got := strings.Join(checkChangelog(planted), "\n"); got != want {
			t.Errorf("planted %q: got %q, want %q", planted, got, want)
		}
	}
}

// alikeBytes is the length of the beginning by which two entries are alike.
const alikeBytes = 42

func checkChangelog(text string) (problems []string) {
	sections := []string{"Added", "Changed", "Fixed", "Security"}
	lines := strings.Split(text, "\n")
	// seen has the lines of the entries by their beginning, in the section that is read.
	last, seen := -1, map[string]int{}
	for i, line := range lines {
		report := func(what string) { problems = append(problems, fmt.Sprintf("%d: %s", i+1, what)) }
		section, isSection := strings.CutPrefix(line, "### ")
		switch {
		case strings.HasPrefix(line, "## "):
			last, seen = -1, map[string]int{}
		case isSection:
			at := slices.Index(sections, section)
			if at < 0 {
				report("the section " + section + " is not one of " + strings.Join(sections, ", "))
			} else if at <= last {
				report("the section " + section + " is out of order: " + strings.Join(sections, ", "))
			}
			last, seen = max(last, at), map[string]int{}
		case strings.HasPrefix(line, "- "):
			start := line[:min(len(line), alikeBytes)]
			switch first := seen[start]; {
			case first > 0 && lines[first-1] == line:
				report("the entry is there twice")
			case first > 0 && len(line) > alikeBytes:
				report(fmt.Sprintf("the entry begins like that of line %d: make one of both", first))
			}
			seen[start] = i + 1
		case strings.HasPrefix(line, " "):
			report("an entry has one line")
		}
	}
	return problems
}

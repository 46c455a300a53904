package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAnchors fails where a link names a heading that its page does not have.
func TestAnchors(t *testing.T) {
	t.Parallel()
	checked, broken := findBrokenAnchors(documents(t))
	if checked < 50 {
		t.Errorf("only %d links name a heading: the search is broken", checked)
	}
	for _, problem := range broken {
		t.Error(problem)
	}
}

// TestAnchorsPlanted shows which links findBrokenAnchors reports.
func TestAnchorsPlanted(t *testing.T) {
	t.Parallel()
	checked, got := findBrokenAnchors(map[string]string{
		"README.md":      "[a](docs/guide.md#long-calls) [b](docs/guide.md#endpoints) [c](https://example.com/#x)",
		"docs/guide.md":  "# Guide\n## Long calls\n```sh\n# no heading\n```\n### `/mcp/call`: one call\n## Long calls\n[d](#mcpcall-one-call) [e](#no-heading) [f](other.md#part_a)",
		"docs/other.md":  "## Part_A\n[g](guide.md#long-calls-1)",
		"docs/single.md": "[h](missing.md#part)", // TestLinks reports the page
	})
	want := []string{
		"README.md: docs/guide.md has no heading #endpoints",
		"docs/guide.md: docs/guide.md has no heading #no-heading",
	}
	if checked != 6 || !slices.Equal(got, want) {
		t.Errorf("checked %d links and reported %q, want 6 and %q", checked, got, want)
	}
}

// findBrokenAnchors returns how many links name a heading of a page in texts, and a
// line for each heading that is missing.
func findBrokenAnchors(texts map[string]string) (checked int, broken []string) {
	anchors := map[string][]string{}
	for page, text := range texts {
		anchors[page] = findAnchors(text)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	for page, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := page
			if m[1] != "" {
				target = path.Join(path.Dir(page), m[1])
			}
			if _, ok := texts[target]; !ok {
				continue
			}
			checked++
			if !slices.Contains(anchors[target], m[2]) {
				broken = append(broken, fmt.Sprintf("%s: %s has no heading #%s", page, target, m[2]))
			}
		}
	}
	slices.Sort(broken)
	return checked, broken
}

// findAnchors returns the anchors that GitHub gives the headings of a page.
func findAnchors(text string) (anchors []string) {
	punctuation := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	isFenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			isFenced = !isFenced
		}
		title := strings.TrimLeft(line, "#")
		if isFenced || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		title = strings.ToLower(strings.TrimSpace(link.ReplaceAllString(title, "$1")))
		anchor := strings.ReplaceAll(punctuation.ReplaceAllString(title, ""), " ", "-")
		unique := anchor
		for i := 1; slices.Contains(anchors, unique); i++ {
			unique = fmt.Sprintf("%s-%d", anchor, i)
		}
		anchors = append(anchors, unique)
	}
	return anchors
}

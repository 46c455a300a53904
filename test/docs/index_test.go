package docs

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIndex fails where a page below docs cannot be reached from the index:
// docs/README.md links it, or links the README of its folder, which does.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, page := range findUnlinkedPages(documents(t)) {
		t.Errorf("docs/README.md has no link to %s; add a row, or a link in the README of its folder", page)
	}
}

// TestIndexPlanted shows which pages findUnlinkedPages reports.
func TestIndexPlanted(t *testing.T) {
	t.Parallel()
	got := findUnlinkedPages(map[string]string{
		"README.md":             "[Other](docs/guides/other.md)",
		"docs/README.md":        "[Start](start/README.md) [Linked](guides/linked.md#part) [Decisions](adr/README.md) [Contributing](../CONTRIBUTING.md)",
		"docs/start/README.md":  "[First](first.md) [Index](../README.md)",
		"docs/start/first.md":   "[Second](second.md)",
		"docs/start/second.md":  "",
		"docs/guides/README.md": "[Other](other.md)", // the index does not link it
		"docs/guides/linked.md": "[Other](other.md)",
		"docs/guides/other.md":  "",
		"docs/adr/README.md":    "",
		"docs/adr/0001-use.md":  "",
		"CONTRIBUTING.md":       "",
	})
	want := []string{"docs/guides/README.md", "docs/guides/other.md", "docs/start/second.md"}
	if !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// findUnlinkedPages lists the pages below docs, decision records apart, that
// neither the index nor a folder's README that the index links has a link to.
func findUnlinkedPages(texts map[string]string) (unlinked []string) {
	const index = "docs/README.md"
	linked := linkedPages(index, texts[index])
	for page := range linkedPages(index, texts[index]) {
		if path.Base(page) != "README.md" {
			continue
		}
		for deeper := range linkedPages(page, texts[page]) {
			linked[deeper] = true
		}
	}
	for page := range texts {
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/adr/") && page != index && !linked[page] {
			unlinked = append(unlinked, page)
		}
	}
	slices.Sort(unlinked)
	return unlinked
}

// linkedPages returns the targets of the relative links of a page, as paths below
// the root.
func linkedPages(page, text string) map[string]bool {
	linked := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+\.md)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
		linked[path.Join(path.Dir(page), m[1])] = true
	}
	return linked
}

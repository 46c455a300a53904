package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/junctor-mcp/junctor/test/program"
)

// pagesURL is the address at which files of the repository are on the web.
const pagesURL = "https://github.com/junctor-mcp/junctor/blob/main/"

// TestLinks follows the links of all documents of the repository to files and
// headings, and the places in code, messages and packs that name a document.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := program.Root(t)
	tree := linkTree{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || slices.Contains([]string{"node_modules", "dist", "bin"}, base)) {
				return filepath.SkipDir
			}
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		text := ""
		if hasLinks(rel) && !d.IsDir() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(data)
		}
		tree[filepath.ToSlash(rel)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	links, problems := tree.checkAll()
	for _, problem := range problems {
		t.Error(problem)
	}
	if links < 500 {
		t.Errorf("found %d links: the search is broken", links)
	}
}

// hasLinks says whether the file may link to documents. The tests of this package
// and data of tests have wrong links on purpose.
func hasLinks(name string) bool {
	name = filepath.ToSlash(name)
	return !strings.HasPrefix(name, "test/docs/") && !strings.Contains(name, "/testdata/") &&
		slices.Contains([]string{".md", ".go", ".yaml", ".yml", ".sh", ".ts", ".tsx", ".mjs", ".service", ".html", ""}, filepath.Ext(name))
}

// TestLinksPlanted shows what TestLinks finds.
func TestLinksPlanted(t *testing.T) {
	t.Parallel()
	tree := linkTree{
		".": "", "docs": "", "packs": "",
		"docs/a.md": "# A\n\n## What's `new`: 2.0?\n## Same\n## Same\n## [Linked](b.md) words\n<a id=\"own\"></a>\n" +
			"[1](#whats-new-20) [2](#same-1) [3](b.md#b) [4](#linked-words) [5](../packs) [6](#own) [7](https://example.com/#x) `[8](none.md)`\n" +
			"```text\n## Fenced\n[9](none.md)\n```\n[10][ref]\n\n[ref]: b.md#b\n",
		"docs/b.md": "# B\n[1](a.md#fenced) [2](#c) [3](c.md) [4](a.md#same-2)\n[5][ref] [6](" + pagesURL + "docs/a.md#none) ![7](x.png)\n\n[ref]: d.md\n",
		"main.go":   "package main\n\n// See docs/a.md#same and docs/a.md#other; docs/c.md. README.md and a/docs/c.md are of others.\nconst help = \"" + pagesURL + "docs/b.md#x\"\n",
	}
	_, problems := tree.checkAll()
	want := []string{
		`docs/b.md:2: docs/a.md has no heading #fenced`,
		`docs/b.md:2: docs/a.md has no heading #same-2`,
		`docs/b.md:2: docs/b.md has no heading #c`,
		`docs/b.md:2: there is no docs/c.md`,
		`docs/b.md:3: docs/a.md has no heading #none`,
		`docs/b.md:3: there is no docs/x.png`,
		`docs/b.md:5: there is no docs/d.md`,
		`main.go:3: docs/a.md has no heading #other`,
		`main.go:3: there is no docs/c.md`,
		`main.go:4: docs/b.md has no heading #x`,
	}
	for _, line := range want {
		if !slices.Contains(problems, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range problems {
		if !slices.Contains(want, line) {
			t.Errorf("unexpected: %s", line)
		}
	}
}

// linkTree has the names of all files and folders, with the texts of those that may
// have links.
type linkTree map[string]string

func (tree linkTree) checkAll() (links int, problems []string) {
	finder := newLinkFinder()
	headings := map[string][]string{}
	for name, text := range tree {
		if strings.HasSuffix(name, ".md") {
			headings[name] = anchors(text)
		}
	}
	for _, name := range sortedNames(tree) {
		find := finder.findInCode
		if strings.HasSuffix(name, ".md") {
			find = finder.findInDocument
		}
		for i, line := range proseLines(name, tree[name]) {
			for _, target := range find(name, line) {
				links++
				if problem := tree.check(headings, target); problem != "" {
					problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, problem))
				}
			}
		}
	}
	return links, problems
}

// check says what is wrong with a target: a path below the root, and a heading
// behind #. headings has the anchors of each document.
func (tree linkTree) check(headings map[string][]string, target string) string {
	file, heading, _ := strings.Cut(target, "#")
	_, ok := tree[file]
	switch {
	case !ok:
		return "there is no " + file
	case heading != "" && strings.HasSuffix(file, ".md") && !slices.Contains(headings[file], heading):
		return file + " has no heading #" + heading
	}
	return ""
}

// proseLines returns the lines of a file; in documents, those inside fences and code
// spans are emptied.
func proseLines(name, text string) []string {
	lines := strings.Split(text, "\n")
	if !strings.HasSuffix(name, ".md") {
		return lines
	}
	fenced := false
	span := regexp.MustCompile("`[^`]*`")
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || fenced {
			lines[i] = ""
		}
		if fence {
			fenced = !fenced
		}
		lines[i] = span.ReplaceAllString(lines[i], "")
	}
	return lines
}

// linkFinder finds links to files of the repository.
type linkFinder struct{ markdown, code *regexp.Regexp }

func newLinkFinder() linkFinder {
	return linkFinder{
		markdown: regexp.MustCompile(`\]\(<?([^)> ]+)|^\[[^\]]+\]: (\S+)`),
		code:     regexp.MustCompile(`(^|[^\w./-]|` + regexp.QuoteMeta(pagesURL) + `)(docs/[\w./-]+\.md(?:#[\w-]+)?)`),
	}
}

// findInDocument returns the targets of the links in a line of a document that lead to
// files of the repository, as paths below the root.
func (f linkFinder) findInDocument(name, line string) (targets []string) {
	for _, m := range f.markdown.FindAllStringSubmatch(line, -1) {
		target := m[1] + m[2]
		file, heading, found := strings.Cut(target, "#")
		switch {
		case strings.HasPrefix(target, pagesURL):
			targets = append(targets, strings.TrimPrefix(target, pagesURL))
			continue
		case strings.Contains(file, ":"): // of another site
			continue
		case file == "":
			file = name
		default:
			file = path.Join(path.Dir(name), file)
		}
		if found {
			file += "#" + heading
		}
		targets = append(targets, file)
	}
	return targets
}

// findInCode returns the documents that a line of code or settings names.
func (f linkFinder) findInCode(_, line string) (targets []string) {
	if !strings.Contains(line, "docs/") { // most lines of code
		return nil
	}
	for _, m := range f.code.FindAllStringSubmatch(line, -1) {
		targets = append(targets, m[2])
	}
	return targets
}

// anchors returns the anchors that GitHub gives the headings of a document: lower
// case, without what is no letter, digit, hyphen, underscore or space, with hyphens
// for spaces; repeated ones are numbered.
func anchors(text string) (found []string) {
	fenced := false
	seen := map[string]int{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "<a ") {
			continue
		}
		for _, m := range regexp.MustCompile(`<a (?:id|name)="([^"]+)"`).FindAllStringSubmatch(line, -1) {
			found = append(found, m[1])
		}
		title := regexp.MustCompile(`^#{1,6} (.*)`).FindStringSubmatch(line)
		if fenced || title == nil {
			continue
		}
		plain := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(title[1], "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(plain))
		n := seen[anchor]
		seen[anchor]++
		if n > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, n)
		}
		found = append(found, anchor)
	}
	return found
}

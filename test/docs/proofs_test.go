package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestProvedTests looks for every test that tools/prove.sh selects with -run: a
// proof whose test was renamed would leave it out silently.
func TestProvedTests(t *testing.T) {
	t.Parallel()
	root := program.Root(t)
	script, err := os.ReadFile(filepath.Join(root, "tools", "prove.sh"))
	if err != nil {
		t.Fatal(err)
	}
	selected := 0
	for _, m := range regexp.MustCompile(`-run '([^']+)'((?: \.(?:/[\w/]+)?)+)`).FindAllStringSubmatch(string(script), -1) {
		pattern, _, _ := strings.Cut(m[1], "/") // what follows selects subtests
		if pattern == "" {
			continue
		}
		var names []string
		for dir := range strings.FieldsSeq(m[2]) {
			names = append(names, testsIn(t, filepath.Join(root, dir))...)
		}
		for _, one := range alternatives(pattern) {
			selected++
			if !slices.ContainsFunc(names, regexp.MustCompile(one).MatchString) {
				t.Errorf("tools/prove.sh runs %s in%s, where no test has that name", one, m[2])
			}
		}
	}
	if selected < 20 {
		t.Errorf("found %d selections: the search is broken", selected)
	}
}

// alternatives splits A|B, and Test(A|B), into patterns of their own.
func alternatives(pattern string) (found []string) {
	head, rest, grouped := strings.Cut(pattern, "(")
	if !grouped {
		return strings.Split(pattern, "|")
	}
	group, tail, _ := strings.Cut(rest, ")")
	for one := range strings.SplitSeq(group, "|") {
		found = append(found, head+one+tail)
	}
	return found
}

// testsIn returns the names of the tests of a package.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

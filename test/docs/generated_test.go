package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// checkGenerated fails if the part of a page between its two marks is not want. With
// -update it writes the part instead. page is a file below docs/reference, and name is in
// the marks: `<!-- name: make generate -->` and `<!-- end of name -->`.
func checkGenerated(t *testing.T, page, name, want string) {
	t.Helper()
	file := filepath.Join(program.Root(t), "docs", "reference", filepath.FromSlash(page))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	next, err := replacePart(string(text), name, want)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if next == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(next), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("docs/reference/%s is stale: run `make generate`, or `go test ./test/docs -run '^%s$' -update`.\n%s", page, t.Name(), firstDifference(string(text), next))
}

// replacePart replaces the text between the two marks of a name.
func replacePart(text, name, part string) (string, error) {
	begin, end := "<!-- "+name+": make generate -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("no part between %q and %q", begin, end)
	}
	return before + begin + part + end + after, nil
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(have, want string) string {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		one, other := "(no line)", "(no line)"
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			other = b[i]
		}
		if one != other {
			return fmt.Sprintf("line %d is:   %s\nit should be: %s", i+1, one, other)
		}
	}
	return ""
}

// escapeCell makes a text fit for a cell of a table.
func escapeCell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// TestGeneratedPlanted shows that a stale part is found, where it differs, and that a page
// without the marks is an error.
func TestGeneratedPlanted(t *testing.T) {
	t.Parallel()
	const page = "a\n<!-- x: make generate -->\n1\n2\n<!-- end of x -->\nb\n"
	if got, err := replacePart(page, "x", "1\n2\n"); got != page || err != nil {
		t.Errorf("a page that is not stale: %q, %v", got, err)
	}
	got, err := replacePart(page, "x", "1\n3\n")
	if want := "a\n<!-- x: make generate -->\n1\n3\n<!-- end of x -->\nb\n"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, want := firstDifference(page, got), "line 4 is:   2\nit should be: 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := replacePart(page, "y", ""); err == nil {
		t.Error("a page without the marks is accepted")
	}
}

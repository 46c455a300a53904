// Package docs runs the commands of the documents against a real instance, so
// that what people copy works.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// block is a fenced part of a document.
type block struct {
	line int
	info string // what stands behind the fence
	text string
	next bool // nothing but empty lines since the block before
}

// TestCommands runs every block that is fenced as `sh run`, in the order of its
// document, which has an instance and a folder of its own. A `text` block right
// behind is what must appear in the output, line by line; … stands for anything.
// Words behind `sh run` say what the block requires:
//
//	sh run tesseract   the program tesseract; in CI it must be there
//	sh run up          the block starts an instance and goes on running, like a second
//	                   terminal; the test continues when the instance is ready. In a
//	                   document with such a block the test starts no instance: the
//	                   document begins as a new user does, with an empty home folder
//	sh run with=oidc   the fixtures of these names (with=a,b), for the whole document;
//	                   see fixtures, which also says what addresses they stand for
//
// In all blocks, 127.0.0.1:8717, :8727, :8737 and so on are replaced by free
// addresses. A block between <!-- and --> is not shown to readers: it is for what
// they do in a browser.
func TestCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		program.Missing(t, "curl")
	}
	ran := 0
	for name, text := range documents(t) {
		blocks := findBlocks(text)
		marked := slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return !b.isRun() })
		if len(marked) == 0 {
			continue
		}
		ran += len(marked)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runDocument(t, name, blocks)
		})
	}
	if ran < 10 {
		t.Errorf("only %d blocks are marked as runnable: the search is broken", ran)
	}
}

// runDocument runs the marked blocks of one document.
func runDocument(t *testing.T, name string, blocks []block) {
	t.Helper()
	p := newPage(t, name, blocks)
	for i, b := range blocks {
		if !b.isRun() || !b.canRun(t) {
			continue
		}
		output := p.runBlock
		if b.isUp() {
			output = p.startBlock
		}
		out := output(t, b)
		if i+1 < len(blocks) && blocks[i+1].info == "text" && blocks[i+1].next {
			b := blocks[i+1]
			b.text = p.replaced(t, b.text)
			expectOutput(t, name, b, out)
		}
	}
}

func (b block) isRun() bool { return b.info == "sh run" || strings.HasPrefix(b.info, "sh run ") }

// requires returns the words behind `sh run`.
func (b block) requires() []string {
	if !b.isRun() {
		return nil
	}
	return strings.Fields(b.info)[2:]
}

// isUp says whether the block starts an instance and goes on running.
func (b block) isUp() bool { return slices.Contains(b.requires(), "up") }

// canRun says whether the programs that the block names are here. In CI they
// must be.
func (b block) canRun(t *testing.T) bool {
	t.Helper()
	for _, name := range b.requires() {
		if name == "up" || strings.HasPrefix(name, "with=") {
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Errorf("missing: %s", name)
			}
			return false
		}
	}
	return true
}

func expectOutput(t *testing.T, name string, b block, out string) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
		parts := strings.Split(strings.TrimSpace(line), "…")
		for j, p := range parts {
			// Columns may be wider or narrower than when the document was written.
			fields := strings.Fields(p)
			for k, f := range fields {
				fields[k] = regexp.QuoteMeta(f)
			}
			parts[j] = strings.Join(fields, `\s+`)
		}
		if ok, _ := regexp.MatchString(strings.Join(parts, ".*"), out); !ok {
			t.Errorf("%s:%d: %q is not in the output\n%s", name, b.line+1+i, line, out)
		}
	}
}

// TestNamedTests looks for every test that the documents name: a promise whose
// test is gone is no promise.
func TestNamedTests(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	err := filepath.WalkDir(program.Root(t), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "." {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			code.Write(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for name, text := range documents(t) {
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`").FindAllStringSubmatch(text, -1) {
			named++
			if !strings.Contains(code.String(), "func "+m[1]+"(") {
				t.Errorf("%s names the test %s, which does not exist", name, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test: the search is broken")
	}
}

// documents reads README.md, CONTRIBUTING.md and the pages below docs: path
// below the root -> text.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root := program.Root(t)
	names := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		found[rel] = string(text)
	}
	return found
}

// findBlocks finds the fenced blocks of a document.
func findBlocks(text string) (found []block) {
	var open *block
	next := false
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case open == nil && fence:
			open = &block{line: i + 1, info: strings.TrimSpace(strings.TrimPrefix(line, "```")), next: next}
		case open != nil && fence:
			found = append(found, *open)
			open, next = nil, true
		case open != nil:
			open.text += line + "\n"
		case strings.TrimSpace(line) != "":
			next = false
		}
	}
	return found
}

func TestFences(t *testing.T) {
	t.Parallel()
	got := findBlocks("a\n```sh run\nx\n```\n\n```text\ny\n```\nwords\n```text\nz\n```\n")
	want := []block{{2, "sh run", "x\n", false}, {6, "text", "y\n", true}, {10, "text", "z\n", false}}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	for info, want := range map[string][]bool{ // it is run, and it starts an instance
		"sh run": {true, false}, "sh run up": {true, true}, "sh run up with=npx": {true, true}, "sh run upx": {true, false}, "sh runs up": {false, false}, "text": {false, false},
	} {
		b := block{info: info}
		if b.isRun() != want[0] || b.isUp() != want[1] {
			t.Errorf("%q: run %v, up %v", info, b.isRun(), b.isUp())
		}
	}
}

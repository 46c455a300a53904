package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// architecture returns docs/ARCHITECTURE.md.
func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNamedFunctions holds the tables of paths in docs/ARCHITECTURE.md to the code: each
// step names a package and a function that it declares.
func TestNamedFunctions(t *testing.T) {
	t.Parallel()
	text := architecture(t)
	for _, path := range []string{"tools/call", "webhook", "chat message"} {
		if !regexp.MustCompile(`(?m)^## The path of a ` + path + `$`).MatchString(text) {
			t.Errorf("there is no path of a %s", path)
		}
	}
	declared := map[string]map[string]bool{}
	steps := regexp.MustCompile("(?m)^\\| [0-9]+ \\| `([a-z0-9/]+)` \\| `([A-Za-z0-9.]+)` \\|").FindAllStringSubmatch(text, -1)
	if len(steps) < 40 {
		t.Fatalf("found %d steps: the search is broken", len(steps))
	}
	for _, step := range steps {
		if declared[step[1]] == nil {
			declared[step[1]] = declaredFunctions(t, "../../internal/"+step[1])
		}
		if !declared[step[1]][step[2]] {
			t.Errorf("package %s has no function %s", step[1], step[2])
		}
	}
}

// declaredFunctions lists the functions of a package as "Function" or "Type.Method".
func declaredFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", dir, err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Recv == nil {
				found[f.Name.Name] = true
				continue
			}
			receiver := f.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				found[id.Name+"."+f.Name.Name] = true
			}
		}
	}
	return found
}

// TestPackageTable holds the table of packages to the folders: every package has a row or
// is named in the row of its parent, and every named folder exists.
func TestPackageTable(t *testing.T) {
	t.Parallel()
	text := architecture(t)
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:internal|cmd|packs)/[a-z0-9/]+|mcp[a-z]+)` \\|").FindAllStringSubmatch(text, -1) {
		if info, err := os.Stat("../../" + row[1]); err != nil || !info.IsDir() {
			t.Errorf("there is a row for %s, which is no folder", row[1])
		}
	}
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, "../../")
		if d.Name() == "testdata" || d.Name() == "web" || strings.HasPrefix(name, "internal/testkit/") {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(path + "/*.go")
		if err == nil && len(files) > 0 && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+strings.TrimPrefix(name, "internal/")+"`") {
			t.Errorf("the table of packages lacks %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackageDocsNameFiles holds the order of reading in package docs to the files: each
// file that a package doc names is in its folder.
func TestPackageDocsNameFiles(t *testing.T) {
	t.Parallel()
	named := 0
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil || file.Doc == nil {
			return err
		}
		for _, name := range regexp.MustCompile(`(?:^|[ (])([a-z0-9_]+\.go)\b`).FindAllStringSubmatch(file.Doc.Text(), -1) {
			named++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), name[1])); err != nil && name[1] != "imports_test.go" {
				t.Errorf("the doc of %s names %s, which is no file of the package", filepath.Dir(path), name[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if named < 200 {
		t.Fatalf("found %d names of files: the search is broken", named)
	}
}

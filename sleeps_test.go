package junctor_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Tests wait on signals. A sleep is either too short, and the test fails on a slow
// machine, or too long, and everybody waits for it. It is harmless only in a synctest
// bubble, where no time passes.

// pollPath is the package that bounds every poll and names the reason of every pause.
const pollPath = "internal/testkit/poll"

// bubbleMarker stands in the doc comment of a helper that is called only in bubbles.
const bubbleMarker = "in a synctest bubble"

func TestSleeps(t *testing.T) {
	t.Parallel()
	files := 0
	for _, p := range load(t).pkgs {
		for _, s := range p.tested() {
			files++
			for _, at := range sleeps(s) {
				t.Errorf("%s: wait on a signal, or use %s, or testing/synctest (a helper that runs %s says so in its doc comment)", at, pollPath, bubbleMarker)
			}
		}
	}
	if files < 100 {
		t.Fatalf("found %d test files: the search is broken", files)
	}
}

// tested lists the files of a package that only tests run.
func (p pkg) tested() []source {
	if p.path == pollPath {
		return nil
	}
	if p.testOnly() && !strings.HasPrefix(p.path, "examples/") { // an example is a program of its own
		return slices.Concat(p.sources, p.tests)
	}
	return p.tests
}

// sleeps finds each place outside a synctest bubble that lets time pass, as file:line:
// time.Sleep in any use, and a receive from a new timer that nothing else can end.
func sleeps(s source) (found []string) {
	timeName, synctestName := importName(s.file, "time"), importName(s.file, "testing/synctest")
	if timeName == "" {
		return nil
	}
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", s.name, s.fset.Position(n.Pos()).Line, what))
	}
	limits := map[ast.Stmt]bool{} // receives that are one case of several
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !strings.Contains(strings.Join(strings.Fields(n.Doc.Text()), " "), bubbleMarker)
		case *ast.CallExpr:
			return synctestName == "" || !isSelector(n.Fun, synctestName, "Test")
		case *ast.SelectorExpr:
			if isSelector(n, timeName, "Sleep") {
				report(n, "time.Sleep")
			}
		case *ast.SelectStmt:
			for _, clause := range n.Body.List {
				if c, ok := clause.(*ast.CommClause); ok && len(n.Body.List) > 1 {
					limits[c.Comm] = true
				}
			}
		case *ast.ExprStmt:
			if !limits[n] && receivesFromTimer(n.X, timeName) {
				report(n, "waits for a timer alone")
			}
		}
		return true
	})
	return found
}

// receivesFromTimer recognises <-time.After(d), <-time.Tick(d) and <-time.NewTimer(d).C.
func receivesFromTimer(e ast.Expr, timeName string) bool {
	receive, ok := e.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	from := receive.X
	if field, ok := from.(*ast.SelectorExpr); ok {
		from = field.X
	}
	call, ok := from.(*ast.CallExpr)
	return ok && slices.ContainsFunc([]string{"After", "Tick", "NewTimer", "NewTicker"}, func(name string) bool {
		return isSelector(call.Fun, timeName, name)
	})
}

// isSelector says whether e is name.of, where name is a package.
func isSelector(e ast.Expr, name, of string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != of {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == name
}

// importName is the file's name for a package, or "" where it does not import it.
func importName(file *ast.File, path string) string {
	for _, im := range file.Imports {
		if p, _ := strconv.Unquote(im.Path.Value); p == path {
			if im.Name != nil {
				return im.Name.Name
			}
			return path[strings.LastIndex(path, "/")+1:]
		}
	}
	return ""
}

// TestPlantedSleeps feeds the search each kind of sleep, and neighbours that are allowed.
func TestPlantedSleeps(t *testing.T) {
	t.Parallel()
	const head = "package x\nimport (\"time\"; \"testing\"; \"testing/synctest\")\n"
	bad := map[string]string{
		"a sleep":              head + "func f() { time.Sleep(1) }",
		"a poll loop":          head + "func f() { for ; !ok(); time.Sleep(1) {} }",
		"a renamed package":    "package x\nimport clock \"time\"\nfunc f() { clock.Sleep(1) }",
		"a value":              head + "var pause = time.Sleep",
		"a timer alone":        head + "func f() { <-time.After(1) }",
		"a timer's channel":    head + "func f() { <-time.NewTimer(1).C }",
		"a select of one":      head + "func f() { select { case <-time.After(1): } }",
		"beside a bubble":      head + "func f(t *testing.T) { synctest.Test(t, g); time.Sleep(1) }",
		"after a limit":        head + "func f() { select { case <-c: time.Sleep(1); case <-time.After(1): } }",
		"no marker":            head + "// f waits.\nfunc f() { time.Sleep(1) }",
		"another package's":    "package x\nimport (\"time\"; synctest \"example.org/x\")\nfunc f() { synctest.Test(t, func() { time.Sleep(1) }) }",
		"a literal not passed": head + "func f(t *testing.T) { g := func(t *testing.T) { time.Sleep(1) }; synctest.Test(t, g) }",
	}
	for name, src := range bad {
		if found := sleeps(parse(t, "x_test.go", src)); len(found) != 1 || !strings.HasPrefix(found[0], "x_test.go:") {
			t.Errorf("%s: want one finding, got %q", name, found)
		}
	}
	good := map[string]string{
		"a bubble":         head + "func f(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1); <-time.After(1) }) }",
		"a marked helper":  head + "// f waits. It runs in a\n// synctest bubble.\nfunc f() { time.Sleep(1) }",
		"a limit":          head + "func f() { select { case <-c: case <-time.After(1): } }",
		"a field":          head + "func f() { clock.Sleep(1) }",
		"another's Sleep":  "package x\nimport time \"example.org/time\"\nfunc f() { time.Sleep(1) }",
		"a channel":        head + "func f() { <-done }",
		"a context's done": head + "func f() { <-ctx.Done() }",
	}
	for name, src := range good {
		if found := sleeps(parse(t, "x_test.go", src)); len(found) != 0 {
			t.Errorf("%s is allowed, but found: %q", name, found)
		}
	}
	for path, want := range map[string]int{"internal/testkit/kill": 2, "test/program": 2, pollPath: 0, "internal/gateway": 1, "examples/demo": 1} {
		p := plant(t, path, head)
		p.tests = append(p.tests, parse(t, path+"/x_test.go", head))
		if got := len(p.tested()); got != want {
			t.Errorf("%s: %d files are searched, want %d", path, got, want)
		}
	}
}

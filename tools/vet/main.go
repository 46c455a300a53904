// Command vet makes the checks of go vet for other systems: `vet darwin windows`
// in a module's folder. go vet would first compile every dependency for each of
// them, which takes minutes; this reads their declarations instead, which is all
// that the types of our own code depend on.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go env:", err)
		os.Exit(1)
	}
	v := vetter{cache: strings.TrimSpace(string(cache)) + string(filepath.Separator)}
	code := 0
	for _, system := range os.Args[1:] {
		n, err := v.check(system)
		if err != nil {
			fmt.Fprintf(os.Stderr, "vet for %s: %v\n", system, err)
			code = 1
			continue
		}
		fmt.Printf("%s: %d packages\n", system, n)
	}
	os.Exit(code)
}

// vetter checks the module in the current folder.
type vetter struct{ cache string } // where other modules are

// check gives how many packages of ours were checked, those with their tests
// apart; what is wrong is printed.
func (v vetter) check(system string) (int, error) {
	all, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax | packages.NeedModule,
		Tests: true, ParseFile: v.parse,
		Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("there are no packages")
	}
	bad := 0
	packages.Visit(all, nil, func(p *packages.Package) {
		if v.foreign(p.Dir) { // errors are of functions whose bodies were left out
			p.IllTyped = false
			return
		}
		p.IllTyped = len(p.Errors) > 0
		for _, e := range p.Errors {
			bad++
			fmt.Fprintln(os.Stderr, e)
		}
	})
	if bad > 0 {
		return 0, fmt.Errorf("%d errors", bad)
	}
	graph, err := checker.Analyze(suite(), all, nil)
	if err != nil {
		return 0, err
	}
	for _, act := range graph.Roots {
		bad += len(act.Diagnostics)
		if act.Err != nil {
			return 0, fmt.Errorf("%v: %w", act, act.Err)
		}
	}
	if bad > 0 {
		_ = graph.PrintText(os.Stderr, -1)
		return 0, fmt.Errorf("%d findings", bad)
	}
	return len(all), nil
}

// suite is that of go vet, without what is newer than the Go that we use.
func suite() []*analysis.Analyzer {
	return slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool { return a.Name == "scannererr" })
}

// foreign says whether a file or folder is of another module.
func (v vetter) foreign(path string) bool { return strings.HasPrefix(path, v.cache) }

// parse reads a file, without the bodies of functions where it is of another
// module.
func (v vetter) parse(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	f, err := parser.ParseFile(set, name, src, parser.AllErrors|parser.ParseComments)
	if f == nil || !v.foreign(name) {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, is := d.(*ast.FuncDecl); is && fn.Body != nil {
			fn.Body.List = nil
		}
	}
	return f, err
}

// Command typecheck type-checks the module in the current folder, tests included,
// for other operating systems: `typecheck darwin windows`. It finds what does not
// compile there. go build and go vet would first compile every dependency for each
// system, which takes minutes; typecheck reads only the declarations of
// dependencies, which is all that the types of our own code depend on.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

func main() {
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go env:", err)
		os.Exit(1)
	}
	c := checker{foreign: strings.Fields(string(out))}
	failed := make([]error, len(os.Args)-1)
	var wait sync.WaitGroup
	for i, system := range os.Args[1:] {
		wait.Go(func() { failed[i] = c.checkSystem(system) })
	}
	wait.Wait()
	code := 0
	for i, err := range failed {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[i+1], err)
			code = 1
		}
	}
	os.Exit(code)
}

type checker struct {
	foreign []string // folders with the code of others
}

// checkSystem prints every error in our own packages.
func (c checker) checkSystem(system string) error {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
		Tests: true, ParseFile: c.parseFile,
		Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("there are no packages")
	}
	bad := 0
	for _, p := range all {
		for _, e := range p.Errors {
			bad++
			fmt.Fprintln(os.Stderr, system+":", e)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d errors", bad)
	}
	fmt.Printf("%s: %d packages\n", system, len(all))
	return nil
}

// parseFile leaves out the bodies of functions and the comments in the code of others.
func (c checker) parseFile(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	if !c.isForeign(name) {
		return parser.ParseFile(set, name, src, parser.AllErrors|parser.SkipObjectResolution)
	}
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if f == nil {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, is := d.(*ast.FuncDecl); is && fn.Body != nil {
			fn.Body.List = nil
		}
	}
	return f, err
}

func (c checker) isForeign(path string) bool {
	for _, dir := range c.foreign {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

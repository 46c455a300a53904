package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// kinds of faults, in the order in which a package's are drawn in turn.
var kinds = []string{"negated condition", "dropped check", "changed comparison", "dropped call", "swapped boolean"}

const (
	negatedCondition = iota
	droppedCheck
	changedComparison
	droppedCall
	swappedBoolean
)

// mutant is one planted fault: a range of a file and its replacement.
type mutant struct {
	id       string // stays the same while the function's code around it does
	pkg      string // import path
	file     string // absolute
	relative string // from the repository
	function string
	line     int
	kind     int
	change   string
	reason   string // why the program behaves the same with it; "" for a fault
	digest   string // of the file, so that a result is not taken for that of other code

	start, end int // bytes
	text       string
}

// placeText returns file, line and function, for tables.
func (m *mutant) placeText() string { return fmt.Sprintf("%s:%d %s", m.relative, m.line, m.function) }

// mutatedSource returns the text of the file with the fault.
func (m *mutant) mutatedSource() ([]byte, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	return slices.Concat(src[:m.start], []byte(m.text), src[m.end:]), nil
}

// checkedPackage is a package with all faults that could be planted in it.
type checkedPackage struct {
	path    string
	loaded  *packages.Package
	mutants []*mutant
}

// loadPackages loads packages with types and finds all faults that could be
// planted in them.
func loadPackages(root string, names []string) ([]*checkedPackage, error) {
	var patterns []string
	for _, n := range names {
		patterns = append(patterns, "./internal/"+n)
	}
	// Dependencies are read from what the compiler wrote, which is enough to check
	// the types of a mutated file, and takes a second.
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
		packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: root}, patterns...)
	if err != nil {
		return nil, err
	}
	var all []*checkedPackage
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		one := &checkedPackage{path: p.PkgPath, loaded: p}
		for _, f := range p.Syntax {
			if ast.IsGenerated(f) {
				continue
			}
			found, err := findMutants(root, p, f)
			if err != nil {
				return nil, err
			}
			one.mutants = append(one.mutants, found...)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *checkedPackage) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// drawMutants returns want faults that compile, and the equivalent ones that were
// drawn on the way. The kinds take turns, beginning with another one in each
// package, and no function gets two faults as long as there are others. The
// draw depends only on the seed and the code of the functions, so that a change
// in other functions leaves most of it unchanged.
func (p *checkedPackage) drawMutants(seed string, want, first int, equivalent map[string]string) []*mutant {
	byKind := make([][]*mutant, len(kinds))
	for _, m := range p.mutants {
		byKind[m.kind] = append(byKind[m.kind], m)
	}
	for _, some := range byKind {
		slices.SortFunc(some, func(a, b *mutant) int {
			return cmp.Or(cmp.Compare(rankOf(seed, a.id), rankOf(seed, b.id)), cmp.Compare(a.id, b.id))
		})
	}
	var drawn []*mutant
	taken := map[*mutant]bool{}
	functions := map[string]bool{}
	next := func(kind int, anyFunction bool) bool {
		for _, m := range byKind[kind] {
			if taken[m] || functions[m.function] && !anyFunction {
				continue
			}
			taken[m] = true
			if !p.compiles(m) {
				continue
			}
			drawn = append(drawn, m)
			if equivalent[m.id] != "" {
				continue // list it and draw another one
			}
			functions[m.function] = true
			return true
		}
		return false
	}
	for _, anyFunction := range []bool{false, true} {
		for turn, missed := first, 0; want > 0 && missed < len(kinds); turn++ {
			if next(turn%len(kinds), anyFunction) {
				want--
				missed = 0
			} else {
				missed++
			}
		}
	}
	return drawn
}

func rankOf(seed, id string) string { return digestOf(seed, id) }

// compiles reports whether the package still type-checks with the fault:
// dropping a call may leave a variable or an import unused.
func (p *checkedPackage) compiles(m *mutant) bool {
	src, err := m.mutatedSource()
	if err != nil {
		return false
	}
	set := token.NewFileSet()
	files := make([]*ast.File, 0, len(p.loaded.CompiledGoFiles))
	for _, name := range p.loaded.CompiledGoFiles {
		var content any
		if name == m.file {
			content = src
		}
		f, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importerOf(p.loaded), Sizes: p.loaded.TypesSizes}
	if p.loaded.Module != nil {
		conf.GoVersion = "go" + p.loaded.Module.GoVersion
	}
	_, err = conf.Check(p.path, set, files, nil)
	return err == nil
}

// importerOf returns an importer for the dependencies of a package.
func importerOf(p *packages.Package) types.Importer {
	return importFunc(func(path string) (*types.Package, error) {
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		for _, i := range p.Types.Imports() {
			if i.Path() == path {
				return i, nil
			}
		}
		return nil, fmt.Errorf("%s is not imported", path)
	})
}

type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// finder collects the faults that could be planted in a file.
type finder struct {
	loaded   *packages.Package
	src      []byte
	file     string
	relative string
	digest   string
	function string
	same     map[string]int // how often the same piece of code came in the same function
	found    []*mutant
}

// findMutants returns all faults that could be planted in a file.
func findMutants(root string, p *packages.Package, f *ast.File) ([]*mutant, error) {
	name := p.Fset.File(f.Pos()).Name()
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	fi := finder{loaded: p, src: src, file: name, relative: relative, digest: digestOf(string(src)), same: map[string]int{}}
	for _, d := range f.Decls {
		if fn, is := d.(*ast.FuncDecl); is && fn.Body != nil {
			fi.function = functionName(fn)
			ast.Inspect(fn.Body, fi.visitNode)
		}
	}
	return fi.found, nil
}

// functionName returns the name of a function with its receiver type.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, is := t.(*ast.StarExpr); is {
		t = star.X
	}
	switch g := t.(type) { // of a generic type
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	return types.ExprString(t) + "." + fn.Name.Name
}

// visitNode collects the faults of one node.
func (fi *finder) visitNode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		fi.visitIf(n)
	case *ast.BinaryExpr:
		fi.visitBinary(n)
	case *ast.Ident:
		fi.visitIdent(n)
	case *ast.BlockStmt:
		fi.visitStatements(n.List)
	case *ast.CaseClause:
		fi.visitStatements(n.Body)
	case *ast.CommClause:
		fi.visitStatements(n.Body)
	}
	if s, is := n.(ast.Stmt); is && fi.onlyLogs(s) {
		return false
	}
	return true
}

// visitIf negates a condition, or makes a check always pass. The condition is
// still evaluated, so that its side effects and used variables stay.
func (fi *finder) visitIf(n *ast.IfStmt) {
	if fi.onlyLogs(n) {
		return
	}
	cond := fi.codeOf(n.Cond)
	fi.addFault(negatedCondition, n.Cond, "!("+cond+")", "if "+cond, "if !("+cond+")")
	if n.Else == nil && leavesBlock(n.Body) {
		fi.addFault(droppedCheck, n.Cond, "("+cond+") && false", "if "+cond+" { "+fi.codeOf(n.Body.List[len(n.Body.List)-1])+" }", "nothing")
	}
}

// leavesBlock reports whether a block ends with a statement that leaves the
// surrounding block.
func leavesBlock(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch last := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, is := last.X.(*ast.CallExpr)
		return is && types.ExprString(call.Fun) == "panic"
	}
	return false
}

// comparisons by what they become.
var comparisons = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
}

// visitBinary exchanges comparison and boolean operators, and removes an
// addition or subtraction of one.
func (fi *finder) visitBinary(n *ast.BinaryExpr) {
	replace := func(kind int, with string) {
		at := fi.offsetOf(n.OpPos)
		fi.addAt(kind, at, at+len(n.Op.String()), n.OpPos, with, fi.codeOf(n), fi.codeOf(n.X)+" "+with+" "+fi.codeOf(n.Y))
	}
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		replace(changedComparison, comparisons[n.Op])
	case token.EQL, token.NEQ:
		// Every test that reaches a wrong nil check fails: such faults would
		// only crowd out the boundary cases.
		if !fi.isNil(n.Y) {
			replace(changedComparison, comparisons[n.Op])
		}
	case token.LAND:
		replace(swappedBoolean, "||")
	case token.LOR:
		replace(swappedBoolean, "&&")
	case token.ADD, token.SUB:
		if one, is := n.Y.(*ast.BasicLit); is && one.Value == "1" {
			fi.addFault(changedComparison, one, "0", fi.codeOf(n), fi.codeOf(n.X))
		}
	}
}

func (fi *finder) isNil(e ast.Expr) bool { return fi.loaded.TypesInfo.Types[e].IsNil() }

func (fi *finder) visitIdent(n *ast.Ident) {
	for name, other := range map[string]string{"true": "false", "false": "true"} {
		if n.Name == name && fi.loaded.TypesInfo.Uses[n] == types.Universe.Lookup(name) {
			fi.addFault(swappedBoolean, n, other, fi.lineOf(n), other)
		}
	}
}

// uncounted are methods whose dropped call no test has to notice: only the race
// detector may notice a missing lock.
var uncounted = map[string]bool{"Lock": true, "Unlock": true, "RLock": true, "RUnlock": true}

// visitStatements drops single call statements, except those in uncounted and
// those that only log.
func (fi *finder) visitStatements(list []ast.Stmt) {
	for _, s := range list {
		e, is := s.(*ast.ExprStmt)
		if !is || fi.onlyLogs(s) {
			continue
		}
		call, is := e.X.(*ast.CallExpr)
		if !is {
			continue
		}
		if sel, is := call.Fun.(*ast.SelectorExpr); is && uncounted[sel.Sel.Name] {
			continue
		}
		fi.addFault(droppedCall, s, "{}", fi.codeOf(s), "nothing")
	}
}

// onlyLogs reports whether a statement does nothing but write to the log.
func (fi *finder) onlyLogs(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, is := s.X.(*ast.CallExpr)
		if !is {
			return false
		}
		sel, is := call.Fun.(*ast.SelectorExpr)
		if !is {
			return false
		}
		if t := fi.loaded.TypesInfo.TypeOf(sel.X); t != nil && t.String() == "*log/slog.Logger" {
			return true
		}
		f, is := fi.loaded.TypesInfo.Uses[sel.Sel].(*types.Func)
		return is && f.Pkg() != nil && f.Pkg().Path() == "log/slog"
	case *ast.IfStmt:
		return s.Else == nil && len(s.Body.List) > 0 && !slices.ContainsFunc(s.Body.List, func(s ast.Stmt) bool { return !fi.onlyLogs(s) })
	}
	return false
}

func (fi *finder) addFault(kind int, n ast.Node, text, from, to string) {
	fi.addAt(kind, fi.offsetOf(n.Pos()), fi.offsetOf(n.End()), n.Pos(), text, from, to)
}

func (fi *finder) addAt(kind, start, end int, at token.Pos, text, from, to string) {
	key := strings.Join([]string{fi.relative, fi.function, kinds[kind], from, to}, "\x00")
	n := fi.same[key]
	fi.same[key]++
	fi.found = append(fi.found, &mutant{
		id: digestOf(key, fmt.Sprint(n)), pkg: fi.loaded.PkgPath, file: fi.file, relative: fi.relative, function: fi.function, digest: fi.digest,
		line: fi.loaded.Fset.Position(at).Line, kind: kind, change: shortenCode(from) + " → " + shortenCode(to), start: start, end: end, text: text,
	})
}

func (fi *finder) offsetOf(p token.Pos) int { return fi.loaded.Fset.Position(p).Offset }

func (fi *finder) codeOf(n ast.Node) string {
	return string(fi.src[fi.offsetOf(n.Pos()):fi.offsetOf(n.End())])
}

// lineOf returns the line that a node begins in.
func (fi *finder) lineOf(n ast.Node) string {
	at := fi.offsetOf(n.Pos())
	from := bytes.LastIndexByte(fi.src[:at], '\n') + 1
	to := len(fi.src)
	if i := bytes.IndexByte(fi.src[at:], '\n'); i >= 0 {
		to = at + i
	}
	return strings.TrimSpace(string(fi.src[from:to]))
}

// shortenCode returns code as one line of bounded length, for tables.
func shortenCode(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	if r := []rune(code); len(r) > 90 {
		code = string(r[:87]) + "..."
	}
	return code
}

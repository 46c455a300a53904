package junctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The import rules and the shape of the repository, as docs/ARCHITECTURE.md
// states them. They need only the go command, so they hold where no linter is
// installed. Every system's files count, whatever the build constraints say.

const module = "github.com/junctor-mcp/junctor"

// Limits of the shape.
const (
	maxPackages     = 80
	maxDepth        = 3
	maxFileLines    = 800
	maxMainLines    = 40
	maxRequirements = 31
)

// source is one Go file.
type source struct {
	name  string
	lines int
	file  *ast.File
	fset  *token.FileSet
}

// pkg is one package of ours. Test-only packages are exempt from most rules.
type pkg struct {
	path    string // below the module; "" is the root
	doc     string
	sources []source
	tests   []source // _test.go files: only their length and their sleeps matter
}

func (p pkg) testOnly() bool { return forTests(p.path) || len(p.sources) == 0 }

// forTests says whether a package serves tests alone, or is an example: both
// show the product from outside.
func forTests(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first == "test" || first == "examples" || roomOf(path) == "testkit" ||
		slices.Contains([]string{"internal/store/pgtest", "internal/store/storetest", "mcpapps/mcpappstest"}, path)
}

// room is the folder directly below internal/, or "" outside it.
func (p pkg) room() string { return roomOf(p.path) }

func roomOf(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return ""
	}
	room, _, _ := strings.Cut(rest, "/")
	return room
}

// imports lists what the package imports, each path once.
func (p pkg) imports() []string {
	var all []string
	for _, s := range p.sources {
		for _, im := range s.file.Imports {
			path, _ := strconv.Unquote(im.Path.Value)
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ours lists the packages of this module that p imports, below the module.
func (p pkg) ours() []string {
	var all []string
	for _, path := range p.imports() {
		if path == module {
			all = append(all, "")
		} else if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			all = append(all, rest)
		}
	}
	return all
}

// requirement is one line of go.mod.
type requirement struct {
	Path     string
	Indirect bool
}

type tree struct {
	pkgs     []pkg
	requires []requirement
}

// rule reports every place that breaks it.
type rule struct {
	name  string
	check func(tree) []string
}

// admissionPath is the package whose values stand for the judge's verdicts.
const admissionPath = "internal/admission"

// sketchPath is the package that estimates percentiles, which everything that measures
// may use.
const sketchPath = "internal/sketch"

// redactPath is the package that finds secrets in texts, for the history and for rules.
const redactPath = "internal/redact"

// verdictMakers are functions of admission that give a verdict without asking whose
// definition it is, and where each may be called: a folder, or a file.
func verdictMakers() map[string][]string {
	return map[string][]string{
		"Stored":            {"internal/store/"},
		"New":               {"internal/servers/servers.go", "internal/instance/instance.go"},
		"Discovered":        {"internal/chains/discovered_servers.go"},
		"LocalFile":         {"internal/servers/document_files.go"},
		"LiteralConnection": {"internal/upstreamauth/user_credentials.go"},
	}
}

// checkVerdicts reports calls of verdictMakers elsewhere: they would be a way around
// the judge. It knows admission by its import, whatever it is called there.
func checkVerdicts(t tree) []string {
	var found []string
	for _, p := range t.pkgs {
		if p.testOnly() || p.path == admissionPath {
			continue
		}
		for _, s := range p.sources {
			name, imported := importedAs(s.file, module+"/"+admissionPath)
			if !imported {
				continue
			}
			if name == "." {
				found = append(found, s.name)
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				places, makes := verdictMakers()[sel.Sel.Name]
				of, ok := sel.X.(*ast.Ident)
				if ok && makes && of.Name == name && !slices.ContainsFunc(places, func(at string) bool { return strings.HasPrefix(s.name, at) }) {
					found = append(found, s.name)
				}
				return true
			})
		}
	}
	return found
}

// importedAs gives the name by which a file knows a package.
func importedAs(file *ast.File, path string) (name string, imported bool) {
	for _, i := range file.Imports {
		if strings.Trim(i.Path.Value, `"`) != path {
			continue
		}
		if i.Name != nil {
			return i.Name.Name, true
		}
		return path[strings.LastIndex(path, "/")+1:], true
	}
	return "", false
}

func ground() []string {
	return []string{"store", "seal", "audit", "history", "backup", "egress", "httpfast", "limit", "config", "telemetry", "proc", "wire"}
}
func backends() []string { return []string{"builtin", "upstream", "apigen"} }
func drivers() []string  { return []string{"internal/store/sqlite", "internal/store/postgres"} }

// rules returns the import rules of docs/ARCHITECTURE.md. Each function returns
// the violations in a tree of packages, so that imports_planted_test.go can run
// it on planted ones.
func rules() []rule {
	return []rule{
		{"package junctor imports nothing of ours", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool { return p.path == "" })
		}},
		{"ground imports only package junctor, admission, sketch, redact and its own subtree, and egress imports httpfast", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool {
				dialsFor := p.room() == "egress" && roomOf(q) == "httpfast" // egress gives httpfast its dial function
				return slices.Contains(ground(), p.room()) && q != "" && q != admissionPath && q != sketchPath && q != redactPath && roomOf(q) != p.room() && !dialsFor
			})
		}},
		{"admission imports only package junctor", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool { return p.path == admissionPath && q != "" })
		}},
		{"sketch imports nothing of ours", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool { return p.path == sketchPath })
		}},
		{"redact imports only package junctor and wire", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool { return p.path == redactPath && q != "" && q != "internal/wire" })
		}},
		{"verdicts are made where they are meant to be", checkVerdicts},
		{"backends never import each other", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool {
				return slices.Contains(backends(), p.room()) && slices.Contains(backends(), roomOf(q)) && p.room() != roomOf(q)
			})
		}},
		{"only app and instance import store drivers", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool {
				return slices.Contains(drivers(), q) && p.room() != "app" && p.room() != "instance" && !slices.Contains(drivers(), p.path)
			})
		}},
		{"servers alone imports concrete backends", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool {
				concrete := slices.Contains(backends(), roomOf(q)) && !slices.Contains(backends(), p.room())
				return concrete && p.room() != "servers"
			})
		}},
		{"nothing outside tests imports what is for tests", func(t tree) []string {
			return eachImport(t, func(p pkg, q string) bool { return forTests(q) })
		}},
		{"only proc imports os/exec", onlyRoom("proc", "os/exec")},
		{"only seal imports crypto/aes", onlyRoom("seal", "crypto/aes")},
		{"only policy imports CEL", onlyRoom("policy", "cel.dev/cel-go/cel")},
		{"only egress makes HTTP clients and dials", checkDials},
		{fmt.Sprintf("at most %d packages", maxPackages), func(t tree) []string {
			n := 0
			for _, p := range t.pkgs {
				if !p.testOnly() {
					n++
				}
			}
			if n > maxPackages {
				return []string{fmt.Sprintf("%d packages", n)}
			}
			return nil
		}},
		{"every package has a doc comment", func(t tree) (bad []string) {
			for _, p := range t.pkgs {
				if len(p.sources) > 0 && p.doc == "" {
					bad = append(bad, module+"/"+p.path)
				}
			}
			return bad
		}},
		{fmt.Sprintf("at most %d folders deep", maxDepth), func(t tree) (bad []string) {
			for _, p := range t.pkgs {
				if strings.Count(p.path, "/")+1 > maxDepth {
					bad = append(bad, p.path)
				}
			}
			return bad
		}},
		{fmt.Sprintf("no file above %d lines, main.go not above %d", maxFileLines, maxMainLines), checkLines},
		{fmt.Sprintf("at most %d direct requirements", maxRequirements), checkRequirements},
	}
}

// eachImport reports the imports of our own packages for which bad holds.
// Test-only packages may import anything.
func eachImport(t tree, bad func(p pkg, q string) bool) (found []string) {
	for _, p := range t.pkgs {
		if p.testOnly() {
			continue
		}
		for _, q := range p.ours() {
			if bad(p, q) {
				found = append(found, fmt.Sprintf("%s imports %s", module+"/"+p.path, module+"/"+q))
			}
		}
	}
	return found
}

func onlyRoom(room, path string) func(tree) []string {
	return func(t tree) (bad []string) {
		for _, p := range t.pkgs {
			if !p.testOnly() && p.room() != room && slices.Contains(p.imports(), path) {
				bad = append(bad, module+"/"+p.path)
			}
		}
		return bad
	}
}

// checkDials finds composite literals and values of http.Client,
// http.Transport and net.Dialer, the default client, and dial functions.
func checkDials(t tree) (bad []string) {
	for _, p := range t.pkgs {
		if p.testOnly() || p.room() == "egress" || p.room() == "bench" {
			continue
		}
		for _, s := range p.sources {
			for _, what := range dials(s.file) {
				bad = append(bad, s.name+": "+what)
			}
		}
	}
	return bad
}

// dials returns the places of a file that dial or build an HTTP client. Only
// egress may do so, because its checks of addresses must not be bypassed.
func dials(file *ast.File) (found []string) {
	names := map[string]string{} // the file's name for a package -> the package
	for _, im := range file.Imports {
		path, _ := strconv.Unquote(im.Path.Value)
		switch path {
		case "net", "net/http", "crypto/tls":
			name := path[strings.LastIndex(path, "/")+1:]
			if im.Name != nil {
				name = im.Name.Name
			}
			names[name] = path
		}
	}
	selector := func(e ast.Expr) string {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || names[x.Name] == "" {
			return ""
		}
		return names[x.Name] + "." + sel.Sel.Name
	}
	value := func(e ast.Expr) {
		switch s := selector(e); s {
		case "net/http.Client", "net/http.Transport", "net.Dialer", "crypto/tls.Dialer":
			found = append(found, "makes a "+s)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			value(n.Type)
		case *ast.ValueSpec: // var c http.Client
			value(n.Type)
		case *ast.Field: // a field or parameter by value
			value(n.Type)
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 {
				value(n.Args[0])
			}
		case *ast.SelectorExpr:
			switch s := selector(n); s {
			case "net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialIP", "net.DialUnix",
				"crypto/tls.Dial", "crypto/tls.DialWithDialer", "net/http.DefaultClient", "net/http.DefaultTransport",
				"net/http.Get", "net/http.Head", "net/http.Post", "net/http.PostForm":
				found = append(found, "uses "+s)
			}
		}
		return true
	})
	return found
}

func checkLines(t tree) (bad []string) {
	for _, p := range t.pkgs {
		for _, s := range slices.Concat(p.sources, p.tests) {
			if s.lines > maxFileLines || s.lines > maxMainLines && strings.HasPrefix(p.path, "cmd/") {
				bad = append(bad, fmt.Sprintf("%s has %d lines", s.name, s.lines))
			}
		}
	}
	return bad
}

// checkRequirements counts what the product itself imports: golang.org/x and
// modules that only tests use are apart.
func checkRequirements(t tree) []string {
	used := map[string]bool{}
	for _, p := range t.pkgs {
		if p.testOnly() {
			continue
		}
		for _, path := range p.imports() {
			for _, r := range t.requires {
				if path == r.Path || strings.HasPrefix(path, r.Path+"/") {
					used[r.Path] = true
				}
			}
		}
	}
	var counted []string
	for _, r := range t.requires {
		if !r.Indirect && used[r.Path] && !strings.HasPrefix(r.Path, "golang.org/x/") {
			counted = append(counted, r.Path)
		}
	}
	if len(counted) > maxRequirements {
		return []string{fmt.Sprintf("%d: %s", len(counted), strings.Join(counted, ", "))}
	}
	return nil
}

func TestImports(t *testing.T) {
	t.Parallel()
	tr := load(t)
	if len(tr.pkgs) < 2 || len(tr.requires) == 0 {
		t.Fatalf("found %d packages and %d requirements: the search is broken", len(tr.pkgs), len(tr.requires))
	}
	for _, r := range rules() {
		for _, bad := range r.check(tr) {
			t.Errorf("rule %q (docs/ARCHITECTURE.md): %s", r.name, bad)
		}
	}
}

// load reads the packages that the go command sees, and go.mod.
func load(t *testing.T) tree {
	t.Helper()
	var tr tree
	dec := json.NewDecoder(bytes.NewReader(run(t, "go", "list", "-e", "-json=ImportPath,Dir,Doc,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")))
	for {
		var p struct {
			ImportPath, Dir, Doc                               string
			GoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		q := pkg{path: strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/"), doc: p.Doc}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			s := parse(t, filepath.Join(p.Dir, name), nil)
			s.name = filepath.Join(q.path, name)
			if strings.HasSuffix(name, "_test.go") {
				q.tests = append(q.tests, s)
			} else {
				q.sources = append(q.sources, s)
			}
		}
		tr.pkgs = append(tr.pkgs, q)
	}
	var mod struct{ Require []requirement }
	if err := json.Unmarshal(run(t, "go", "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	tr.requires = mod.Require
	return tr
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, &stderr)
	}
	return out
}

func parse(t *testing.T, name string, src any) source {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{name: name, lines: fset.File(f.FileStart).LineCount(), file: f, fset: fset}
}

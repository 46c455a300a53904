package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// logLine is one call in the source that writes a line to the log.
type logLine struct {
	area       string // the package, without the module and internal/
	level      string
	message    string // "" if it is no constant
	attributes []string
	place      string // file:line, below the root
}

// logFunction is a function that logs a message that it is given: one of log/slog, or one
// of ours that passes its parameter on.
type logFunction struct {
	level      string // "" if it is a parameter
	levelAt    int
	messageAt  int
	attributes int // index of the first attribute; -1 if it takes none
}

// listedPackage is a package as the go command lists it.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Path string }
}

// checkedPackage is a package of the module with its types.
type checkedPackage struct {
	path  string
	files []*ast.File
	info  *types.Info
}

// logReader collects the log lines of a program.
type logReader struct {
	root, module string
	fset         *token.FileSet
	packages     []checkedPackage
	functions    map[string]logFunction // by full name
	attributes   map[string]string      // keys of attributes, by the full name of the function that makes them
}

// collectLog reads the packages that patterns name, and their dependencies in the same
// module, and gives each call that logs.
func collectLog(root string, patterns ...string) ([]logLine, error) {
	r := newLogReader(root)
	for _, level := range []string{"Debug", "Info", "Warn", "Error"} {
		for _, of := range []string{"log/slog.", "(*log/slog.Logger)."} {
			r.functions[of+level] = logFunction{level: strings.ToLower(level), messageAt: 0, attributes: 1}
			r.functions[of+level+"Context"] = logFunction{level: strings.ToLower(level), messageAt: 1, attributes: 2}
		}
	}
	for _, name := range []string{"log/slog.Log", "log/slog.LogAttrs", "(*log/slog.Logger).Log", "(*log/slog.Logger).LogAttrs"} {
		r.functions[name] = logFunction{levelAt: 1, messageAt: 2, attributes: 3}
	}
	if err := r.load(patterns); err != nil {
		return nil, err
	}
	r.findAttributes()
	for { // a function that logs may be called by another that only passes a message on
		before := len(r.functions)
		lines := r.read()
		if len(r.functions) == before {
			return lines, nil
		}
	}
}

func newLogReader(root string) *logReader {
	return &logReader{root: root, fset: token.NewFileSet(), functions: map[string]logFunction{}, attributes: map[string]string{}}
}

// load parses and checks the packages. Types of their dependencies come from the go
// command's export data, so that this takes seconds.
func (r *logReader) load(patterns []string) error {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module"}, patterns...)...)
	cmd.Dir = r.root
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go list: %w: %s", err, problem.String())
	}
	exports, own := map[string]string{}, []listedPackage{}
	for dec := json.NewDecoder(&out); ; {
		var p listedPackage
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		if rel, err := filepath.Rel(r.root, p.Dir); err == nil && !strings.HasPrefix(rel, "..") && p.Module != nil {
			r.module = p.Module.Path
			own = append(own, p)
		}
	}
	imports := importer.ForCompiler(r.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		c := checkedPackage{path: p.ImportPath, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(r.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c.files = append(c.files, f)
		}
		conf := types.Config{Importer: imports}
		if _, err := conf.Check(p.ImportPath, r.fset, c.files, c.info); err != nil {
			return err
		}
		r.packages = append(r.packages, c)
	}
	return nil
}

// findAttributes finds the functions that make an attribute, such as
// telemetry.ErrorAttr, and the key of each.
func (r *logReader) findAttributes() {
	for _, p := range r.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				obj, ok := p.info.Defs[fn.Name].(*types.Func)
				if !ok || obj.Signature().Results().Len() != 1 || obj.Signature().Results().At(0).Type().String() != "log/slog.Attr" {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					ret, ok := n.(*ast.ReturnStmt)
					if ok && len(ret.Results) == 1 {
						if key := r.attributeKey(p, ret.Results[0]); key != "" {
							r.attributes[obj.FullName()] = key
						}
					}
					return true
				})
			}
		}
	}
}

// read gives the log lines of all packages, and adds functions that pass a message on.
func (r *logReader) read() []logLine {
	var lines []logLine
	for _, p := range r.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, _ := d.(*ast.FuncDecl)
				ast.Inspect(d, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if line, ok := r.readCall(p, fn, call); ok {
							lines = append(lines, line)
						}
					}
					return true
				})
			}
		}
	}
	slices.SortFunc(lines, func(a, b logLine) int {
		return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.message, b.message), cmp.Compare(a.level, b.level), cmp.Compare(a.place, b.place))
	})
	return lines
}

// readCall gives the line that a call logs. A call inside a function that passes its own
// parameter on is no line: the calls of that function are.
func (r *logReader) readCall(p checkedPackage, fn *ast.FuncDecl, call *ast.CallExpr) (logLine, bool) {
	known, ok := r.functions[calledFunction(p, call)]
	if !ok || len(call.Args) <= known.messageAt {
		return logLine{}, false
	}
	line := logLine{area: strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p.path, r.module), "/"), "internal/"), level: known.level}
	line.area = cmp.Or(line.area, "junctor")
	at := r.fset.Position(call.Pos())
	if rel, err := filepath.Rel(r.root, at.Filename); err == nil {
		line.place = fmt.Sprintf("%s:%d", filepath.ToSlash(rel), at.Line)
	}
	if known.level == "" {
		line.level = levelName(p, call.Args[known.levelAt])
	}
	message := call.Args[known.messageAt]
	if v := p.info.Types[message].Value; v != nil && v.Kind() == constant.String {
		line.message = constant.StringVal(v)
	} else if r.addFunction(p, fn, message, line.level) {
		return logLine{}, false
	}
	if known.attributes >= 0 && len(call.Args) > known.attributes {
		line.attributes = r.readAttributes(p, fn, call, known.attributes)
	}
	return line, true
}

// addFunction adds the function around a call if the message is its parameter.
func (r *logReader) addFunction(p checkedPackage, fn *ast.FuncDecl, message ast.Expr, level string) bool {
	id, ok := message.(*ast.Ident)
	if !ok || fn == nil {
		return false
	}
	obj, ok := p.info.Defs[fn.Name].(*types.Func)
	if !ok {
		return false
	}
	params := obj.Signature().Params()
	for i := range params.Len() {
		if params.At(i) == p.info.Uses[id] {
			next := logFunction{level: level, messageAt: i, attributes: -1}
			if obj.Signature().Variadic() {
				next.attributes = params.Len() - 1
			}
			r.functions[obj.FullName()] = next
			return true
		}
	}
	return false
}

func calledFunction(p checkedPackage, call *ast.CallExpr) string {
	var id *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return ""
	}
	if fn, ok := p.info.Uses[id].(*types.Func); ok {
		return fn.FullName()
	}
	return ""
}

func levelName(p checkedPackage, e ast.Expr) string {
	if v := p.info.Types[e].Value; v != nil {
		n, _ := constant.Int64Val(v)
		switch n {
		case -4:
			return "debug"
		case 0:
			return "info"
		case 4:
			return "warn"
		case 8:
			return "error"
		}
	}
	return "varies"
}

// readAttributes gives the keys of a call's attributes. If the call spreads a slice, all
// attributes that its function makes count.
func (r *logReader) readAttributes(p checkedPackage, fn *ast.FuncDecl, call *ast.CallExpr, from int) []string {
	var keys []string
	add := func(key string) {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	args := call.Args[from:]
	for i := 0; i < len(args); i++ {
		if v := p.info.Types[args[i]].Value; v != nil && v.Kind() == constant.String {
			add(constant.StringVal(v))
			i++ // its value
			continue
		}
		add(r.attributeKey(p, args[i]))
	}
	if call.Ellipsis != token.NoPos && fn != nil {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				add(r.attributeKey(p, e))
			}
			return true
		})
	}
	return keys
}

// attributeKey gives the key of an expression that makes an attribute, or "".
func (r *logReader) attributeKey(p checkedPackage, e ast.Expr) string {
	text := func(e ast.Expr) string {
		if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
			return constant.StringVal(v)
		}
		return ""
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		name := calledFunction(p, e)
		if key, ok := r.attributes[name]; ok {
			return key
		}
		if t := p.info.Types[e].Type; t != nil && t.String() == "log/slog.Attr" && strings.HasPrefix(name, "log/slog.") && len(e.Args) > 0 {
			return text(e.Args[0])
		}
	case *ast.CompositeLit:
		if t := p.info.Types[e].Type; t != nil && t.String() == "log/slog.Attr" {
			for _, el := range e.Elts {
				if kv, ok := el.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "Key" {
					return text(kv.Value)
				}
			}
		}
	}
	return ""
}

package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// usesReader collects the names and texts of a module that people read. It parses
// and checks no types, so that it takes a second.
type usesReader struct {
	root     string
	fset     *token.FileSet
	uses     []wordUse
	packages map[string]bool // folders that were seen

	metric, flag, literal, between, wholeLine *regexp.Regexp
}

func collectUses(root string) ([]wordUse, error) {
	r := &usesReader{
		root: root, fset: token.NewFileSet(), packages: map[string]bool{},
		metric: regexp.MustCompile(`^(junctor|mcp|queue|delivery|process)_[a-z0-9_]+$`),
		// Methods of a set of flags.
		flag: regexp.MustCompile(`^(String|StringSlice|StringArray|StringToString|Bool|Int|Int64|Uint|Uint64|Float64|Duration|Count|Var)(Var)?P?$`),
		// Texts in a line of a screen.
		literal:   regexp.MustCompile(`"([^"]*)"|'([^']*)'|` + "`([^`]*)`"),
		between:   regexp.MustCompile(`>([^<>{}=;()]*)(<|\{|$)`),
		wholeLine: regexp.MustCompile(`^\s+([^<>{}=;()'"` + "`" + `]+)(<.*|\{.*)?$`),
	}
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "node_modules", "bin"}, base)) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go"):
			return r.readGo(rel)
		case strings.HasPrefix(rel, "internal/console/web/src/") && strings.HasSuffix(base, ".tsx") && !strings.Contains(base, ".test."):
			return r.readScreen(rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.readAPI("internal/admin/testdata/openapi.json"); err != nil {
		return nil, err
	}
	return r.uses, nil
}

// addName adds a name, whose place is the name itself.
func (r *usesReader) addName(scope, name, file string, line int) {
	r.addMember(scope, "", name, file, line)
}

// addMember adds a name whose place is that name behind what has it. The words of
// the owner are those of the owner's own use.
func (r *usesReader) addMember(scope, owner, name, file string, line int) {
	r.uses = append(r.uses, wordUse{scope: scope, place: owner + name, text: name, file: file, line: line})
}

// addText adds a text, whose place is its file.
func (r *usesReader) addText(scope, text, file string, line int) {
	if strings.TrimSpace(text) != "" {
		r.uses = append(r.uses, wordUse{scope: scope, place: file, text: text, file: file, line: line})
	}
}

func (r *usesReader) readGo(file string) error {
	parsed, err := parser.ParseFile(r.fset, filepath.Join(r.root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	if !r.packages[dir] {
		r.packages[dir] = true
		r.addMember(scopePackage, strings.TrimSuffix(dir, path.Base(dir)), path.Base(dir), file, r.line(parsed.Name))
	}
	if strings.HasPrefix(file, "test/") { // nobody imports tests
		return nil
	}
	r.readExported(parsed, file)
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch dir {
		case "internal/cli":
			r.readCommand(n, file)
		case "internal/config":
			r.readSetting(n, file)
		case ".":
			r.readNoun(n, file)
		}
		if text, lit := stringLiteral(n); lit != nil && r.metric.MatchString(text) {
			r.addName(scopeMetric, text, file, r.line(lit))
		}
		return true
	})
	return nil
}

// readNoun adds what the tags of a noun say that a settings file declares: the keys in the
// file, and the flags with their help, as junctor.Field describes them.
func (r *usesReader) readNoun(n ast.Node, file string) {
	spec, ok := n.(*ast.TypeSpec)
	if !ok || !slices.Contains([]string{
		"Connection", "Auth", "Override", "APISettings", "Agent", "Brain", "TurnLimits", "Limits", "Trigger", "Match", "Condition", "Action", "Source", "Schedule",
	}, spec.Name.Name) {
		return
	}
	noun, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range noun.Fields.List {
		if f.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		tag := reflect.StructTag(text)
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if name != "-" && tag.Get("file") == "" {
			r.addName(scopeConfig, name, file, r.line(f.Tag))
		}
		if flag, _, _ := strings.Cut(tag.Get("flag"), " "); flag != "" {
			r.addName(scopeFlag, flag, file, r.line(f.Tag))
			r.addText(scopeHelp, tag.Get("doc"), file, r.line(f.Tag))
		}
	}
}

func (r *usesReader) line(n ast.Node) int { return r.fset.Position(n.Pos()).Line }

// readExported adds the exported identifiers at the top of a file, with the fields
// and methods of exported types.
func (r *usesReader) readExported(file *ast.File, name string) {
	add := func(prefix string, id *ast.Ident) {
		if id.IsExported() {
			r.addMember(scopeExported, file.Name.Name+"."+prefix, id.Name, name, r.line(id))
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			prefix := ""
			if d.Recv != nil {
				receiver := receiverName(d.Recv.List[0].Type)
				if !ast.IsExported(receiver) {
					continue
				}
				prefix = receiver + "."
			}
			add(prefix, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add("", id)
					}
				case *ast.TypeSpec:
					add("", s.Name)
					for _, id := range memberNames(s) {
						add(s.Name.Name+".", id)
					}
				}
			}
		}
	}
}

func receiverName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// memberNames returns the named fields or methods of an exported type.
func memberNames(s *ast.TypeSpec) (names []*ast.Ident) {
	var list *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	}
	if list == nil || !s.Name.IsExported() {
		return nil
	}
	for _, f := range list.List {
		names = append(names, f.Names...)
	}
	return names
}

// readCommand adds flags, names of commands and help texts: calls such as
// flags.StringVar(&x, "name", "", "help"), and the members of a cobra.Command.
func (r *usesReader) readCommand(n ast.Node, file string) {
	switch x := n.(type) {
	case *ast.CallExpr:
		sel, ok := x.Fun.(*ast.SelectorExpr)
		if !ok || !r.flag.MatchString(sel.Sel.Name) || len(x.Args) < 3 {
			return
		}
		for _, arg := range x.Args[:2] {
			if text, lit := stringLiteral(arg); lit != nil {
				r.addName(scopeFlag, text, file, r.line(lit))
				break
			}
		}
		r.addLiterals(scopeHelp, x.Args[len(x.Args)-1], file)
	case *ast.KeyValueExpr:
		switch key, _ := x.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Use":
			if text, lit := stringLiteral(x.Value); lit != nil {
				command, _, _ := strings.Cut(text, " ")
				r.addName(scopeFlag, command, file, r.line(lit))
			}
		case slices.Contains([]string{"Short", "Long", "Example"}, key.Name):
			r.addLiterals(scopeHelp, x.Value, file)
		}
	}
}

// readSetting adds the settings, whose names are flags and keys, the keys that a
// file may have beside them (members of maps of readers), and keys that are written
// (tags).
func (r *usesReader) readSetting(n ast.Node, file string) {
	switch x := n.(type) {
	case *ast.KeyValueExpr:
		text, lit := stringLiteral(x.Value)
		key, _ := x.Key.(*ast.Ident)
		switch {
		case key != nil && key.Name == "Name" && lit != nil:
			r.addName(scopeFlag, text, file, r.line(lit))
			r.addName(scopeConfig, strings.ReplaceAll(text, "-", "_"), file, r.line(lit))
		case key != nil && key.Name == "Help":
			r.addLiterals(scopeHelp, x.Value, file)
		case key == nil:
			if name, lit := stringLiteral(x.Key); lit != nil {
				r.addName(scopeConfig, name, file, r.line(lit))
			}
		}
	case *ast.Field:
		if x.Tag == nil {
			return
		}
		tag, err := strconv.Unquote(x.Tag.Value)
		if err != nil {
			return
		}
		if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ","); name != "" && name != "-" {
			r.addName(scopeConfig, name, file, r.line(x.Tag))
		}
	}
}

// addLiterals adds the string literals of an expression, such as those of "a" + b + "c".
func (r *usesReader) addLiterals(scope string, e ast.Expr, file string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if text, lit := stringLiteral(n); lit != nil {
			r.addText(scope, text, file, r.line(lit))
		}
		return true
	})
}

func stringLiteral(n ast.Node) (string, *ast.BasicLit) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", nil
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return "", nil
	}
	return text, lit
}

// readAPI adds the paths, parameters, schemas and properties of an OpenAPI document.
func (r *usesReader) readAPI(file string) error {
	data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := r.readAPIValue(dec, data, file, nil); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// readAPIValue reads one value, which stands below the keys at.
func (r *usesReader) readAPIValue(dec *json.Decoder, data []byte, file string, at []string) error {
	open, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := open.(json.Delim)
	if !ok {
		// A parameter: paths, PATH, METHOD, parameters, name.
		if name, isText := open.(string); isText && len(at) > 3 && at[0] == "paths" && at[len(at)-2] == "parameters" && at[len(at)-1] == "name" {
			r.addMember(scopeAPI, at[1]+"?", name, file, lineAt(data, dec.InputOffset()))
		}
		return nil
	}
	for dec.More() {
		below := at
		if delim == '{' {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			below = append(slices.Clone(at), key)
			switch {
			case len(at) == 1 && at[0] == "paths", slices.Equal(at, []string{"components", "schemas"}):
				r.addName(scopeAPI, key, file, lineAt(data, dec.InputOffset()))
			case len(at) > 0 && at[len(at)-1] == "properties":
				r.addMember(scopeAPI, schemaName(at)+".", key, file, lineAt(data, dec.InputOffset()))
			}
		}
		if err := r.readAPIValue(dec, data, file, below); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// schemaName names the object that has the properties at: a schema, with the
// properties on the way to it, or a path.
func schemaName(at []string) string {
	if len(at) > 2 && at[0] == "components" {
		name := at[2]
		for i := 3; i+1 < len(at); i++ {
			if at[i] == "properties" {
				name += "." + at[i+1]
			}
		}
		return name
	}
	return at[min(1, len(at)-1)]
}

func lineAt(data []byte, offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

// readScreen adds the texts of a screen of the console, line by line: string
// literals, and text between tags.
func (r *usesReader) readScreen(file string) error {
	data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(data), "\n") {
		trimmed := strings.TrimSpace(line)
		if slices.ContainsFunc([]string{"import ", "//", "/*", "*", "{/*"}, func(p string) bool { return strings.HasPrefix(trimmed, p) }) {
			continue
		}
		for _, re := range []*regexp.Regexp{r.literal, r.between, r.wholeLine} {
			for _, m := range re.FindAllStringSubmatch(line, -1) {
				text := m[1]
				if re == r.literal {
					text += m[2] + m[3]
				}
				if text = strings.TrimSpace(text); isLabel(text) {
					r.addText(scopeLabel, text, file, i+1)
				}
			}
		}
	}
	return nil
}

// isLabel tells a text for people from a name in code: it has a space, or begins
// with a capital letter.
func isLabel(text string) bool {
	return strings.Contains(text, " ") || text != "" && unicode.IsUpper(rune(text[0]))
}

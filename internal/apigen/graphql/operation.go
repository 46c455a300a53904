package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// maxNesting bounds how deep namespaces of mutations lie in each other.
const maxNesting = 5

// operations makes an operation of each root field, and of each leaf below a
// namespace of mutations.
func (s *Schema) operations() []*doc.Operation {
	var all []*doc.Operation
	for _, kind := range []ast.Operation{ast.Query, ast.Mutation} {
		root := s.root(kind)
		if root == nil {
			continue
		}
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "_") && kind == ast.Query { // _entities and _service of a federated graph
				s.problem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeNoOperation, "", "the field "+f.Name+" is for other servers, not for callers", "")
				continue
			}
			all = append(all, s.below(kind, []*ast.FieldDefinition{f}, nil)...)
		}
	}
	if root := s.root(ast.Subscription); root != nil {
		for _, f := range root.Fields {
			s.problem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeSubscription, "subscription "+f.Name, "the subscription "+f.Name+" is no tool: a tool answers once", "")
		}
	}
	return all
}

// below gives the operation at the end of a path, or those below it where it
// leads to a namespace. within holds the namespaces around it.
func (s *Schema) below(kind ast.Operation, path []*ast.FieldDefinition, within []*ast.Definition) []*doc.Operation {
	s.meter.Spend(50)
	last := path[len(path)-1]
	def := s.types[last.Type.Name()]
	if kind != ast.Mutation || !s.namespace(def) || last.Type.Elem != nil {
		return []*doc.Operation{s.operation(kind, path)}
	}
	if len(path) >= maxNesting || slices.Contains(within, def) {
		return nil // it is reached by a shorter way
	}
	var all []*doc.Operation
	for _, f := range def.Fields {
		all = append(all, s.below(kind, append(slices.Clip(path), f), append(slices.Clip(within), def))...)
	}
	return all
}

func (s *Schema) operation(kind ast.Operation, path []*ast.FieldDefinition) *doc.Operation {
	last := path[len(path)-1]
	names := make([]string, len(path))
	for i, f := range path {
		names[i] = f.Name
	}
	op := &doc.Operation{
		Key: string(kind) + " " + strings.Join(names, "."), ID: strings.Join(names, "_"), Method: "POST",
		Description: last.Description, Tags: []string{string(kind)}, At: s.at(last.Position),
		Deprecated: slices.ContainsFunc(path, func(f *ast.FieldDefinition) bool { return deprecated(f.Directives) }),
		Field:      &doc.Field{Name: strings.Join(names, "_"), Path: names, Mutation: kind == ast.Mutation},
	}
	if len(path) > 1 {
		op.Tags = append(op.Tags, names[:len(names)-1]...)
	}
	var head, declared strings.Builder
	for i, f := range path {
		if i > 0 {
			head.WriteString(" {")
		}
		head.WriteString(" " + f.Name)
		for j, a := range f.Arguments {
			name := variable(path, f, a)
			op.Params = append(op.Params, s.param(name, a.Type, a.Description, a.DefaultValue, a.Directives, a.Position))
			head.WriteString(between(j, "(", ", ") + a.Name + ": $" + name)
			declared.WriteString(between(len(op.Params)-1, "(", ", ") + "$" + name + ": " + declaredType(a))
		}
		if len(f.Arguments) > 0 {
			head.WriteString(")")
		}
	}
	if len(op.Params) > 0 {
		declared.WriteString(")")
	}
	op.Field.Head = string(kind) + " " + op.Field.Name + declared.String() + " {" + head.String()
	op.Field.Tail = strings.Repeat(" }", len(path))
	if !s.leaf(last.Type) {
		op.Field.Selection = s.selection(last.Type)
		op.Field.Head += " "
		op.Field.Returns = last.Type.Name()
	}
	op.Responses = s.answers(op.Field, last.Type)
	return op
}

// declaredType is the type of an argument's variable. One that has a default need
// not be given, so its variable may be absent, even where it cannot be null.
func declaredType(a *ast.ArgumentDefinition) string {
	t := a.Type.String()
	if a.DefaultValue != nil {
		return strings.TrimSuffix(t, "!")
	}
	return t
}

func between(n int, first, other string) string {
	if n == 0 {
		return first
	}
	return other
}

// variable names the variable of an argument: like it, unless fields of the
// path have arguments of one name.
func variable(path []*ast.FieldDefinition, of *ast.FieldDefinition, a *ast.ArgumentDefinition) string {
	for _, f := range path {
		if f != of && f.Arguments.ForName(a.Name) != nil {
			return of.Name + "_" + a.Name
		}
	}
	return a.Name
}

func (s *Schema) param(name string, t *ast.Type, about string, value *ast.Value, marks ast.DirectiveList, at *ast.Position) doc.Param {
	p := doc.Param{
		Name: name, In: doc.InVariable, Description: about, Required: t.NonNull && value == nil, Deprecated: deprecated(marks),
		Style: "form", Schema: s.value(t, s.at(at)), At: s.at(at),
	}
	describe(p.Schema, "", value)
	return p
}

package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// maxNamespaceDepth bounds how deep namespaces of mutations lie in each other.
const maxNamespaceDepth = 5

// makeOperations makes an operation of each root field, and of each leaf below a
// namespace of mutations.
func (s *Schema) makeOperations() []*doc.Operation {
	var all []*doc.Operation
	for _, kind := range []ast.Operation{ast.Query, ast.Mutation} {
		root := s.rootType(kind)
		if root == nil {
			continue
		}
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "_") && kind == ast.Query { // _entities and _service of a federated graph
				s.addProblem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeNoOperation, "", "the field "+f.Name+" is for other servers, not for callers", "")
				continue
			}
			all = append(all, s.operationsBelow(kind, []*ast.FieldDefinition{f}, nil)...)
		}
	}
	if root := s.rootType(ast.Subscription); root != nil {
		for _, f := range root.Fields {
			s.addProblem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeSubscription, "subscription "+f.Name, "the subscription "+f.Name+" is no tool: a tool answers once", "")
		}
	}
	return all
}

// operationsBelow gives the operation at the end of a path, or those below it where it
// leads to a namespace. within holds the namespaces around it.
func (s *Schema) operationsBelow(kind ast.Operation, path []*ast.FieldDefinition, within []*ast.Definition) []*doc.Operation {
	s.meter.Spend(50)
	last := path[len(path)-1]
	def := s.types[last.Type.Name()]
	if kind != ast.Mutation || !s.isNamespace(def) || last.Type.Elem != nil {
		return []*doc.Operation{s.makeOperation(kind, path)}
	}
	if len(path) >= maxNamespaceDepth || slices.Contains(within, def) {
		return nil // it is reached by a shorter way
	}
	var all []*doc.Operation
	for _, f := range def.Fields {
		all = append(all, s.operationsBelow(kind, append(slices.Clip(path), f), append(slices.Clip(within), def))...)
	}
	return all
}

func (s *Schema) makeOperation(kind ast.Operation, path []*ast.FieldDefinition) *doc.Operation {
	last := path[len(path)-1]
	names := make([]string, len(path))
	for i, f := range path {
		names[i] = f.Name
	}
	op := &doc.Operation{
		Key: string(kind) + " " + strings.Join(names, "."), ID: strings.Join(names, "_"), Method: "POST",
		Description: last.Description, Tags: []string{string(kind)}, At: s.positionOf(last.Position),
		Deprecated: slices.ContainsFunc(path, func(f *ast.FieldDefinition) bool { return isDeprecated(f.Directives) }),
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
			name := variableName(path, f, a)
			op.Params = append(op.Params, s.makeParam(name, a.Type, a.Description, a.DefaultValue, a.Directives, a.Position))
			head.WriteString(listSeparator(j, "(", ", ") + a.Name + ": $" + name)
			declared.WriteString(listSeparator(len(op.Params)-1, "(", ", ") + "$" + name + ": " + declaredType(a))
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
	if !s.isLeaf(last.Type) {
		op.Field.Selection = s.defaultSelection(last.Type)
		op.Field.Head += " "
		op.Field.Returns = last.Type.Name()
	}
	op.Responses = s.makeResponses(op.Field, last.Type)
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

func listSeparator(n int, first, other string) string {
	if n == 0 {
		return first
	}
	return other
}

// variableName names the variable of an argument: like it, unless fields of the
// path have arguments of one name.
func variableName(path []*ast.FieldDefinition, of *ast.FieldDefinition, a *ast.ArgumentDefinition) string {
	for _, f := range path {
		if f != of && f.Arguments.ForName(a.Name) != nil {
			return of.Name + "_" + a.Name
		}
	}
	return a.Name
}

func (s *Schema) makeParam(name string, t *ast.Type, about string, value *ast.Value, marks ast.DirectiveList, at *ast.Position) doc.Param {
	p := doc.Param{
		Name: name, In: doc.InVariable, Description: about, Required: t.NonNull && value == nil, Deprecated: isDeprecated(marks),
		Style: "form", Schema: s.valueSchema(t, s.positionOf(at)), At: s.positionOf(at),
	}
	addDescription(p.Schema, "", value)
	return p
}

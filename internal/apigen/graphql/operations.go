package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// maxNamespaceDepth bounds how deep namespaces of mutations are nested.
const maxNamespaceDepth = 5

// makeOperations makes an operation of each query and mutation. Subscriptions
// get a hint only, since a tool answers once.
func (s *Schema) makeOperations() []*doc.Operation {
	var all []*doc.Operation
	for _, kind := range []ast.Operation{ast.Query, ast.Mutation} {
		root := s.rootType(kind)
		if root == nil {
			continue
		}
		for _, f := range root.Fields {
			// A federated graph has _entities and _service.
			if strings.HasPrefix(f.Name, "_") && kind == ast.Query {
				s.addProblem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeNoOperation, "", "the field "+f.Name+" is used between servers and becomes no tool", "")
				continue
			}
			all = append(all, s.operationsBelow(kind, []*ast.FieldDefinition{f}, nil)...)
		}
	}
	if root := s.rootType(ast.Subscription); root != nil {
		for _, f := range root.Fields {
			s.addProblem(f.Position, "/"+root.Name+"/"+f.Name, doc.Hint, codeSubscription, "subscription "+f.Name, "the subscription "+f.Name+" becomes no tool, because a tool answers only once", "")
		}
	}
	return all
}

// operationsBelow returns the operation at the end of a path of fields, or, if
// the path leads to a namespace of mutations, all operations below it. within
// are the namespaces on the path.
func (s *Schema) operationsBelow(kind ast.Operation, path []*ast.FieldDefinition, within []*ast.Definition) []*doc.Operation {
	s.meter.Spend(50)
	last := path[len(path)-1]
	def := s.types[last.Type.Name()]
	if kind != ast.Mutation || !s.isNamespace(def) || last.Type.Elem != nil {
		return []*doc.Operation{s.makeOperation(kind, path)}
	}
	if len(path) >= maxNamespaceDepth || slices.Contains(within, def) {
		// A namespace inside itself is reached by a shorter path.
		return nil
	}
	var all []*doc.Operation
	for _, f := range def.Fields {
		all = append(all, s.operationsBelow(kind, append(slices.Clip(path), f), append(slices.Clip(within), def))...)
	}
	return all
}

// makeOperation makes the operation of a path of fields: the text around the
// selection, the variables for all arguments on the path, and the selection
// itself.
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
		GraphQL:    &doc.GraphQLField{Name: strings.Join(names, "_"), Path: names, Mutation: kind == ast.Mutation},
	}
	// The namespaces around a mutation become tags, so that filters can choose
	// by them.
	if len(path) > 1 {
		op.Tags = append(op.Tags, names[:len(names)-1]...)
	}
	var head, declared strings.Builder
	for i, f := range path {
		if i > 0 {
			head.WriteString(" {")
		}
		head.WriteString(" " + f.Name)
		// Every argument on the path becomes a variable of the operation and a
		// parameter of the tool.
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
	op.GraphQL.Head = string(kind) + " " + op.GraphQL.Name + declared.String() + " {" + head.String()
	op.GraphQL.Tail = strings.Repeat(" }", len(path))
	if !s.isLeaf(last.Type) {
		op.GraphQL.Selection = s.defaultSelection(last.Type)
		op.GraphQL.Head += " "
		op.GraphQL.ReturnType = last.Type.Name()
	}
	op.Responses = s.makeResponses(op.GraphQL, last.Type)
	return op
}

// declaredType returns the type of the variable of an argument. An argument
// with a default need not be given, so its variable is nullable even if the
// argument is not.
func declaredType(a *ast.ArgumentDefinition) string {
	t := a.Type.String()
	if a.DefaultValue != nil {
		return strings.TrimSuffix(t, "!")
	}
	return t
}

// listSeparator returns the text before the n-th element of a list.
func listSeparator(n int, first, other string) string {
	if n == 0 {
		return first
	}
	return other
}

// variableName returns the name of the variable of an argument: the argument's
// own name, unless another field on the path has an argument of that name.
func variableName(path []*ast.FieldDefinition, of *ast.FieldDefinition, a *ast.ArgumentDefinition) string {
	for _, f := range path {
		if f != of && f.Arguments.ForName(a.Name) != nil {
			return of.Name + "_" + a.Name
		}
	}
	return a.Name
}

// makeParam returns the parameter of a variable.
func (s *Schema) makeParam(name string, t *ast.Type, about string, value *ast.Value, marks ast.DirectiveList, at *ast.Position) doc.Param {
	p := doc.Param{
		Name: name, In: doc.InVariable, Description: about, Required: t.NonNull && value == nil, Deprecated: isDeprecated(marks),
		Style: "form", Schema: s.valueSchema(t, s.positionOf(at)), At: s.positionOf(at),
	}
	addDescription(p.Schema, "", value)
	return p
}

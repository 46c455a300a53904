package graphql

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readSaved makes an operation of each saved one. text is GraphQL with
// operations, or a manifest of persisted queries in JSON.
func (s *Schema) readSaved(name string, text []byte) []*doc.Operation {
	// Problems of the saved text need its own file name.
	of := &Schema{types: s.types, possibleTypes: s.possibleTypes, rootTypes: s.rootTypes, queryTypes: s.queryTypes, file: name}
	defer func() { s.problems = append(s.problems, of.problems...) }()
	var manifest struct {
		Operations []struct{ Body string }
	}
	if json.Unmarshal(text, &manifest) == nil && len(manifest.Operations) > 0 {
		all := make([]*doc.Operation, 0, len(manifest.Operations))
		for _, o := range manifest.Operations {
			all = append(all, of.parseSaved(o.Body)...)
		}
		return all
	}
	return of.parseSaved(string(text))
}

// parseSaved makes operations of a text of GraphQL operations. A faulty
// operation is reported and costs no other.
func (s *Schema) parseSaved(source string) []*doc.Operation {
	q, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: s.file, Input: source}, maxTokens)
	if err != nil {
		s.reportSyntax(err, 0)
		return nil
	}
	var all []*doc.Operation
	for _, o := range q.Operations {
		if why := s.savedFault(o); why != "" {
			s.addProblem(o.Position, "/"+o.Name, doc.Error, codeSaved, "", why, "correct the operation; the others are used without it")
			continue
		}
		op := &doc.Operation{
			Key: string(o.Operation) + " saved " + o.Name, ID: o.Name, Method: "POST", Description: cmp.Or(o.Description, commentText(o.Comment)),
			Tags: []string{string(o.Operation), "saved"}, At: s.positionOf(o.Position),
			GraphQL: &doc.GraphQLField{Head: renderOperation(o, q.Fragments), Name: o.Name, Mutation: o.Operation == ast.Mutation, IsSaved: true},
		}
		for _, v := range o.VariableDefinitions {
			op.Params = append(op.Params, s.makeParam(v.Variable, v.Type, v.Description, v.DefaultValue, v.Directives, v.Position))
		}
		all = append(all, op)
	}
	return all
}

// savedFault returns the reason why a saved operation cannot be a tool; "" if
// it can.
func (s *Schema) savedFault(o *ast.OperationDefinition) string {
	if o.Name == "" {
		return "a saved operation needs a name"
	}
	root := s.rootType(o.Operation)
	if root == nil || o.Operation == ast.Subscription {
		return "the operation " + o.Name + " is a " + string(o.Operation) + ", which tools do not support"
	}
	for _, sel := range o.SelectionSet {
		// Only the root fields are checked; the API itself validates the rest.
		if f, ok := sel.(*ast.Field); ok && f.Name != "__typename" && root.Fields.ForName(f.Name) == nil {
			return "the operation " + o.Name + " asks for " + f.Name + ", which " + root.Name + " does not have"
		}
	}
	for _, v := range o.VariableDefinitions {
		if missing := s.missingType(v.Type); missing != "" {
			return "the variable " + v.Variable + " of " + o.Name + " has the type " + missing + ", which is not defined"
		}
	}
	return ""
}

// renderOperation writes an operation together with the fragments that it uses.
// Servers refuse a request with unused fragments.
func renderOperation(o *ast.OperationDefinition, fragments ast.FragmentDefinitionList) string {
	d := &ast.QueryDocument{Operations: ast.OperationList{o}}
	used := map[string]bool{}
	var find func(ast.SelectionSet)
	find = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				find(sel.SelectionSet)
			case *ast.InlineFragment:
				find(sel.SelectionSet)
			case *ast.FragmentSpread:
				if f := fragments.ForName(sel.Name); f != nil && !used[f.Name] {
					used[f.Name] = true
					d.Fragments = append(d.Fragments, f)
					find(f.SelectionSet)
				}
			}
		}
	}
	find(o.SelectionSet)
	var b strings.Builder
	formatter.NewFormatter(&b, formatter.WithIndent(" ")).FormatQueryDocument(d)
	return strings.TrimSpace(b.String())
}

// commentText returns the text of the comments before an operation.
func commentText(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	var lines []string
	for _, one := range c.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(one.Text(), "#")))
	}
	return strings.Join(lines, " ")
}

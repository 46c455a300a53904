package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// answers describes what a field's selection answers.
func (s *Schema) answers(f *doc.Field, t *ast.Type) []doc.Response {
	var set ast.SelectionSet
	if f.Selection != "" {
		q, err := parser.ParseQuery(&ast.Source{Input: f.Selection})
		if err != nil {
			return nil
		}
		set = q.Operations[0].SelectionSet
	}
	return []doc.Response{{Status: "200", Contents: []doc.Content{{Media: "application/json", Schema: s.output(t, set)}}}}
}

// output is the schema of a value with a selection.
func (s *Schema) output(t *ast.Type, set ast.SelectionSet) *doc.Node {
	at := s.at(nil)
	var n *doc.Node
	def := s.types[t.Name()]
	switch {
	case t.Elem != nil:
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("array", at)), doc.NewMember("items", s.output(t.Elem, set)))
	case def.Kind == ast.Enum:
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("string", at)))
	case def.IsLeafType():
		n = s.scalar(def, at)
	default:
		fields := doc.NewObject(at)
		s.outputFields(def, set, fields)
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("object", at)), doc.NewMember("properties", fields))
	}
	return nullable(n, t.NonNull)
}

// nullable lets a value be null where the schema says nothing against it.
func nullable(n *doc.Node, never bool) *doc.Node {
	kind := n.Get("type")
	if never || kind == nil {
		return n
	}
	n.Members[0].Value = &doc.Node{Kind: doc.Array, Items: []*doc.Node{kind, doc.NewString("null", n.At)}, At: n.At}
	return n
}

func (s *Schema) outputFields(def *ast.Definition, set ast.SelectionSet, into *doc.Node) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			n := doc.NewObject(into.At, doc.NewMember("type", doc.NewString("string", into.At))) // __typename
			if f := def.Fields.ForName(sel.Name); f != nil {
				n = s.output(f.Type, sel.SelectionSet)
			}
			if into.Get(sel.Alias) == nil {
				into.Members = append(into.Members, doc.NewMember(sel.Alias, n))
			}
		case *ast.InlineFragment:
			if on := s.types[sel.TypeCondition]; on != nil {
				s.outputFields(on, sel.SelectionSet, into)
			}
		}
	}
}

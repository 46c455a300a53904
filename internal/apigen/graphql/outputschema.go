package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// makeResponses describes the answer of a field with its default selection.
func (s *Schema) makeResponses(f *doc.GraphQLField, t *ast.Type) []doc.Response {
	var set ast.SelectionSet
	if f.Selection != "" {
		q, err := parser.ParseQuery(&ast.Source{Input: f.Selection})
		if err != nil {
			return nil
		}
		set = q.Operations[0].SelectionSet
	}
	return []doc.Response{{Status: "200", Contents: []doc.Content{{Media: "application/json", Schema: s.outputSchema(t, set)}}}}
}

// outputSchema returns the JSON schema of a value with a selection of its
// fields.
func (s *Schema) outputSchema(t *ast.Type, set ast.SelectionSet) *doc.Node {
	at := s.positionOf(nil)
	var n *doc.Node
	def := s.types[t.Name()]
	switch {
	case t.Elem != nil:
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("array", at)), doc.NewMember("items", s.outputSchema(t.Elem, set)))
	case def.Kind == ast.Enum:
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("string", at)))
	case def.IsLeafType():
		n = s.scalarSchema(def, at)
	default:
		fields := doc.NewObject(at)
		s.addOutputFields(def, set, fields)
		n = doc.NewObject(at, doc.NewMember("type", doc.NewString("object", at)), doc.NewMember("properties", fields))
	}
	return allowNull(n, t.NonNull)
}

// allowNull lets n be null, unless never is set. It changes n.
func allowNull(n *doc.Node, never bool) *doc.Node {
	kind := n.Get("type")
	if never || kind == nil {
		return n
	}
	n.Members[0].Value = &doc.Node{Kind: doc.Array, Items: []*doc.Node{kind, doc.NewString("null", n.At)}, At: n.At}
	return n
}

// addOutputFields adds the selected fields of def to the properties in into.
// Fields of inline fragments are added beside the others.
func (s *Schema) addOutputFields(def *ast.Definition, set ast.SelectionSet, into *doc.Node) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			// A field that the type does not define is __typename, a string.
			n := doc.NewObject(into.At, doc.NewMember("type", doc.NewString("string", into.At)))
			if f := def.Fields.ForName(sel.Name); f != nil {
				n = s.outputSchema(f.Type, sel.SelectionSet)
			}
			if into.Get(sel.Alias) == nil {
				into.Members = append(into.Members, doc.NewMember(sel.Alias, n))
			}
		case *ast.InlineFragment:
			if on := s.types[sel.TypeCondition]; on != nil {
				s.addOutputFields(on, sel.SelectionSet, into)
			}
		}
	}
}

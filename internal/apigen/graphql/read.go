package graphql

import (
	"bytes"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readSDL reads a document in GraphQL's schema language. If the text is no
// schema, it returns the problems together with the error.
func readSDL(src doc.Source) (*doc.Document, []doc.Problem, error) {
	s, err := schemaFromSDL(src)
	if err != nil {
		return nil, s.problems, err
	}
	d, err := s.makeDocument(doc.GraphQL, src)
	return d, s.problems, err
}

// schemaFromSDL parses SDL. If the text is no schema, the returned Schema has
// only the problems.
func schemaFromSDL(src doc.Source) (*Schema, error) {
	s := &Schema{file: src.Name, meter: src.Meter()}
	parsed := s.parseSDL(string(src.Text))
	if len(parsed.Definitions)+len(parsed.Extensions) == 0 {
		return s, notGraphQLError(s.problems)
	}
	s.joinDefinitions(parsed)
	return s, nil
}

// ParseSchema reads a schema, in either notation, to check selections with. It makes
// no operations.
func ParseSchema(text []byte) (*Schema, error) {
	in := doc.Input{Source: doc.Source{Text: text}}
	if bytes.Contains(text, []byte("__schema")) {
		root, _ := in.ParseTree()
		if s, err := schemaFromIntrospection(in.Source, root); err == nil {
			return s, nil
		}
	}
	return schemaFromSDL(in.Source)
}

// notGraphQLError returns the error for a text that defines no type.
func notGraphQLError(problems []doc.Problem) error {
	why := "it defines no type"
	if len(problems) > 0 {
		why = problems[0].Message
	}
	return junctor.Errorf(junctor.CodeInvalid, "this is not a GraphQL schema: %s", why)
}

// makeDocument makes the Document of a schema: its operations and the saved
// ones of src. It ends the use of the meter.
func (s *Schema) makeDocument(format doc.Format, src doc.Source) (*doc.Document, error) {
	if s.rootType(ast.Query) == nil && s.rootType(ast.Mutation) == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this GraphQL schema has neither a query nor a mutation type")
	}
	d := &doc.Document{Format: format, Title: "GraphQL API", Schemas: s.collectInputs(), Operations: s.makeOperations()}
	for _, saved := range src.SavedOperations {
		d.Operations = append(d.Operations, s.readSaved(saved.Name, saved.Text)...)
	}
	// A schema never says at which address the API is.
	for _, op := range d.Operations {
		op.Incomplete = []doc.Code{doc.NoServer}
	}
	for _, def := range s.definitions {
		if def.Kind != ast.Object || slices.Contains([]string{s.rootTypes[ast.Query], s.rootTypes[ast.Mutation], s.rootTypes[ast.Subscription]}, def.Name) || strings.HasPrefix(def.Name, "__") {
			continue
		}
		m := doc.Model{Name: def.Name, At: s.positionOf(def.Position)}
		for _, f := range def.Fields {
			m.Fields = append(m.Fields, f.Name)
		}
		d.Models = append(d.Models, m)
	}
	d.Problems = s.problems
	s.meter = nil
	return d, nil
}

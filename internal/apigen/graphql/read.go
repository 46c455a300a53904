package graphql

import (
	"bytes"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Read reads a schema that is written in GraphQL's schema language. An error is
// that it is none.
func Read(src doc.Source) (*doc.Document, error) {
	d, _, err := readSDL(src)
	return d, err
}

// readSDL gives what is wrong with the text where it is no schema, too.
func readSDL(src doc.Source) (*doc.Document, []doc.Problem, error) {
	s, err := written(src)
	if err != nil {
		return nil, s.problems, err
	}
	d, err := s.document(doc.GraphQL, src)
	return d, s.problems, err
}

// written reads SDL. Where it is none, the schema has the problems alone.
func written(src doc.Source) (*Schema, error) {
	s := &Schema{file: src.Name, meter: src.Meter()}
	parsed := s.parse(string(src.Text))
	if len(parsed.Definitions)+len(parsed.Extensions) == 0 {
		return s, notGraphQL(s.problems)
	}
	s.join(parsed)
	return s, nil
}

// Parse reads a schema to check selections with, whichever way it is written.
func Parse(text []byte) (*Schema, error) {
	in := doc.Input{Source: doc.Source{Text: text}}
	if bytes.Contains(text, []byte("__schema")) {
		root, _ := in.Tree()
		if s, err := introspected(in.Source, root); err == nil {
			return s, nil
		}
	}
	return written(in.Source)
}

func notGraphQL(problems []doc.Problem) error {
	why := "it defines no type"
	if len(problems) > 0 {
		why = problems[0].Message
	}
	return junctor.Errorf(junctor.CodeInvalid, "this is no GraphQL schema: %s", why)
}

// document makes operations of a schema, and of what was saved for it.
func (s *Schema) document(format doc.Format, src doc.Source) (*doc.Document, error) {
	if s.root(ast.Query) == nil && s.root(ast.Mutation) == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this GraphQL schema has neither a query nor a mutation type")
	}
	d := &doc.Document{Format: format, Title: "GraphQL API", Schemas: s.inputs(), Operations: s.operations()}
	for _, saved := range src.Saved {
		d.Operations = append(d.Operations, s.saved(saved.Name, saved.Text)...)
	}
	for _, op := range d.Operations { // no schema says where it is served
		op.Incomplete = []doc.Code{doc.NoServer}
	}
	for _, def := range s.order {
		if def.Kind != ast.Object || slices.Contains([]string{s.roots[ast.Query], s.roots[ast.Mutation], s.roots[ast.Subscription]}, def.Name) || strings.HasPrefix(def.Name, "__") {
			continue
		}
		m := doc.Model{Name: def.Name, At: s.at(def.Position)}
		for _, f := range def.Fields {
			m.Fields = append(m.Fields, f.Name)
		}
		d.Models = append(d.Models, m)
	}
	d.Problems = s.problems
	s.meter = nil
	return d, nil
}

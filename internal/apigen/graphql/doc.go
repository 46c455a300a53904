// Package graphql reads a GraphQL schema, as SDL or as the answer to an
// introspection, into the model of internal/apigen/doc: an operation for each
// root field and for each leaf below a namespace of mutations, with a sensible
// selection; and saved operations as they were written.
//
// It takes what real schemas get wrong. A definition that cannot be parsed, a
// field that stands there twice, a type that is nowhere defined: each becomes a
// problem with its place, and the rest is read.
package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Codes of what is wrong with a schema.
const (
	codeSyntax       doc.Code = "graphql_syntax"
	codeDuplicate    doc.Code = "graphql_duplicate"
	codeUnknownType  doc.Code = "graphql_unknown_type"
	codeSubscription doc.Code = "graphql_subscription"
	codeNoOperation  doc.Code = "graphql_no_operation"
	codeSaved        doc.Code = "graphql_saved_operation"
)

// Schema is a GraphQL schema that was read. It is never changed.
type Schema struct {
	types         map[string]*ast.Definition
	definitions   []*ast.Definition
	possibleTypes map[string][]*ast.Definition // the object types of an interface or union, in the document's order
	rootTypes     map[ast.Operation]string     // the root type of each kind of operation
	queryTypes    map[string]bool              // the types that a query can lead to
	file          string
	problems      []doc.Problem
	meter         *doc.Meter // while the document is read
}

func (s *Schema) addProblem(at *ast.Position, pointer string, severity doc.Severity, code doc.Code, key, message, remedy string) {
	s.problems = append(s.problems, doc.Problem{
		At: s.positionOf(at), Pointer: pointer, Severity: severity, Code: code, Key: key, Message: message, Remedy: remedy,
	})
}

// positionOf is a place in the document. What has none is at its beginning.
func (s *Schema) positionOf(p *ast.Position) doc.Position {
	if p == nil || p.Line == 0 {
		return doc.Position{File: s.file, Line: 1, Column: 1}
	}
	return doc.Position{File: s.file, Line: int32(p.Line), Column: int32(max(1, p.Column))} //nolint:gosec // a document has at most 32 MB
}

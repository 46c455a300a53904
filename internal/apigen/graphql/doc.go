// Package graphql reads a GraphQL schema, as SDL or as the answer to an
// introspection query, into the model of internal/apigen/doc. It makes an
// operation of each root field and of each leaf below a namespace of mutations,
// with a default selection of fields. Saved operations become operations as
// they were written.
//
// It accepts common faults of real schemas. A definition that cannot be parsed,
// a duplicate field or an undefined type becomes a problem with its position,
// and the rest is read.
//
// apigen passes [Readers] to doc.Read. At a call it checks the caller's own
// selection with [ParseSchema] and [Schema.CheckSelection].
//
// Read the files in this order:
//   - readers.go and read.go: the entry points.
//   - parse.go, introspection.go and schema.go: from a text to a Schema.
//   - operations.go, namespace.go and saved.go: operations.
//   - inputschema.go and outputschema.go: JSON schemas of arguments and
//     answers.
//   - defaultselection.go and callerselection.go: the fields that an operation
//     asks for.
package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Codes of the problems of a schema.
const (
	codeSyntax       doc.Code = "graphql_syntax"
	codeDuplicate    doc.Code = "graphql_duplicate"
	codeUnknownType  doc.Code = "graphql_unknown_type"
	codeSubscription doc.Code = "graphql_subscription"
	codeNoOperation  doc.Code = "graphql_no_operation"
	codeSaved        doc.Code = "graphql_saved_operation"
)

// Schema is a GraphQL schema. It does not change once it is read and is then
// safe for concurrent use.
type Schema struct {
	// types are all types by name, those that every schema has included. After
	// joinDefinitions, every field and argument refers to one of them.
	types map[string]*ast.Definition
	// definitions are the defined types in the order of the document.
	definitions []*ast.Definition
	// possibleTypes are the object types of an interface or union, in the order
	// of the document.
	possibleTypes map[string][]*ast.Definition
	// rootTypes is the name of the root type for each kind of operation.
	rootTypes map[ast.Operation]string
	// queryTypes are the types that a query can reach. They are data, not
	// namespaces of mutations.
	queryTypes map[string]bool
	file       string
	problems   []doc.Problem
	// meter is set while the document is read.
	meter *doc.Meter
}

// addProblem adds a problem at a position of the parser, which may be nil.
func (s *Schema) addProblem(at *ast.Position, pointer string, severity doc.Severity, code doc.Code, key, message, remedy string) {
	s.problems = append(s.problems, doc.Problem{
		At: s.positionOf(at), Pointer: pointer, Severity: severity, Code: code, OperationKey: key, Message: message, Remedy: remedy,
	})
}

// positionOf returns a position of the parser as one of the document. A missing
// position is the start of the document.
func (s *Schema) positionOf(p *ast.Position) doc.Position {
	if p == nil || p.Line == 0 {
		return doc.Position{File: s.file, Line: 1, Column: 1}
	}
	return doc.Position{File: s.file, Line: int32(p.Line), Column: int32(max(1, p.Column))} //nolint:gosec // a document has at most 32 MB
}

// Package doc reads the documentation of an API, of any supported format, into
// one model: a [Document] with its operations and the position of each of them
// in the text. It never gives up on a document. A part that it cannot use
// becomes a [Problem] with a position and costs no other operation.
//
// apigen calls [Read] with the readers of apigen/graphql and apigen/rest beside
// those of this package. [apigen/tool] builds tools of the operations,
// [apigen/call] sends their requests. Nothing here knows MCP, and nothing here
// dials: other files of a document come through a [Fetch] that the caller
// provides.
//
// Read the files in this order:
//   - doc.go and operation.go: the model.
//   - read.go: how a reader is chosen.
//   - node.go, json.go and yaml.go: the text as a tree with positions.
//   - bundle.go and schema.go: references between files, and the translation of
//     schemas to JSON Schema 2020-12.
//   - paths.go with openapi.go and swagger.go: operations, and the two dialects
//     that differ in them.
//   - meter.go: the budget that ends work on hostile documents.
//
// [apigen/tool]: https://pkg.go.dev/github.com/junctor-mcp/junctor/internal/apigen/tool
// [apigen/call]: https://pkg.go.dev/github.com/junctor-mcp/junctor/internal/apigen/call
package doc

import "context"

// Format names the notation of a document. The value is part of the API and of
// stored servers.
type Format string

// The formats that a reader exists for, in this package, apigen/graphql or
// apigen/rest.
const (
	OpenAPI       Format = "openapi" // 3.0, 3.1 and 3.2
	Swagger       Format = "swagger" // 2.0
	GraphQL       Format = "graphql" // SDL
	Introspection Format = "graphql-introspection"
	Postman       Format = "postman"
	HAR           Format = "har"
	Curl          Format = "curl"
	Blueprint     Format = "api-blueprint"
	Markdown      Format = "markdown"
	HTML          Format = "html"
	Table         Format = "table" // filled in by a person
)

// Source is the text of a document and its origin.
type Source struct {
	// Name is a file name or URL. Diagnostics show it.
	Name string
	// URL is the address against which relative references and servers are
	// resolved. It is empty for a document without an address, such as an
	// upload; such a document can refer to no other file.
	URL  string
	Text []byte
	// As restricts reading to one format. Empty tries every reader.
	Format Format

	// Saved are GraphQL operations, or manifests of persisted ones, that the
	// user wrote for the API. Each becomes an operation unchanged.
	SavedOperations []Source

	meter *Meter
}

// Meter returns the budget of the read that this source belongs to. It is nil
// outside of a read, and a nil Meter bounds nothing.
func (s *Source) Meter() *Meter { return s.meter }

// Fetch loads another file of the same document. The caller decides in it which
// addresses may be fetched at all, since a document can name any. Its error
// becomes a Problem; reading goes on.
type Fetch func(ctx context.Context, url string) ([]byte, error)

// Document is the result of reading: everything that the tools of an API are
// built from. Schemas stays usable after the read and is safe for concurrent
// use.
type Document struct {
	Format Format
	// Version is the version of the format, such as 3.1.0.
	Version string
	Title   string
	// Edition is the version of the API itself.
	APIVersion  string
	Description string
	Servers     []Server
	// Schemes are the ways to authenticate, by the name that the document gives
	// them. Requirements refer to these names.
	Schemes map[string]Scheme
	// Operations are in the order of the document.
	Operations []*Operation
	// Schemas resolves the $refs inside the schemas of operations.
	Schemas Schemas
	// Models are the named data models. Only previews show them.
	Models []Model
	// Problems are all problems, those of operations included, sorted by
	// position.
	Problems []Problem
	// Tried has one attempt for each reader that looked at the text. The last
	// one is the reader of Format.
	Attempts []Attempt
}

// Attempt is the outcome of one reader: it took the document, or it says why
// not.
type Attempt struct {
	Format   Format `json:"format"`
	Accepted bool   `json:"took"`
	// Reason is why the reader did not take the document.
	Reason string `json:"reason,omitempty"`
}

// Model is a data model that the document names. Fields lists its own
// properties only, not those of schemas that it refers to.
type Model struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields,omitempty"`
	At     Position `json:"at"`
}

// Position is a place in a document. Line and Column begin at 1.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int32  `json:"line"`
	Column int32  `json:"column"`
}

// Severity is how much a problem costs. The value is part of the API.
type Severity string

// The severities, from the worst to the mildest.
const (
	Error   Severity = "error"   // something is left out or cannot be called
	Warning Severity = "warning" // something was guessed or repaired
	Hint    Severity = "hint"    // it works, and could be better
)

// Code names a kind of problem. The value is part of the API and of stored
// tools.
type Code string

// Codes that several readers share. Operation.Incomplete and Operation.Partial
// hold the codes that keep an operation from being called, or that leave
// something unknown.
const (
	UnresolvedRef       Code = "unresolved_ref"
	ExternalRefBlocked  Code = "external_ref_blocked"
	NoServer            Code = "no_server"
	UnsupportedMedia    Code = "unsupported_media"
	PathParamUndeclared Code = "path_param_undeclared"
	SchemaTruncated     Code = "schema_truncated"
	DuplicatePath       Code = "duplicate_path"
	Syntax              Code = "syntax"          // the text breaks the rules of its format
	Repaired            Code = "repaired"        // the text was changed before it could be read
	DuplicateKey        Code = "duplicate_key"   // one object has a member twice
	WrongType           Code = "wrong_type"      // such as a string in the place of a list
	Missing             Code = "missing"         // a part that the format requires
	UnknownValue        Code = "unknown_value"   // a value that the format does not define
	DuplicateID         Code = "duplicate_id"    // two operations have one operationId
	UnknownMethod       Code = "unknown_method"  // the method is unknown, and no operation is made of it
	UnreadEndpoint      Code = "unread_endpoint" // a line names an endpoint that no operation is made of
	BodyUnknown         Code = "body_unknown"    // the operation takes a body of unknown content
	TooLarge            Code = "too_large"
)

// Problem is a fault or gap in a document, or a guess of a reader. Message and
// Remedy are sentences for users: the first says what is wrong, the second what
// to change.
type Problem struct {
	At Position `json:"at"`
	// Pointer is a JSON pointer to the value. It is empty in formats that have
	// none.
	Pointer  string   `json:"pointer"`
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
	// Key is the Key of the operation that the problem belongs to; empty for a
	// problem of the whole document.
	OperationKey string `json:"operation,omitempty"`
}

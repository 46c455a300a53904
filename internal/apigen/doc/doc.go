// Package doc reads the documentation of an API, whatever its format, into one
// model: operations, with where in the text each of them stands. It never gives
// up on a document: what it cannot use becomes a [Problem] with a place, and
// costs no other operation.
//
// [apigen/tool] makes tools of what is read here, [apigen/call] sends their
// requests. Nothing here knows of MCP, and nothing here dials: other files of a
// document come through a [Fetch] that its user gives.
//
// [apigen/tool]: https://pkg.go.dev/github.com/junctor-mcp/junctor/internal/apigen/tool
// [apigen/call]: https://pkg.go.dev/github.com/junctor-mcp/junctor/internal/apigen/call
package doc

import "context"

// Format is how a document is written.
type Format string

// Formats that are read.
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

// Source is a document's text and where it comes from.
type Source struct {
	Name string // a file name or URL, as diagnostics show it
	URL  string // what relative references and servers are resolved against; "" where it has none
	Text []byte
	As   Format // "" is whatever it turns out to be

	// Saved are GraphQL operations, or manifests of persisted ones, that somebody
	// wrote for the API: they become operations as they are.
	Saved []Source

	meter *Meter
}

// Meter bounds the work on the document; nil does not.
func (s *Source) Meter() *Meter { return s.meter }

// Fetch brings another file of the same document. It decides what may be
// fetched at all; its error becomes a Problem.
type Fetch func(ctx context.Context, url string) ([]byte, error)

// Document is what was read.
type Document struct {
	Format      Format
	Version     string // of the format, such as 3.1.0
	Title       string
	Edition     string // of the API itself
	Description string
	Servers     []Server
	Schemes     map[string]Scheme // by the name the document gives them
	Operations  []*Operation      // as they stand in the document
	Schemas     Schemas           // where the $refs of operations lead
	Models      []Model           // the data models, for people to look at
	Problems    []Problem         // all of them, those of operations included, by place
	Tried       []Attempt         // one for each reader that looked at the text, the last is that of Format
}

// Attempt is how one reader fared.
type Attempt struct {
	Format Format `json:"format"`
	Took   bool   `json:"took"`
	Reason string `json:"reason,omitempty"` // why it did not take the document
}

// Model is a data model that the document names.
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

// Severity says how bad a problem is.
type Severity string

// Severities.
const (
	Error   Severity = "error"   // something is left out or cannot be called
	Warning Severity = "warning" // something was guessed or repaired
	Hint    Severity = "hint"    // it works, and could be better
)

// Code names a kind of problem.
type Code string

// Codes that several readers share. An operation that has one of the first four
// for something it cannot be called without is incomplete.
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
	DuplicateKey        Code = "duplicate_key"   // a member stands there twice
	WrongType           Code = "wrong_type"      // such as a string where a list belongs
	Missing             Code = "missing"         // something that the format wants
	UnknownValue        Code = "unknown_value"   // a word that the format does not have
	DuplicateID         Code = "duplicate_id"    // two operations of one operationId
	UnknownMethod       Code = "unknown_method"  // no operation is made of it
	UnreadEndpoint      Code = "unread_endpoint" // a line names an endpoint that no operation is made of
	BodyUnknown         Code = "body_unknown"    // a body is taken, and nothing says what is in it
	TooLarge            Code = "too_large"
)

// Problem is something in a document that is wrong, missing or was guessed.
type Problem struct {
	At       Position `json:"at"`
	Pointer  string   `json:"pointer"` // JSON pointer, where the format has any
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
	Key      string   `json:"operation,omitempty"` // Key of the operation it belongs to
}

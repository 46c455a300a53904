// Package rest reads documentation of an API that has no schema: saved or
// recorded requests (Postman, HAR, curl), and prose (API Blueprint, Markdown,
// HTML, a table that a user filled in). Every format becomes a list of example
// requests. Requests of one method and path are joined into an operation of
// internal/apigen/doc, whose schemas are inferred from the values.
//
// Recordings contain secrets. A request keeps only the names and types of its
// values; the values of cookies, tokens and passwords are never kept.
//
// apigen passes [Readers] to doc.Read.
//
// Read the files in this order:
//   - doc.go, shape.go, requesturl.go, requestparam.go and requestbody.go: an
//     example request.
//   - document.go: from requests to operations.
//   - table.go, postman.go, har.go, blueprint.go, and curl.go with shell.go:
//     one reader each.
//   - markdown.go, html.go and htmlparser.go: from a page to blocks.
//   - page.go with pagebase.go, pagecode.go and pagetable.go: from blocks to
//     requests.
//   - mention.go and patterns.go: how a text names an endpoint.
//   - unreadlines.go: endpoints that no reader understood.
package rest

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Readers returns the readers of this package in the order to try them. Formats
// that identify themselves come first; Markdown, which accepts any text, comes
// last.
func Readers() []doc.Reader {
	return []doc.Reader{
		{Format: doc.Table, Read: readTable},
		{Format: doc.Postman, Read: readPostman},
		{Format: doc.HAR, Read: readHAR},
		{Format: doc.Blueprint, Read: withoutContext(readBlueprint)},
		{Format: doc.Curl, Read: withoutContext(readCurl)},
		{Format: doc.HTML, Read: readHTML},
		{Format: doc.Markdown, Read: withoutContext(readMarkdown)},
	}
}

// withoutContext adapts a reader that fetches nothing.
func withoutContext(read func(in *doc.Input) (*doc.Document, string)) func(context.Context, *doc.Input) (*doc.Document, string) {
	return func(_ context.Context, in *doc.Input) (*doc.Document, string) { return read(in) }
}

// request is one request that a user made, or wrote down as an example.
type request struct {
	method string
	// base is the scheme and host, with any path that all requests share; empty
	// if the document does not say it.
	base string
	// path are the segments of the URL's path.
	path []pathSegment
	// trailingSlash is set if the path ends in a slash.
	trailingSlash bool
	query         []requestField
	headers       []requestField
	body          *requestBody
	// name is the title of the request.
	name        string
	description string
	// tags are the groups that the request is in: folders or headings.
	tags []string
	// schemes are the ways in which the request authenticated itself.
	schemes map[string]doc.Scheme
	// answers are responses that were recorded or described. makeDocument joins
	// those of one status.
	answers []responseExample
	at      doc.Position

	// described marks a request that a page names, but does not show by an
	// example. Its path is a template.
	described bool
	// relative is set if the page names the request without its base.
	relative bool
	// baseIndex is the index of the page's base that applies at this place.
	baseIndex int
	// section is the number of the heading above the request.
	section int
	// host is the host that an example is sent to, by its Host header.
	host string
}

// pathSegment is a segment of a path: text with parameters in braces. params
// are the parameters in text.
type pathSegment struct {
	text   string
	params []requestField // those in text, by name
}

// requestField is a named value of a request: a parameter or a field of a form.
type requestField struct {
	name        string
	description string
	// shape is the shape of its values.
	shape *valueShape
	// required is set if the document says so. Both required and optional may
	// be unset.
	required bool
	// optional is set if the document says so.
	optional bool
	// file marks a file of a multipart body.
	file bool
	at   doc.Position
}

// requestBody is the body of a request. JSON has a shape, a form has fields.
type requestBody struct {
	media  string
	shape  *valueShape    // of JSON
	fields []requestField // of a form
	at     doc.Position
}

// responseExample is a response that was recorded or described.
type responseExample struct {
	status, description, media string
	shape                      *valueShape
}

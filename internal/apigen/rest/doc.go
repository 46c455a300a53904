// Package rest reads what people write about an API without a schema: requests
// that were saved or recorded (Postman, HAR, curl), and prose (API Blueprint,
// Markdown, HTML, a table that a person filled in). Each becomes requests by
// example; those of one method and path are joined into an operation of
// internal/apigen/doc, whose schemas are inferred from what was seen.
//
// What was recorded holds secrets. A request keeps only the names and kinds of
// what it carried; values of cookies, tokens and passwords are read past.
package rest

import (
	"context"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Readers are the readers of this package, in the order to try them: the more a
// format says about itself, the earlier.
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

// withoutContext is a reader that needs the text alone.
func withoutContext(read func(in *doc.Input) (*doc.Document, string)) func(context.Context, *doc.Input) (*doc.Document, string) {
	return func(_ context.Context, in *doc.Input) (*doc.Document, string) { return read(in) }
}

// request is one request that somebody made, or wrote down as an example.
type request struct {
	method        string
	base          string        // scheme and host, with any path that all share; "" where it is not said
	path          []pathSegment // of the URL's path
	trailingSlash bool          // the path ends in one
	query         []requestField
	headers       []requestField
	body          *requestBody
	name          string // what people call it
	description   string
	tags          []string
	schemes       map[string]doc.Scheme // how it showed who it is from
	answers       []responseExample
	at            doc.Position

	// Of requests that a page names or shows.
	described bool   // named, and not shown by an example
	relative  bool   // the page names it without its base
	baseIndex int    // the base of the page that holds there
	section   int    // number of the heading that it stands under
	host      string // that an example is sent to
}

// pathSegment is a part of a path: text that stands for itself, with parameters in
// braces.
type pathSegment struct {
	text   string
	params []requestField // those in text, by name
}

// requestField is a named value of a request.
type requestField struct {
	name        string
	description string
	shape       *valueShape // of its values
	required    bool        // somebody says so
	optional    bool        // somebody says so
	file        bool        // of a multipart body
	at          doc.Position
}

// requestBody is a request's body.
type requestBody struct {
	media  string
	shape  *valueShape    // of JSON
	fields []requestField // of a form
	at     doc.Position
}

// responseExample is a response that was seen or described.
type responseExample struct {
	status, description, media string
	shape                      *valueShape
}

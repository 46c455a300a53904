// Package call sends the calls of generated tools. A [Plan] says where each
// argument goes in the request, a [Sender] sends the request, and a [ResultBuilder]
// turns the answer into the result of a tool.
//
// apigen/tool makes plans beside the schemas, and both are stored together:
// nothing is derived from the name of an argument when it is sent. apigen calls
// this package. All requests leave through a client of internal/egress.
//
// Read the files in this order:
//   - plan.go: the stored form.
//   - request.go with style.go, value.go, body.go and graphql.go: from
//     arguments to a request.
//   - send.go and pacer.go: sending, retries and credentials.
//   - answer.go with truncate.go, refusal.go and paging.go: from an answer to a
//     result.
package call

// Plan maps each argument of a tool goes in the request. It is stored as JSON
// with the tool.
type Plan struct {
	Method string `json:"method"`
	// Base is the URL of the operation's own server. It is empty if that is the
	// server of the API.
	Base string `json:"base,omitempty"`
	// Path is a template with {key}. Each variable has an Arg in place Path.
	Path string `json:"path"`
	// Query is a fixed, encoded query.
	Query  string `json:"query,omitempty"`
	Args   []Arg  `json:"args,omitempty"`
	Body   *Body  `json:"body,omitempty"`
	Accept string `json:"accept,omitempty"`
	// Security are the alternatives to authenticate. If it is empty, the
	// document says nothing, and the credential of the server is sent, whatever
	// it is.
	Security [][]SecurityRequirement `json:"security,omitempty"`
	GraphQL  *GraphQL                `json:"graphql,omitempty"`
	// Wrapped is set if the output schema holds the answer under "result".
	WrapsResult bool    `json:"wrapped,omitempty"`
	Paging      *Paging `json:"paging,omitempty"`
}

// Place is the part of a request that an argument is sent in. The value is
// stored.
type Place string

// The places of arguments.
const (
	Path        Place = "path"
	Query       Place = "query"
	Header      Place = "header"
	Cookie      Place = "cookie"
	QueryString Place = "querystring" // the whole query, in the type of Media
	Field       Place = "field"       // a member of the body
	WholeBody   Place = "body"        // the body itself
	Variable    Place = "variable"    // of a GraphQL operation
)

// Arg is the place of one argument in the request.
type Arg struct {
	// Name is the name in the schema of the tool.
	Name string `json:"name"`
	// Key is the name in the request.
	Key           string `json:"key"`
	Place         Place  `json:"place"`
	Style         string `json:"style,omitempty"`
	Explode       bool   `json:"explode,omitempty"`
	AllowReserved bool   `json:"reserved,omitempty"`
	// Media is set if the value is one text of this media type, instead of
	// Style. For a multipart field it is the type of the part.
	Media string `json:"media,omitempty"`
	// File marks {filename, mimeType, data_base64} or a text that is sent as a
	// file. apigen replaces {resource} by the content before it calls Build.
	File bool `json:"file,omitempty"`
	// Scheme names the security scheme whose token the document declares as
	// this parameter. The argument is hidden while a credential is bound to it.
	Scheme string `json:"scheme,omitempty"`
}

// Body is how the request body is encoded.
type Body struct {
	Media string `json:"media"`
	// Required sends an empty object if no argument is given.
	Required bool `json:"required,omitempty"`
}

// SecurityRequirement is one security scheme of the document that an alternative requires.
type SecurityRequirement struct {
	Scheme string   `json:"scheme"`
	Scopes []string `json:"scopes,omitempty"`
}

// GraphQL is the operation that is posted: Head, Selection and Tail, one after
// the other. Arguments are its variables; one that is not given is left out.
type GraphQL struct {
	Head string `json:"head"`
	// Selection is replaced by the caller's _select, if there is one.
	Selection string `json:"selection,omitempty"`
	Tail      string `json:"tail,omitempty"`
	Operation string `json:"operation"`
	// Path leads from data to the value; empty means all of data.
	Path []string `json:"path,omitempty"`
	// Select is the type that _select chooses fields of; empty means that there
	// is no choice.
	SelectType string `json:"select,omitempty"`
}

// Paging is how the next page is requested.
type Paging struct {
	// Arg is the argument that selects the page.
	Arg string `json:"arg"`
	// Kind is cursor, page or offset.
	Kind string `json:"kind"`
	// Cursor is the JSON pointer, in the answer, to the next value of the
	// argument.
	Cursor string `json:"cursor,omitempty"`
}

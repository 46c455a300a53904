// Package call sends what a generated tool is called with: a [Plan] says where
// each argument goes in the request, and an answer becomes the result of a tool.
//
// Plans are made by apigen/tool beside the schemas and are stored with them:
// nothing is derived from an argument's name when it is sent. All requests leave
// through a client that internal/egress made.
package call

// Plan says where each argument of a tool goes in the request. It is stored as
// JSON with the tool.
type Plan struct {
	Method   string   `json:"method"`
	Base     string   `json:"base,omitempty"`  // URL of the operation's own server, where that is not the API's
	Path     string   `json:"path"`            // template with {key}
	Query    string   `json:"query,omitempty"` // fixed
	Args     []Arg    `json:"args,omitempty"`
	Body     *Body    `json:"body,omitempty"`
	Accept   string   `json:"accept,omitempty"`
	Security [][]Need `json:"security,omitempty"` // alternatives; none is whatever credential the server has
	GraphQL  *GraphQL `json:"graphql,omitempty"`
	Wrapped  bool     `json:"wrapped,omitempty"` // the output schema holds the answer under "result"
	Paging   *Paging  `json:"paging,omitempty"`
}

// Place is where an argument goes.
type Place string

// Places of arguments.
const (
	Path        Place = "path"
	Query       Place = "query"
	Header      Place = "header"
	Cookie      Place = "cookie"
	QueryString Place = "querystring" // the whole query, as Media says
	Field       Place = "field"       // a member of the body
	Whole       Place = "body"        // the body itself
	Variable    Place = "variable"    // of a GraphQL operation
)

// Arg is where one argument goes.
type Arg struct {
	Name     string `json:"name"` // in the tool's schema
	Key      string `json:"key"`  // on the wire
	Place    Place  `json:"place"`
	Style    string `json:"style,omitempty"`
	Explode  bool   `json:"explode,omitempty"`
	Reserved bool   `json:"reserved,omitempty"`
	Media    string `json:"media,omitempty"`  // one text of this type instead of Style; of a multipart field its own type
	File     bool   `json:"file,omitempty"`   // {filename, mimeType, data_base64} or a text, sent as a file; apigen puts the content of {resource} there
	Scheme   string `json:"scheme,omitempty"` // a token that the document has as a parameter: hidden while a credential is bound to it
}

// Body is how the body is written.
type Body struct {
	Media    string `json:"media"`
	Required bool   `json:"required,omitempty"` // sent as an empty object, even where no argument is given
}

// Need is one scheme of the document that an alternative needs.
type Need struct {
	Scheme string   `json:"scheme"`
	Scopes []string `json:"scopes,omitempty"`
}

// GraphQL is the operation that is posted: Head, Selection and Tail, one after
// another. Arguments are its variables; one that is not given is left out.
type GraphQL struct {
	Head      string   `json:"head"`
	Selection string   `json:"selection,omitempty"` // what the caller's _select stands instead of
	Tail      string   `json:"tail,omitempty"`
	Operation string   `json:"operation"`
	Path      []string `json:"path,omitempty"`   // of the value below data; empty is all of it
	Select    string   `json:"select,omitempty"` // the type that _select chooses fields of; "" is no choice
}

// Paging says how the next page is asked for.
type Paging struct {
	Arg    string `json:"arg"`              // argument that takes it
	Kind   string `json:"kind"`             // cursor, page or offset
	Cursor string `json:"cursor,omitempty"` // JSON pointer in the answer to what the argument takes next
}

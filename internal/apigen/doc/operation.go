package doc

import "strings"

// Operation is one action of an API, in the form that all formats are read
// into. apigen/tool builds one tool of each.
type Operation struct {
	// Key is the method and the path as the document has it. It identifies the
	// operation when the document is read again: names, edits and problems
	// refer to it.
	Key string
	// ID is the operationId, the path of a GraphQL field or the name of a saved
	// request. It is empty if the document has none.
	ID     string
	Method string // upper case
	// Path is a template with {name}, without fragment and query.
	Path string
	// Query is a fixed query that the path contained, without "?".
	Query       string
	Summary     string
	Description string
	Tags        []string
	Deprecated  bool
	Params      []Param
	// Body is nil if the operation takes none.
	Body      *Body
	Responses []Response
	// Servers are the servers of this operation; the first one is used. It is
	// empty with Code no_server.
	Servers []Server
	// Security are alternatives, each with all requirements that it has. An
	// empty alternative means that no authentication is required.
	Security [][]Requirement
	// Secured is set if the document declares Security, even if it declares
	// that none is required.
	DeclaresSecurity bool
	// Field is set for a GraphQL operation. It is sent instead of Method, Path
	// and Body.
	GraphQL *GraphQLField
	// Inferred marks an operation that was read from examples or prose and is
	// not declared.
	Inferred bool
	At       Position
	// Incomplete is why the operation cannot be called as it is. It is empty
	// if it can.
	Incomplete []Code
	// Partial is what is unknown of an operation that can be called.
	Partial []Code
}

// Place is the part of a request that a parameter is sent in.
type Place string

// The places of parameters.
const (
	InPath        Place = "path"
	InQuery       Place = "query"
	InHeader      Place = "header"
	InCookie      Place = "cookie"
	InQueryString Place = "querystring" // the whole query (3.2)
	InVariable    Place = "variable"    // of a GraphQL operation
)

// Param is a parameter of an operation.
type Param struct {
	Name        string
	In          Place
	Description string
	Required    bool
	Deprecated  bool
	// Style is never empty: readers fill in the default of the place.
	Style   string
	Explode bool
	// Reserved says that reserved characters are sent unencoded.
	AllowReserved bool
	// Media is set if the value is sent as one text of this media type. If it
	// is empty, Style decides.
	Media  string
	Schema *Node
	At     Position
}

// Body is the request body of an operation: one of several media types.
type Body struct {
	Required bool
	// Declared is set if the document says whether the body is required.
	DeclaresRequired bool
	Description      string
	// Contents are in the order of the document. apigen/tool chooses one.
	Contents []Content
	At       Position
}

// Content is one media type of a body.
type Content struct {
	Media string
	// Schema is nil if the document has none.
	Schema *Node
	// Item is the itemSchema of a sequence (OpenAPI 3.2).
	ItemSchema *Node
	// Encoding defines how single fields of forms and multipart bodies are
	// sent, by field.
	Encoding map[string]Encoding
}

// Encoding is how one field of a form is sent. Empty members mean the
// default.
type Encoding struct {
	Media         string
	Style         string // "" is the default
	Explode       *bool
	AllowReserved bool
}

// Response is one response that the document describes.
type Response struct {
	// Status is a status such as "200", a range such as "2XX", or "default".
	Status      string
	Description string
	Contents    []Content
}

// Server is an address of the API. A relative URL of the document is already
// resolved.
type Server struct {
	URL         string // with {variables}
	Description string
	Variables   []Variable
}

// Variable is a {variable} of a server's URL.
type Variable struct {
	Name, Default, Description string
	Enum                       []string
}

// Scheme is a way to authenticate.
type Scheme struct {
	Type        string // apiKey, basic, bearer, oauth2, openIdConnect, mutualTLS
	In          Place  // of an apiKey
	Name        string // of the header, query parameter or cookie of an apiKey
	Description string
	TokenURL    string            // of oauth2
	AuthURL     string            // of oauth2
	Flows       []string          // of oauth2: clientCredentials, authorizationCode, …
	Scopes      map[string]string // of oauth2: descriptions by name
}

// Requirement is one scheme that an alternative requires. Scheme is a key of
// Document.Schemes.
type Requirement struct {
	Scheme string
	Scopes []string
}

// GraphQLField is a GraphQL operation: a root field, a leaf below a namespace of
// mutations, or a saved operation. The text of a request is Head, Selection and
// Tail, one after the other. Its variables are the Params of the operation.
type GraphQLField struct {
	Head string
	// Selection has its braces. It is empty if the value is a leaf or the
	// operation is a saved one.
	Selection string
	Tail      string
	// Name is the name of the operation in the text.
	Name string
	// Path leads from data to the value of the field. It is empty if all of
	// data is the answer.
	Path []string
	// Returns is the type that a caller's own selection chooses fields of. It
	// is empty if there is no choice.
	ReturnType string
	Mutation   bool
	// Saved marks an operation that the user wrote. Its selection is never
	// replaced.
	IsSaved bool
}

// Address returns the URL of the server with its variables filled in: by
// values, or else by their defaults. It has no trailing slash.
func (s Server) Address(values map[string]string) string {
	url := s.URL
	for _, v := range s.Variables {
		value, ok := values[v.Name]
		if !ok {
			value = v.Default
		}
		url = strings.ReplaceAll(url, "{"+v.Name+"}", value)
	}
	return strings.TrimSuffix(url, "/")
}

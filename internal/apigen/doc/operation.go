package doc

import "strings"

// Operation is one thing that an API can do, as all formats say it.
type Operation struct {
	Key         string // METHOD and path as the document has it: what it is known by when the document is read again
	ID          string // operationId, GraphQL field path, name of a request; "" where it has none
	Method      string // upper case
	Path        string // template with {name}; no fragment and no query
	Query       string // fixed query that the path came with, without "?"
	Summary     string
	Description string
	Tags        []string
	Deprecated  bool
	Params      []Param
	Body        *Body // nil where it takes none
	Responses   []Response
	Servers     []Server        // that hold for it, the first is used; empty with Code no_server
	Security    [][]Requirement // alternatives, each with all that it needs; an empty alternative is "none"
	Secured     bool            // the document says something of Security, even that none is needed
	Field       *Field          // of a GraphQL operation: what is sent instead of all of the above
	Inferred    bool            // read out of examples or prose, not declared
	At          Position
	Incomplete  []Code // why it cannot be called as it is; empty is ready
	Partial     []Code // what is not known of one that can be called; empty is whole
}

// Place is where in a request something goes.
type Place string

// Places of parameters.
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
	Style       string // never "": the default of its place is filled in
	Explode     bool
	Reserved    bool   // reserved characters are sent as they are
	Media       string // the value is sent as one text of this type; "" is by Style
	Schema      *Node
	At          Position
}

// Body is what an operation takes as its request's body: one of several kinds.
type Body struct {
	Required    bool
	Declared    bool // the document says whether it is required
	Description string
	Contents    []Content // as they stand in the document
	At          Position
}

// Content is one media type of a body.
type Content struct {
	Media    string
	Schema   *Node               // nil where none is given
	Item     *Node               // itemSchema of a sequence (3.2)
	Encoding map[string]Encoding // by field, of forms and multipart
}

// Encoding is how one field of a form is sent.
type Encoding struct {
	Media    string
	Style    string // "" is by default
	Explode  *bool
	Reserved bool
}

// Response is what an operation may answer.
type Response struct {
	Status      string // "200", "2XX" or "default"
	Description string
	Contents    []Content
}

// Server is where an API is. Relative URLs are resolved already.
type Server struct {
	URL         string // with {variables}
	Description string
	Variables   []Variable
}

// Variable is a part of a server's URL.
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
	Scopes      map[string]string // of oauth2: name and what it allows
}

// Requirement is one scheme that an alternative needs.
type Requirement struct {
	Scheme string
	Scopes []string
}

// Field is a GraphQL operation: a root field, or a leaf below a namespace of
// mutations, or a saved operation. What is sent is Head, Selection and Tail, one
// after another; its variables are the operation's Params.
type Field struct {
	Head      string
	Selection string // with its braces; "" where the value is a leaf or the operation is a saved one
	Tail      string
	Name      string   // of the operation in the text
	Path      []string // of the value below data; empty where all of data is the answer
	Returns   string   // the type that another Selection would choose from; "" is no choice
	Mutation  bool
	Saved     bool // somebody wrote it down: it needs no choosing
}

// Address is the server's URL with its variables filled in: by values, or by
// their defaults.
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

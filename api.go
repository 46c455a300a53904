package junctor

import (
	"net/url"
	"slices"
	"time"
)

// Exposure is how lists show the tools of servers to MCP clients.
type Exposure string

// The exposures.
const (
	ExposureAuto   Exposure = "auto"   // all, or search if there are too many tools and the client does not search by itself
	ExposureAll    Exposure = "all"    // every tool is listed
	ExposureSearch Exposure = "search" // only three tools are listed: to find, to describe and to call the others
)

// CheckExposure returns an error that lists the exposures if e is not one of
// them. Empty is valid and means that something else decides.
func CheckExposure(e Exposure) error {
	switch e {
	case "", ExposureAuto, ExposureAll, ExposureSearch:
		return nil
	}
	return Errorf(CodeInvalid, "unknown exposure %q; use auto, all or search", string(e))
}

// API is the definition of a generated server, without the document itself
// (APIDocument): its settings, and what was read from the document.
type API struct {
	APISettings
	Title    string `json:"title,omitempty"`     // title in the document
	Version  string `json:"version,omitempty"`   // version in the document
	KeyIn    string `json:"key_in,omitempty"`    // place of the API key: header, query or cookie; "" is header
	KeyName  string `json:"key_name,omitempty"`  // name of the header, query parameter or cookie
	LoginURL string `json:"login_url,omitempty"` // authorization endpoint in the document, for auth type oauth
	TokenURL string `json:"token_url,omitempty"` // token endpoint in the document, for auth type oauth
}

// APISettings is what a user sets of a generated server. The tags are those of
// Field; as with Connection, the file, the API, diffs and flags follow from them.
type APISettings struct {
	DocumentURL string   `json:"document_url,omitempty" maxLength:"4096" text:"url" doc:"URL of the API's documentation, instead of document. Only for auto-generated servers."`
	Format      string   `json:"format,omitempty" doc:"Format of the API's documentation: openapi, graphql, postman, har, curl, api-blueprint, markdown or html. By default detected. Only for auto-generated servers."`
	Exposure    Exposure `json:"exposure,omitempty" enum:"auto,all,search" empty:"auto" flag:"exposure" doc:"How the tools are listed: all (every tool), search (three tools that find, describe and call the others) or auto (search above 128 tools or 256 KB, unless the client has its own tool search). By default auto. Only for auto-generated servers."`
	Include     []string `json:"include,omitempty" maxItems:"256" flag:"include rule" doc:"Rule that selects the operations that become tools of a generated server: GET, /pets/**, GET /pets/*, tag:pets, op:list*, deprecated or ~expression; a leading ! excludes them. The first rule that matches decides. By default all but deprecated ones."`
	Mutations   string   `json:"mutations,omitempty" enum:"none,explicit,all" empty:"none" flag:"mutations" doc:"Mutations of a GraphQL API that become tools: none, explicit (those that include names) or all. By default none."`
	Rate        float64  `json:"rate,omitempty" minimum:"0" maximum:"1000000" flag:"rate number" doc:"Maximum number of requests per second to the API of a generated server. 0 is no limit."`
	PollMinutes int      `json:"poll_minutes,omitempty" minimum:"0" maximum:"44640" flag:"poll minutes" doc:"Minutes between checks of the URL for a changed document; 0 means never. Only for auto-generated servers."`
}

// Check returns an error that names the first invalid member, if there is one.
func (a *API) Check() error {
	fault := func(format string, args ...any) error { return Errorf(CodeInvalid, format, args...) }
	if a == nil {
		return nil
	}
	if err := CheckFields(a.APISettings); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"", "header", "query", "cookie"}, a.KeyIn):
		return fault("unknown key_in %q; use header, query or cookie", a.KeyIn)
	case a.PollMinutes > 0 && a.DocumentURL == "":
		return fault("poll_minutes requires document_url")
	case a.DocumentURL != "" && CheckServerURL(a.DocumentURL) != nil && !a.FromFile():
		return fault("document_url is not a valid URL; write it as https://host/openapi.yaml")
	}
	return nil
}

// FromFile reports whether the document is a local file. It compares the parsed
// scheme, because FILE: is file: too.
func (a *API) FromFile() bool {
	u, err := url.Parse(a.DocumentURL)
	return err == nil && u.Scheme == "file"
}

// APIPreview is the server that a document yields, before or after it is saved.
type APIPreview struct {
	Format      string        `json:"format"`
	Version     string        `json:"version,omitempty"`
	Title       string        `json:"title,omitempty"`
	Edition     string        `json:"edition,omitempty"`
	Description string        `json:"description,omitempty"`
	BaseURL     string        `json:"base_url,omitempty"` // base URL of the calls
	Bases       []string      `json:"bases,omitempty"`    // base URLs in the document
	Auth        []APIAuth     `json:"auth" nullable:"false"`
	Endpoints   []APIEndpoint `json:"endpoints" nullable:"false"`
	Models      []APIModel    `json:"models" nullable:"false"`
	Problems    []APIProblem  `json:"problems" nullable:"false"`
	Tried       []APIAttempt  `json:"tried" nullable:"false"`
	File        string        `json:"file,omitempty"` // name of the document in the list of problems
	Ready       int           `json:"ready"`          // endpoints with a complete tool
	Incomplete  int           `json:"incomplete"`     // endpoints that lack information, with reasons
	Partial     int           `json:"partial"`        // those of Incomplete that are tools anyway
	Excluded    int           `json:"excluded"`       // endpoints that Include does not select
	Tokens      int           `json:"tokens"`         // estimated size of the list of all tools, in tokens
	Exposure    Exposure      `json:"exposure"`       // the exposure that auto chooses
	Changes     []APIChange   `json:"changes,omitempty" nullable:"false"`
}

// APIAuth is one security scheme that a document declares.
type APIAuth struct {
	Scheme      string   `json:"scheme"` // name in the document
	Type        string   `json:"type"`   // apiKey, basic, bearer, oauth2…
	Suggested   AuthType `json:"suggested,omitempty"`
	In          string   `json:"in,omitempty"`
	Name        string   `json:"name,omitempty"`
	TokenURL    string   `json:"token_url,omitempty"`
	Description string   `json:"description,omitempty"`
	Operations  int      `json:"operations"` // number of operations that require it
}

// APIEndpoint is one operation of a document, and the tool made from it.
type APIEndpoint struct {
	Key         string   `json:"key"` // method and path
	Status      string   `json:"status" enum:"ready,incomplete,excluded"`
	Reasons     []string `json:"reasons,omitempty"` // codes of what is missing, if it is incomplete
	Callable    bool     `json:"callable"`          // it is a tool; incomplete endpoints can be tools too
	Tool        string   `json:"tool"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Roles       []Role   `json:"roles" nullable:"false"`
	Category    string   `json:"category,omitempty"`
	Deprecated  bool     `json:"deprecated,omitempty"`
	Inferred    bool     `json:"inferred,omitempty"` // derived from examples or prose, not from a schema
	Tokens      int      `json:"tokens"`
	Line        int      `json:"line"`

	Parameters []APIParameter `json:"parameters" nullable:"false"` // arguments of the tool: parameters, and the body or its fields
	Responses  []APIResponse  `json:"responses" nullable:"false"`  // documented responses
}

// APIParameter is one argument of an endpoint's tool.
type APIParameter struct {
	Name        string `json:"name"` // name of the argument
	In          string `json:"in" enum:"path,query,header,cookie,querystring,body,variable"`
	Type        string `json:"type"` // such as integer, array of string, or any
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// APIResponse is one documented response of an endpoint.
type APIResponse struct {
	Status      string `json:"status"`          // 200, 2XX or default; "" for GraphQL
	Type        string `json:"type,omitempty"`  // type of the body, such as Pet or array of Pet
	Media       string `json:"media,omitempty"` // media type of the body
	Description string `json:"description,omitempty"`
}

// APIModel is a named data model of a document.
type APIModel struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields,omitempty"`
	Line   int      `json:"line"`
}

// APIProblem is something in a document that is wrong, missing or guessed.
type APIProblem struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Pointer   string `json:"pointer"`
	Severity  string `json:"severity" enum:"error,warning,hint"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Remedy    string `json:"remedy,omitempty"`
	Operation string `json:"operation,omitempty"`

	// Edit is a proposed improvement of the tool's name or description; nil if
	// there is none.
	Edit *APIEdit `json:"edit,omitempty"`
}

// APIEdit is a change to the presentation or the roles of a tool.
type APIEdit struct {
	Tool string `json:"tool"`
	Override
	Roles    []Role `json:"roles,omitempty"` // roles to set as a tag
	Category string `json:"category,omitempty"`
}

// APIAttempt is the result of trying one reader on a document.
type APIAttempt struct {
	Format string `json:"format"`
	Took   bool   `json:"took"`
	Reason string `json:"reason,omitempty"`
}

// APIChange is one difference between two versions of a document.
type APIChange struct {
	Kind     string   `json:"kind" enum:"added,changed,removed"`
	Key      string   `json:"key"`
	Tool     string   `json:"tool"`
	Breaking bool     `json:"breaking,omitempty"` // existing callers may fail
	What     []string `json:"what,omitempty"`
}

// APIDocument is a stored document, and the tools made from it.
type APIDocument struct {
	Text      []byte
	ETag      string
	Tools     []byte // JSON
	FetchedAt time.Time
}

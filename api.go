package junctor

import (
	"net/url"
	"slices"
	"time"
)

// Exposure says how the tools of a server are shown.
type Exposure string

// The exposures.
const (
	ExposureAuto   Exposure = "auto"   // all, or search where there are too many for that
	ExposureAll    Exposure = "all"    // every tool is listed
	ExposureSearch Exposure = "search" // three tools are: one finds, one describes, one calls
)

// API is what an auto-generated server is made of, beside its document.
type API struct {
	DocumentURL string   `json:"document_url,omitempty"` // where the document comes from; "" where it was given as text
	Format      string   `json:"format,omitempty"`       // as somebody said: openapi, graphql, postman…; "" is whatever it turns out to be
	Title       string   `json:"title,omitempty"`        // what the document calls the API
	Version     string   `json:"version,omitempty"`      // that the document gives the API
	Exposure    Exposure `json:"exposure,omitempty"`     // "" is auto
	Include     []string `json:"include,omitempty"`      // which operations become tools; none is all but deprecated ones
	Mutations   string   `json:"mutations,omitempty"`    // of GraphQL: none, explicit or all
	Rate        float64  `json:"rate,omitempty"`         // requests a second that the API is sent at most; 0 is no bound
	PollMinutes int      `json:"poll_minutes,omitempty"` // how often to look whether the document changed; 0 is never
	KeyIn       string   `json:"key_in,omitempty"`       // where an api-key goes: header, query or cookie; "" is header
	KeyName     string   `json:"key_name,omitempty"`     // what the document calls it there
	LoginURL    string   `json:"login_url,omitempty"`    // where the document sends people who log in, for auth of the type oauth
	TokenURL    string   `json:"token_url,omitempty"`    // where it gives them tokens then
}

// maxPoll is a month.
const maxPoll = 31 * 24 * 60

// Check refuses what cannot be, and says what is wrong where.
func (a *API) Check() error {
	fault := func(format string, args ...any) error { return Errorf(CodeInvalid, format, args...) }
	switch {
	case a == nil:
		return nil
	case !slices.Contains([]Exposure{"", ExposureAuto, ExposureAll, ExposureSearch}, a.Exposure):
		return fault("unknown exposure %q; use auto, all or search", string(a.Exposure))
	case !slices.Contains([]string{"", "none", "explicit", "all"}, a.Mutations):
		return fault("unknown mutations %q; use none, explicit or all", a.Mutations)
	case !slices.Contains([]string{"", "header", "query", "cookie"}, a.KeyIn):
		return fault("unknown key_in %q; use header, query or cookie", a.KeyIn)
	case a.Rate < 0 || a.Rate > 1e6:
		return fault("rate is a number of requests a second, and not below 0")
	case a.PollMinutes < 0 || a.PollMinutes > maxPoll:
		return fault("poll_minutes is between 0 and %d", maxPoll)
	case a.PollMinutes > 0 && a.DocumentURL == "":
		return fault("poll_minutes needs a document_url to look at")
	case a.DocumentURL != "" && CheckServerURL(a.DocumentURL) != nil && !a.FromFile():
		return fault("document_url is not an address: write it as https://host/openapi.yaml")
	}
	return nil
}

// FromFile reports whether the document is a file of this machine. The scheme is
// compared as it is parsed: FILE: is file: too.
func (a *API) FromFile() bool {
	u, err := url.Parse(a.DocumentURL)
	return err == nil && u.Scheme == "file"
}

// APIPreview is what a document comes to, before or after it is saved.
type APIPreview struct {
	Format      string        `json:"format"`
	Version     string        `json:"version,omitempty"`
	Title       string        `json:"title,omitempty"`
	Edition     string        `json:"edition,omitempty"`
	Description string        `json:"description,omitempty"`
	BaseURL     string        `json:"base_url,omitempty"` // where the API is called
	Bases       []string      `json:"bases,omitempty"`    // that the document names
	Auth        []APIAuth     `json:"auth" nullable:"false"`
	Endpoints   []APIEndpoint `json:"endpoints" nullable:"false"`
	Models      []APIModel    `json:"models" nullable:"false"`
	Problems    []APIProblem  `json:"problems" nullable:"false"`
	Tried       []APIAttempt  `json:"tried" nullable:"false"`
	File        string        `json:"file,omitempty"` // what problems call the document itself, among its files
	Ready       int           `json:"ready"`          // endpoints that are tools, and of which nothing is missing
	Incomplete  int           `json:"incomplete"`     // endpoints of which something is missing, with a reason
	Partial     int           `json:"partial"`        // those of Incomplete that are tools all the same
	Excluded    int           `json:"excluded"`       // endpoints that nobody asked for
	Tokens      int           `json:"tokens"`         // about what a list of all tools costs a model
	Exposure    Exposure      `json:"exposure"`       // that would be chosen
	Changes     []APIChange   `json:"changes,omitempty" nullable:"false"`
}

// APIAuth is a way to authenticate that a document declares.
type APIAuth struct {
	Scheme      string   `json:"scheme"` // its name there
	Type        string   `json:"type"`   // apiKey, basic, bearer, oauth2…
	Suggested   AuthType `json:"suggested,omitempty"`
	In          string   `json:"in,omitempty"`
	Name        string   `json:"name,omitempty"`
	TokenURL    string   `json:"token_url,omitempty"`
	Description string   `json:"description,omitempty"`
	Operations  int      `json:"operations"` // that need it
}

// APIEndpoint is one operation of a document and the tool that it becomes.
type APIEndpoint struct {
	Key         string   `json:"key"` // method and path
	Status      string   `json:"status" enum:"ready,incomplete,excluded"`
	Reasons     []string `json:"reasons,omitempty"` // codes, where it is incomplete
	Callable    bool     `json:"callable"`          // it is a tool; one that is incomplete may be, with what is known of it
	Tool        string   `json:"tool"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Roles       []Role   `json:"roles" nullable:"false"`
	Category    string   `json:"category,omitempty"`
	Deprecated  bool     `json:"deprecated,omitempty"`
	Inferred    bool     `json:"inferred,omitempty"` // out of examples or prose
	Tokens      int      `json:"tokens"`
	Line        int      `json:"line"`

	Parameters []APIParameter `json:"parameters" nullable:"false"` // what the tool takes: parameters, and the body or its fields
	Responses  []APIResponse  `json:"responses" nullable:"false"`  // what the API may answer
}

// APIParameter is one argument of an endpoint's tool.
type APIParameter struct {
	Name        string `json:"name"` // of the argument
	In          string `json:"in" enum:"path,query,header,cookie,querystring,body,variable"`
	Type        string `json:"type"` // such as integer, array of string, or any
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
}

// APIResponse is one answer of an endpoint.
type APIResponse struct {
	Status      string `json:"status"`          // 200, 2XX or default; "" of GraphQL
	Type        string `json:"type,omitempty"`  // of its body, such as Pet or array of Pet
	Media       string `json:"media,omitempty"` // of its body
	Description string `json:"description,omitempty"`
}

// APIModel is a data model that a document names.
type APIModel struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields,omitempty"`
	Line   int      `json:"line"`
}

// APIProblem is something in a document that is wrong, missing or was guessed.
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

	// Edit, where there is one, is an improvement to accept: of the tool's name or
	// description.
	Edit *APIEdit `json:"edit,omitempty"`
}

// APIEdit is a change of how a tool is shown, or of what it is for.
type APIEdit struct {
	Tool string `json:"tool"`
	Override
	Roles    []Role `json:"roles,omitempty"` // to be said of it by its tag
	Category string `json:"category,omitempty"`
}

// APIAttempt is how one reader fared with a document.
type APIAttempt struct {
	Format string `json:"format"`
	Took   bool   `json:"took"`
	Reason string `json:"reason,omitempty"`
}

// APIChange is one difference between a document and the one before.
type APIChange struct {
	Kind     string   `json:"kind" enum:"added,changed,removed"`
	Key      string   `json:"key"`
	Tool     string   `json:"tool"`
	Breaking bool     `json:"breaking,omitempty"` // who calls it as before may fail
	What     []string `json:"what,omitempty"`
}

// APIDocument is a document as it is stored, and what was made of it.
type APIDocument struct {
	Text      []byte
	ETag      string
	Tools     []byte // JSON
	FetchedAt time.Time
}

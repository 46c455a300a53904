package junctor

import (
	"encoding/json"
	"time"
)

// App is a tool that brings a page of its own, an MCP App: hosts show the page
// with the tool's result in it.
type App struct {
	Name        string          `json:"name"`   // of the tool, as clients of /mcp see it
	Server      string          `json:"server"` // whose tool and page it is
	Tool        string          `json:"tool"`   // the server's own name
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Resource    string          `json:"resource"`                    // the page, by the server's own URI
	Visibility  []string        `json:"visibility" nullable:"false"` // who may use the tool: model, app
	Tools       []string        `json:"tools" nullable:"false"`      // what the page may call, by the server's own names
	Generated   bool            `json:"generated"`                   // the page is not the server's but made for the tool
	Read        bool            `json:"read"`                        // the page was read: its digest and what it declares are known
	Approval    Approval        `json:"approval"`                    // of the compatible profile
	Definition  json.RawMessage `json:"tool_definition,omitempty"`   // where one App is shown: the MCP Tool under its own name
	AppPage
}

// AppPage is a page, what it declares, and what it is given.
type AppPage struct {
	Digest        string     `json:"digest,omitempty"` // SHA-256 of its text, hex
	Bytes         int        `json:"bytes,omitempty"`
	CSP           AppCSP     `json:"csp"`                              // the sources that it is given
	Refused       []string   `json:"refused_sources" nullable:"false"` // why some that it declares are not
	Policy        string     `json:"policy,omitempty"`                 // the Content-Security-Policy that it is served with
	Permissions   []string   `json:"permissions" nullable:"false"`     // of the browser, that it asks for
	Domain        string     `json:"domain,omitempty"`                 // that it would like; its origin is never that
	PrefersBorder *bool      `json:"prefers_border,omitempty"`
	Profile       AppProfile `json:"profile"`
}

// AppCSP is what a page may reach, in the words of MCP Apps.
type AppCSP struct {
	Connect  []string `json:"connectDomains" nullable:"false"`
	Resource []string `json:"resourceDomains" nullable:"false"`
	Frame    []string `json:"frameDomains" nullable:"false"`
	BaseURI  []string `json:"baseUriDomains" nullable:"false"`
}

// AppProfile is how strict the policy of a page is.
type AppProfile string

// The profiles.
const (
	AppStrict     AppProfile = "strict"
	AppCompatible AppProfile = "compatible" // it may make code of text (eval), by an operator's approval
)

// ApprovalState says whether a page has the compatible profile.
type ApprovalState string

// States of an approval.
const (
	ApprovalNone    ApprovalState = "none"
	ApprovalGiven   ApprovalState = "approved"
	ApprovalChanged ApprovalState = "changed" // it was given for another page: this one is strict until somebody looks again
)

// Approval lets one page, by its digest, have the compatible profile.
type Approval struct {
	State  ApprovalState `json:"state"`
	Digest string        `json:"digest,omitempty"` // of the page that was approved
	By     string        `json:"by,omitempty"`     // as Principal.ID says
	At     time.Time     `json:"at,omitzero"`
}

// AppApproval is an approval as it is stored.
type AppApproval struct {
	Server, Resource string // the server's own URI
	Digest           string
	By               string
	At               time.Time
}

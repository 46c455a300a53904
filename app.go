package junctor

import (
	"encoding/json"
	"time"
)

// App is a tool with a page of its own, as MCP Apps defines it: hosts show the
// page with the tool's result in it.
type App struct {
	Name        string          `json:"name"`   // of the tool, as clients of /mcp see it
	Server      string          `json:"server"` // the server of the tool and the page
	Tool        string          `json:"tool"`   // name at the server
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Resource    string          `json:"resource"`                    // URI of the page at the server
	Visibility  []string        `json:"visibility" nullable:"false"` // who may call the tool: model, app
	Tools       []string        `json:"tools,omitempty"`             // set if one App is requested: tools that the page may call, by name at the server
	Generated   bool            `json:"generated"`                   // Junctor generated the page
	Read        bool            `json:"read"`                        // the page was read, so digest and declarations are known
	Approval    Approval        `json:"approval"`                    // of the compatible profile
	Definition  json.RawMessage `json:"tool_definition,omitempty"`   // set if one App is requested: the MCP Tool, with its name at the server
	AppPage
}

// AppFilter selects Apps of a list. Empty fields do not filter.
type AppFilter struct {
	Name       string    // exposed name of the tool
	Origin     AppOrigin // who made the page
	Visibility string    // who may call the tool: model or app
}

// AppOrigin says who made the page of an App.
type AppOrigin string

// The origins of pages.
const (
	AppFromServer    AppOrigin = "server"    // the server of the tool has the page
	AppFromGenerator AppOrigin = "generated" // Junctor generated the page from the schema of the tool
)

// AppPage is the page of an App: what it declares, and which sources and
// permissions it gets.
type AppPage struct {
	Digest        string     `json:"digest,omitempty"` // SHA-256 of its text, hex
	Bytes         int        `json:"bytes,omitempty"`
	CSP           AppCSP     `json:"csp"`                              // sources that the page may load from
	Refused       []string   `json:"refused_sources" nullable:"false"` // declared sources that are refused, with reasons
	Policy        string     `json:"policy,omitempty"`                 // the Content-Security-Policy that it is served with
	Permissions   []string   `json:"permissions" nullable:"false"`     // browser features that the page requests
	Domain        string     `json:"domain,omitempty"`                 // origin that the page requests; it is ignored
	PrefersBorder *bool      `json:"prefers_border,omitempty"`
	Profile       AppProfile `json:"profile"`
}

// AppCSP lists the origins that a page may reach, with the member names of MCP
// Apps.
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
	AppCompatible AppProfile = "compatible" // eval is allowed, because an operator approved it
)

// ApprovalState is whether the compatible profile is approved for a page.
type ApprovalState string

// States of an approval.
const (
	ApprovalNone    ApprovalState = "none"
	ApprovalGiven   ApprovalState = "approved"
	ApprovalChanged ApprovalState = "changed" // the page changed after the approval and is strict until it is approved again
)

// Approval allows the compatible profile for one page, identified by its
// digest. A changed page needs a new approval.
type Approval struct {
	State  ApprovalState `json:"state"`
	Digest string        `json:"digest,omitempty"` // of the page that was approved
	By     string        `json:"by,omitempty"`     // Principal.ID of the approver
	At     time.Time     `json:"at,omitzero"`
}

// AppApproval is the stored form of an Approval.
type AppApproval struct {
	Server, Resource string // the server's own URI
	Digest           string
	By               string
	At               time.Time
}

package junctor

import (
	"encoding/json"
	"time"
)

// ViewIsolation is how an App view is isolated from the rest of the browser.
type ViewIsolation string

// The isolations.
const (
	IsolationOrigin ViewIsolation = "origin" // it has an origin of its own
	IsolationOpaque ViewIsolation = "opaque" // opaque origin without storage, for instances without host names for App views
)

// ViewState is whether an App view still matches what it was opened for.
type ViewState string

// States of a View.
const (
	ViewOpen    ViewState = "open"
	ViewChanged ViewState = "changed" // the server now has another page
	ViewRemoved ViewState = "removed" // the server or the tool was removed
)

// View is one open App view, in one session of one caller. Its page has an
// origin of its own, and package apps checks every request that it makes.
type View struct {
	ID          string        `json:"id"`
	State       ViewState     `json:"state"`
	Server      string        `json:"server"`
	Tool        string        `json:"tool"` // name at the server
	Name        string        `json:"name"` // as clients of /mcp see it
	Resource    string        `json:"resource"`
	Title       string        `json:"title,omitempty"`
	Call        string        `json:"call,omitempty"`  // id of the record of the call whose result it shows
	Agent       string        `json:"agent,omitempty"` // agent whose identity it uses
	Isolation   ViewIsolation `json:"isolation"`
	Proxy       string        `json:"proxy"`        // what the outer frame shows
	ProxyOrigin string        `json:"proxy_origin"` // where its messages come from
	Page        string        `json:"page"`         // what the inner frame shows
	Origin      string        `json:"origin"`       // of the page; null where it has none
	Sandbox     string        `json:"sandbox"`      // attribute of the outer frame
	Allow       string        `json:"allow"`        // likewise, for all that the page asks for
	Approval    Approval      `json:"approval"`
	AppPage
	HostCapabilities json.RawMessage `json:"host_capabilities"` // those that stand behind rpc
	Definition       json.RawMessage `json:"tool_definition"`   // the MCP Tool under its own name
	ModelContext     json.RawMessage `json:"model_context,omitempty"`
	Notes            []string        `json:"notes" nullable:"false"` // what to tell the person
	OpenedAt         time.Time       `json:"opened_at"`
	ExpiresAt        time.Time       `json:"expires_at"` // unless it is used
}

// OpenView is the request to open an App view.
type OpenView struct {
	Tool      string        // exposed name, or with Server the name at the server
	Server    string        // "" if Tool is an exposed name
	Resource  string        // another page of the server; "" is the tool's own
	Agent     string        // use the identity of this agent; "" is the caller itself
	Call      string        // id of the call whose result is shown
	Isolation ViewIsolation // "" lets the instance choose
	Fresh     bool          // read the page again, even if it is cached
	Console   string        // origin of the page that embeds the view
}

// ViewEntry is one entry in the log of an App view.
type ViewEntry struct {
	Seq    uint64          `json:"seq"`
	At     time.Time       `json:"at"`
	Source string          `json:"source"` // who observed it: console, sandbox or gateway
	Kind   string          `json:"kind"`   // sent, received, blocked, violation, rpc, note
	Method string          `json:"method,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// ViewAnswer is the answer to a request of an App view: a result or an error.
type ViewAnswer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *ViewError      `json:"error,omitempty"`
}

// ViewError is a JSON-RPC error object.
type ViewError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// ViewMail is a notification or request for an App view. The page that shows
// the view passes it on.
type ViewMail struct {
	Seq    uint64          `json:"seq"`
	View   string          `json:"view"`
	Ask    string          `json:"ask,omitempty"` // set for a request: id to match the answer
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// ViewTool is a tool that an App view offers itself, for the agent that talks
// to the user of the view.
type ViewTool struct {
	Name       string          `json:"name"`
	Definition json.RawMessage `json:"tool_definition"` // the MCP Tool, as the page wrote it
}

// ShownView is an open App view, as agents that act for its user see it.
type ShownView struct {
	ID     string
	Call   string // id of the record of the call whose result it shows
	Server string
	Tool   string // name at the server
}

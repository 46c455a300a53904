package junctor

import (
	"encoding/json"
	"time"
)

// ViewIsolation is how a View is kept apart from everything else in the browser.
type ViewIsolation string

// Isolations.
const (
	IsolationOrigin ViewIsolation = "origin" // it has an origin that nothing else has
	IsolationOpaque ViewIsolation = "opaque" // it has none at all, and so no storage: where there are no names to give
)

// ViewState says whether a View is still what it was opened as.
type ViewState string

// States of a View.
const (
	ViewOpen    ViewState = "open"
	ViewChanged ViewState = "changed" // the server has another page by now
	ViewGone    ViewState = "gone"    // the server or the tool is not there any more
)

// View is one running instance of an App, in one session of one party. Its page
// stands on an origin of its own, and all that it asks for is judged here.
type View struct {
	ID          string        `json:"id"`
	State       ViewState     `json:"state"`
	Server      string        `json:"server"`
	Tool        string        `json:"tool"` // the server's own name
	Name        string        `json:"name"` // as clients of /mcp see it
	Resource    string        `json:"resource"`
	Title       string        `json:"title,omitempty"`
	Call        string        `json:"call,omitempty"`  // whose result it shows, as the records know it
	Agent       string        `json:"agent,omitempty"` // whom it acts as
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

// OpenView says which View is wanted.
type OpenView struct {
	Tool      string        // exposed, or with Server the server's own
	Server    string        // "" where Tool is exposed
	Resource  string        // another page of the server than the tool's; "" is the tool's
	Agent     string        // act as this agent; "" is the party itself
	Call      string        // whose result is shown
	Isolation ViewIsolation // "" leaves it to the instance
	Fresh     bool          // read the page anew, whatever is kept of it
	Console   string        // the origin of the page that will show it
}

// ViewEntry is something that happened to a View.
type ViewEntry struct {
	Seq    uint64          `json:"seq"`
	At     time.Time       `json:"at"`
	Source string          `json:"source"` // console, sandbox or gateway: who saw it
	Kind   string          `json:"kind"`   // sent, received, blocked, violation, rpc, note
	Method string          `json:"method,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// ViewAnswer is the answer to what a View asked for: one of the two.
type ViewAnswer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *ViewError      `json:"error,omitempty"`
}

// ViewError is an error in the words of JSON-RPC.
type ViewError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// ViewMail is something that a View is to be told or asked, for the page that
// shows it to pass on.
type ViewMail struct {
	Seq    uint64          `json:"seq"`
	View   string          `json:"view"`
	Ask    string          `json:"ask,omitempty"` // set for a request: by this its answer is known
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// ViewTool is a tool that a View has itself, for the agent that speaks with the
// person who looks at it.
type ViewTool struct {
	Name       string          `json:"name"`
	Definition json.RawMessage `json:"tool_definition"` // the MCP Tool, as the page wrote it
}

// ShownView is a View that is open, for who acts for the person that looks at it.
type ShownView struct {
	ID     string
	Call   string // whose result it shows, as the records know it
	Server string
	Tool   string // the server's own name
}

package mcpappstest

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// LogEntry is one message of a conversation.
type LogEntry struct {
	From    mcpapps.Party
	Message json.RawMessage // JSON-RPC
}

// Error is a refusal, in the form of a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// JSON-RPC codes of refusals.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeRefused        = -32000
)

// View is a page that a host has opened. Its methods are what the page does, unless
// they say otherwise. It is not safe for concurrent use.
type View struct {
	Page   mcpapps.Page
	Result *mcp.CallToolResult // of the call for which it was opened
	Log    []LogEntry          // every message, in order

	// What the host has received from the page.
	Mode         mcpapps.DisplayMode
	Links        []string
	Downloads    []mcpapps.ContentBlock
	Messages     []mcpapps.ContentBlocks
	ModelContext *mcpapps.UpdateModelContextParams // the latest
	Height       float64

	host            *Host
	tool            *mcp.Tool
	toolInput       json.RawMessage // arguments of the call
	lastID          int             // of JSON-RPC requests, in both directions
	inbox           []Notification  // notifications that Next has not returned yet
	appCapabilities mcpapps.AppCapabilities
	tools           map[string]AppTool // provided by the page
	state           viewState
}

// viewState is the progress of a conversation. The order of the values matters.
type viewState int

// States of a View.
const (
	stateOpened       viewState = iota // the page has not sent ui/initialize
	stateInitializing                  // ui/initialize was answered
	stateRunning                       // the page sent initialized
	stateClosed
)

// Notification is a notification from the host.
type Notification struct {
	Method string
	Params json.RawMessage
}

// AppTool is a tool that a page provides for the agent.
type AppTool func(args json.RawMessage) (*mcp.CallToolResult, error)

// Initialize performs the handshake for a page that supports all display modes.
// Afterwards [View.NextNotification] returns the input and the result of the call. A refusal
// fails the test.
func (v *View) Initialize() *mcpapps.InitializeResult {
	v.host.t.Helper()
	caps := mcpapps.AppCapabilities{AvailableDisplayModes: []mcpapps.DisplayMode{mcpapps.DisplayInline, mcpapps.DisplayFullscreen, mcpapps.DisplayPIP}}
	if v.tools != nil {
		caps.Tools = &mcpapps.ListCapability{ListChanged: true}
	}
	var res mcpapps.InitializeResult
	err := v.Request(mcpapps.MethodInitialize, mcpapps.InitializeParams{
		AppInfo: mcp.Implementation{Name: v.Page.URI, Version: "1"}, AppCapabilities: caps, ProtocolVersion: mcpapps.ProtocolVersion,
	}, &res)
	if err == nil {
		err = v.Notify(mcpapps.NotificationInitialized, mcpapps.Empty{})
	}
	if err != nil {
		v.host.t.Fatal(err)
	}
	return &res
}

// AddAppTool adds a tool of the page for the agent. Call it before Initialize, which
// announces the tools.
func (v *View) AddAppTool(name string, tool AppTool) {
	if v.tools == nil {
		v.tools = map[string]AppTool{}
	}
	v.tools[name] = tool
}

// CallTool calls a tool of the server. A refusal of the host fails the test.
func (v *View) CallTool(tool string, args any) *mcp.CallToolResult {
	v.host.t.Helper()
	var res mcp.CallToolResult
	if err := v.Request("tools/call", mcp.CallToolParams{Name: tool, Arguments: args}, &res); err != nil {
		v.host.t.Fatalf("the page calls %q: %v", tool, err)
	}
	return &res
}

// NextNotification returns the oldest notification from the host that it has not returned yet.
// ok is false if there is none.
func (v *View) NextNotification() (n Notification, ok bool) {
	if len(v.inbox) == 0 {
		return Notification{}, false
	}
	n = v.inbox[0]
	v.inbox = v.inbox[1:]
	return n, true
}

// Request sends any request to the host, and decodes its answer into result unless
// result is nil. A refusal is an *[Error].
func (v *View) Request(method string, params, result any) error {
	v.lastID++
	data, err := v.recordParams(mcpapps.PartyView, rpcMessage{ID: v.lastID, Method: method}, params)
	if err != nil {
		return err
	}
	answer, refusal := v.answerRequest(method, data)
	if refusal != nil {
		v.appendLog(mcpapps.PartyHost, rpcMessage{ID: v.lastID, Error: refusal})
		return refusal
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	v.appendLog(mcpapps.PartyHost, rpcMessage{ID: v.lastID, Result: raw})
	// The test host's own answers have to be valid too.
	if m, ok := mcpapps.FindMethod(mcpapps.PartyView, method); ok {
		if _, err := m.DecodeResult(raw); err != nil {
			return fmt.Errorf("the host's answer: %w", err)
		}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(raw, result)
}

// Notify sends any notification to the host.
func (v *View) Notify(method string, params any) error {
	data, err := v.recordParams(mcpapps.PartyView, rpcMessage{Method: method}, params)
	if err != nil {
		return err
	}
	return v.handleNotification(method, data)
}

// rpcMessage is a JSON-RPC message.
type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      int             `json:"id,omitzero"`
	Method  string          `json:"method,omitzero"`
	Params  json.RawMessage `json:"params,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   *Error          `json:"error,omitzero"`
}

// recordParams encodes params, records the message with them, and returns the JSON.
func (v *View) recordParams(from mcpapps.Party, f rpcMessage, params any) (json.RawMessage, error) {
	data, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", f.Method, err)
	}
	f.Params = data
	v.appendLog(from, f)
	return data, nil
}

// appendLog records a message.
func (v *View) appendLog(from mcpapps.Party, f rpcMessage) {
	f.JSONRPC = "2.0"
	data, err := json.Marshal(f)
	if err != nil {
		v.host.t.Errorf("a message that is no JSON: %v", err)
		return
	}
	v.Log = append(v.Log, LogEntry{From: from, Message: data})
}

package mcpapps

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Party is the sender or receiver of a message.
type Party string

// The parties of a conversation. The proxy is the frame between host and View, which
// isolates the View's origin.
const (
	PartyView  Party = "view"
	PartyHost  Party = "host"
	PartyProxy Party = "proxy"
)

// Names of the extension's own requests (Method…) and notifications (Note…).
const (
	MethodInitialize         = "ui/initialize"
	MethodOpenLink           = "ui/open-link"
	MethodDownloadFile       = "ui/download-file"
	MethodMessage            = "ui/message"
	MethodUpdateModelContext = "ui/update-model-context"
	MethodRequestDisplayMode = "ui/request-display-mode"
	MethodResourceTeardown   = "ui/resource-teardown"

	NoteInitialized          = "ui/notifications/initialized"
	NoteSizeChanged          = "ui/notifications/size-changed"
	NoteRequestTeardown      = "ui/notifications/request-teardown"
	NoteToolInput            = "ui/notifications/tool-input"
	NoteToolInputPartial     = "ui/notifications/tool-input-partial"
	NoteToolResult           = "ui/notifications/tool-result"
	NoteToolCancelled        = "ui/notifications/tool-cancelled"
	NoteHostContextChanged   = "ui/notifications/host-context-changed"
	NoteSandboxProxyReady    = "ui/notifications/sandbox-proxy-ready"
	NoteSandboxResourceReady = "ui/notifications/sandbox-resource-ready"
)

// Method describes a message that one party may send to another.
type Method struct {
	Name    string
	From    Party
	To      Party
	Request bool // a request, which is answered; otherwise a notification

	params, result func(json.RawMessage) (any, error)
}

// Params decodes the message's params strictly: names are case-sensitive,
// duplicates are errors, and required members must be present. The result is a
// pointer to the type that belongs to the method, such as *OpenLinkParams. Absent
// params count as empty.
func (m Method) Params(data json.RawMessage) (any, error) {
	v, err := m.params(data)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: params of %s: %w", m.Name, err)
	}
	return v, nil
}

// Result decodes the answer to a request, as strictly as Params. For a notification
// it returns an error.
func (m Method) Result(data json.RawMessage) (any, error) {
	if !m.Request {
		return nil, fmt.Errorf("mcpapps: %s is a notification and has no answer", m.Name)
	}
	v, err := m.result(data)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: result of %s: %w", m.Name, err)
	}
	return v, nil
}

// Lookup returns the message with a name that a party sends. It does not find
// messages that the party may not send.
func Lookup(from Party, name string) (Method, bool) {
	for _, m := range Methods() {
		if m.From == from && m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}

// Methods returns every message in its direction: those of this extension, and the
// part of MCP that View and host use with each other.
func Methods() []Method {
	return []Method{
		newRequest[InitializeParams, InitializeResult](PartyView, MethodInitialize),
		newRequest[OpenLinkParams, Outcome](PartyView, MethodOpenLink),
		newRequest[DownloadFileParams, Outcome](PartyView, MethodDownloadFile),
		newRequest[MessageParams, Outcome](PartyView, MethodMessage),
		newRequest[UpdateModelContextParams, OpenResult](PartyView, MethodUpdateModelContext),
		newRequest[RequestDisplayModeParams, RequestDisplayModeResult](PartyView, MethodRequestDisplayMode),
		newRequest[Core[mcp.CallToolParams], Core[mcp.CallToolResult]](PartyView, "tools/call"),
		newRequest[Core[mcp.ListToolsParams], Core[mcp.ListToolsResult]](PartyView, "tools/list"),
		newRequest[Core[mcp.ReadResourceParams], Core[mcp.ReadResourceResult]](PartyView, "resources/read"),
		newRequest[Core[mcp.ListResourcesParams], Core[mcp.ListResourcesResult]](PartyView, "resources/list"),
		newRequest[Core[mcp.ListResourceTemplatesParams], Core[mcp.ListResourceTemplatesResult]](PartyView, "resources/templates/list"),
		newRequest[Core[mcp.ListPromptsParams], Core[mcp.ListPromptsResult]](PartyView, "prompts/list"),
		newRequest[Core[mcp.CreateMessageWithToolsParams], Core[mcp.CreateMessageWithToolsResult]](PartyView, "sampling/createMessage"), //nolint:staticcheck // deprecated in MCP, but Views still use it
		newRequest[Core[mcp.PingParams], OpenResult](PartyView, "ping"),
		newNotification[None](PartyView, PartyHost, NoteInitialized),
		newNotification[SizeChangedParams](PartyView, PartyHost, NoteSizeChanged),
		newNotification[None](PartyView, PartyHost, NoteRequestTeardown),
		newNotification[Core[mcp.LoggingMessageParams]](PartyView, PartyHost, "notifications/message"), //nolint:staticcheck // deprecated in MCP, but Views still log
		newNotification[Core[mcp.ToolListChangedParams]](PartyView, PartyHost, "notifications/tools/list_changed"),

		newRequest[ResourceTeardownParams, OpenResult](PartyHost, MethodResourceTeardown),
		newRequest[Core[mcp.CallToolParams], Core[mcp.CallToolResult]](PartyHost, "tools/call"),
		newRequest[Core[mcp.ListToolsParams], Core[mcp.ListToolsResult]](PartyHost, "tools/list"),
		newRequest[Core[mcp.PingParams], OpenResult](PartyHost, "ping"),
		newNotification[ToolInputParams](PartyHost, PartyView, NoteToolInput),
		newNotification[ToolInputParams](PartyHost, PartyView, NoteToolInputPartial),
		newNotification[Core[mcp.CallToolResult]](PartyHost, PartyView, NoteToolResult),
		newNotification[ToolCancelledParams](PartyHost, PartyView, NoteToolCancelled),
		newNotification[HostContext](PartyHost, PartyView, NoteHostContextChanged),
		newNotification[Core[mcp.ToolListChangedParams]](PartyHost, PartyView, "notifications/tools/list_changed"),
		newNotification[Core[mcp.ResourceListChangedParams]](PartyHost, PartyView, "notifications/resources/list_changed"),
		newNotification[Core[mcp.PromptListChangedParams]](PartyHost, PartyView, "notifications/prompts/list_changed"),

		newNotification[None](PartyProxy, PartyHost, NoteSandboxProxyReady),
		newNotification[SandboxResourceReadyParams](PartyHost, PartyProxy, NoteSandboxResourceReady),
	}
}

// newRequest returns a request from the View to the host, or in the other
// direction.
func newRequest[P, R any](from Party, name string) Method {
	to := PartyHost
	if from == PartyHost {
		to = PartyView
	}
	return Method{Name: name, From: from, To: to, Request: true, params: decodeParams[P], result: decodeParams[R]}
}

// newNotification returns a notification.
func newNotification[P any](from, to Party, name string) Method {
	return Method{Name: name, From: from, To: to, params: decodeParams[P]}
}

// decodeParams decodes data into a new T, and calls T's checkParams method if it
// has one to check required members.
func decodeParams[T any](data json.RawMessage) (any, error) {
	v := new(T)
	if len(data) == 0 {
		data = []byte("{}")
	}
	if !isObject(data) {
		return nil, fmt.Errorf("an object is wanted, not %.20q", data)
	}
	if err := decodeStrict(data, v); err != nil {
		return nil, err
	}
	if c, ok := any(v).(interface{ checkParams() error }); ok {
		if err := c.checkParams(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

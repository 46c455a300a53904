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

	NotificationInitialized          = "ui/notifications/initialized"
	NotificationSizeChanged          = "ui/notifications/size-changed"
	NotificationRequestTeardown      = "ui/notifications/request-teardown"
	NotificationToolInput            = "ui/notifications/tool-input"
	NotificationToolInputPartial     = "ui/notifications/tool-input-partial"
	NotificationToolResult           = "ui/notifications/tool-result"
	NotificationToolCancelled        = "ui/notifications/tool-cancelled"
	NotificationHostContextChanged   = "ui/notifications/host-context-changed"
	NotificationSandboxProxyReady    = "ui/notifications/sandbox-proxy-ready"
	NotificationSandboxResourceReady = "ui/notifications/sandbox-resource-ready"
)

// Method describes a message that one party may send to another.
type Method struct {
	Name      string
	From      Party
	To        Party
	IsRequest bool // a request, which is answered; otherwise a notification

	params, result func(json.RawMessage) (any, error)
}

// DecodeParams decodes the message's params strictly: names are case-sensitive,
// duplicates are errors, and required members must be present. The result is a
// pointer to the type that belongs to the method, such as *OpenLinkParams. Absent
// params count as empty.
func (m Method) DecodeParams(data json.RawMessage) (any, error) {
	v, err := m.params(data)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: params of %s: %w", m.Name, err)
	}
	return v, nil
}

// DecodeResult decodes the answer to a request, as strictly as Params. For a notification
// it returns an error.
func (m Method) DecodeResult(data json.RawMessage) (any, error) {
	if !m.IsRequest {
		return nil, fmt.Errorf("mcpapps: %s is a notification and has no answer", m.Name)
	}
	v, err := m.result(data)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: result of %s: %w", m.Name, err)
	}
	return v, nil
}

// FindMethod returns the message with a name that a party sends. It does not find
// messages that the party may not send.
func FindMethod(from Party, name string) (Method, bool) {
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
		newRequest[OpenLinkParams, ActionResult](PartyView, MethodOpenLink),
		newRequest[DownloadFileParams, ActionResult](PartyView, MethodDownloadFile),
		newRequest[MessageParams, ActionResult](PartyView, MethodMessage),
		newRequest[UpdateModelContextParams, UntypedResult](PartyView, MethodUpdateModelContext),
		newRequest[RequestDisplayModeParams, RequestDisplayModeResult](PartyView, MethodRequestDisplayMode),
		newRequest[Raw[mcp.CallToolParams], Raw[mcp.CallToolResult]](PartyView, "tools/call"),
		newRequest[Raw[mcp.ListToolsParams], Raw[mcp.ListToolsResult]](PartyView, "tools/list"),
		newRequest[Raw[mcp.ReadResourceParams], Raw[mcp.ReadResourceResult]](PartyView, "resources/read"),
		newRequest[Raw[mcp.ListResourcesParams], Raw[mcp.ListResourcesResult]](PartyView, "resources/list"),
		newRequest[Raw[mcp.ListResourceTemplatesParams], Raw[mcp.ListResourceTemplatesResult]](PartyView, "resources/templates/list"),
		newRequest[Raw[mcp.ListPromptsParams], Raw[mcp.ListPromptsResult]](PartyView, "prompts/list"),
		newRequest[Raw[mcp.CreateMessageWithToolsParams], Raw[mcp.CreateMessageWithToolsResult]](PartyView, "sampling/createMessage"), //nolint:staticcheck // deprecated in MCP, but Views still use it
		newRequest[Raw[mcp.PingParams], UntypedResult](PartyView, "ping"),
		newNotification[Empty](PartyView, PartyHost, NotificationInitialized),
		newNotification[SizeChangedParams](PartyView, PartyHost, NotificationSizeChanged),
		newNotification[Empty](PartyView, PartyHost, NotificationRequestTeardown),
		newNotification[Raw[mcp.LoggingMessageParams]](PartyView, PartyHost, "notifications/message"), //nolint:staticcheck // deprecated in MCP, but Views still log
		newNotification[Raw[mcp.ToolListChangedParams]](PartyView, PartyHost, "notifications/tools/list_changed"),

		newRequest[ResourceTeardownParams, UntypedResult](PartyHost, MethodResourceTeardown),
		newRequest[Raw[mcp.CallToolParams], Raw[mcp.CallToolResult]](PartyHost, "tools/call"),
		newRequest[Raw[mcp.ListToolsParams], Raw[mcp.ListToolsResult]](PartyHost, "tools/list"),
		newRequest[Raw[mcp.PingParams], UntypedResult](PartyHost, "ping"),
		newNotification[ToolInputParams](PartyHost, PartyView, NotificationToolInput),
		newNotification[ToolInputParams](PartyHost, PartyView, NotificationToolInputPartial),
		newNotification[Raw[mcp.CallToolResult]](PartyHost, PartyView, NotificationToolResult),
		newNotification[ToolCancelledParams](PartyHost, PartyView, NotificationToolCancelled),
		newNotification[HostContext](PartyHost, PartyView, NotificationHostContextChanged),
		newNotification[Raw[mcp.ToolListChangedParams]](PartyHost, PartyView, "notifications/tools/list_changed"),
		newNotification[Raw[mcp.ResourceListChangedParams]](PartyHost, PartyView, "notifications/resources/list_changed"),
		newNotification[Raw[mcp.PromptListChangedParams]](PartyHost, PartyView, "notifications/prompts/list_changed"),

		newNotification[Empty](PartyProxy, PartyHost, NotificationSandboxProxyReady),
		newNotification[SandboxResourceReadyParams](PartyHost, PartyProxy, NotificationSandboxResourceReady),
	}
}

// newRequest returns a request from the View to the host, or in the other
// direction.
func newRequest[P, R any](from Party, name string) Method {
	to := PartyHost
	if from == PartyHost {
		to = PartyView
	}
	return Method{Name: name, From: from, To: to, IsRequest: true, params: decodeParams[P], result: decodeParams[R]}
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

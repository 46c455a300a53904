package mcpapps

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Empty is empty params, or an empty result.
type Empty struct{}

// InitializeParams start the conversation of a View with its host.
type InitializeParams struct {
	AppInfo         mcp.Implementation `json:"appInfo"`
	AppCapabilities AppCapabilities    `json:"appCapabilities"`
	ProtocolVersion string             `json:"protocolVersion"`
}

func (p *InitializeParams) checkParams() error {
	if p.AppInfo.Name == "" || p.ProtocolVersion == "" {
		return errors.New("appInfo with a name, and protocolVersion, are required")
	}
	return nil
}

// InitializeResult is the host's answer to ui/initialize.
type InitializeResult struct {
	ProtocolVersion  string             `json:"protocolVersion"`
	HostInfo         mcp.Implementation `json:"hostInfo"`
	HostCapabilities HostCapabilities   `json:"hostCapabilities"`
	HostContext      HostContext        `json:"hostContext"`

	Extra map[string]any `json:",embed"`
}

// MarshalJSON writes Extra beside the fields.
func (r InitializeResult) MarshalJSON() ([]byte, error) {
	type plain InitializeResult
	return encodeDeterministic(plain(r))
}

// UnmarshalJSON reads members that have no field into Extra.
func (r *InitializeResult) UnmarshalJSON(data []byte) error {
	type plain InitializeResult
	return decodeStrict(data, (*plain)(r))
}

// OpenLinkParams ask the host to open a link.
type OpenLinkParams struct {
	URL string `json:"url"`
}

func (p *OpenLinkParams) checkParams() error {
	if p.URL == "" {
		return errors.New("url is required")
	}
	return nil
}

// DownloadFileParams ask the host to save files: embedded resources, or links to
// resources.
type DownloadFileParams struct {
	Contents []ContentBlock `json:"contents"`
}

func (p *DownloadFileParams) checkParams() error {
	for i, b := range p.Contents {
		if kind := b.Type(); kind != "resource" && kind != "resource_link" {
			return fmt.Errorf("contents[%d] is neither a resource nor a link to one, but %q", i, kind)
		}
	}
	return nil
}

// MessageParams add a message to the conversation in the person's name.
type MessageParams struct {
	Role    string        `json:"role"` // always "user"
	Content ContentBlocks `json:"content"`
}

func (p *MessageParams) checkParams() error {
	if p.Role != "user" {
		return fmt.Errorf(`role is "user", not %q`, p.Role)
	}
	return nil
}

// ActionResult is the result of open-link, download-file and message.
type ActionResult struct {
	IsError bool `json:"isError,omitzero"` // the host or the person refused the request

	Extra map[string]any `json:",embed"`
}

// MarshalJSON writes Extra beside the field.
func (o ActionResult) MarshalJSON() ([]byte, error) {
	type plain ActionResult
	return encodeDeterministic(plain(o))
}

// UnmarshalJSON reads members that have no field into Extra.
func (o *ActionResult) UnmarshalJSON(data []byte) error {
	type plain ActionResult
	return decodeStrict(data, (*plain)(o))
}

// UpdateModelContextParams replace the context that the model gets from the View.
type UpdateModelContextParams struct {
	Content           []ContentBlock `json:"content,omitzero"`
	StructuredContent map[string]any `json:"structuredContent,omitzero"`
}

// RequestDisplayModeParams ask for another display mode.
type RequestDisplayModeParams struct {
	Mode DisplayMode `json:"mode"`
}

func (p *RequestDisplayModeParams) checkParams() error {
	switch p.Mode {
	case DisplayInline, DisplayFullscreen, DisplayPIP:
		return nil
	}
	return fmt.Errorf("mode is inline, fullscreen or pip, not %q", p.Mode)
}

// RequestDisplayModeResult is the mode after the request, whether it changed or
// not.
type RequestDisplayModeResult struct {
	Mode DisplayMode `json:"mode"`

	Extra map[string]any `json:",embed"`
}

// MarshalJSON writes Extra beside the field.
func (r RequestDisplayModeResult) MarshalJSON() ([]byte, error) {
	type plain RequestDisplayModeResult
	return encodeDeterministic(plain(r))
}

// UnmarshalJSON reads members that have no field into Extra.
func (r *RequestDisplayModeResult) UnmarshalJSON(data []byte) error {
	type plain RequestDisplayModeResult
	return decodeStrict(data, (*plain)(r))
}

// SizeChangedParams are the size of the View's content in pixels.
type SizeChangedParams struct {
	Width  *float64 `json:"width,omitzero"`
	Height *float64 `json:"height,omitzero"`
}

// ResourceTeardownParams announce that the View is about to be closed. The text of
// the specification has a reason, its schema does not. It is read; better not send
// it.
type ResourceTeardownParams struct {
	Reason string `json:"reason,omitzero"`
}

// UntypedResult is a result without defined members.
type UntypedResult map[string]any

// ToolInputParams are the arguments of the call for which the View was opened:
// complete in tool-input, the part that has arrived in tool-input-partial.
type ToolInputParams struct {
	Arguments map[string]any `json:"arguments,omitzero"`
}

// ToolCancelledParams say that the call will have no result.
type ToolCancelledParams struct {
	Reason string `json:"reason,omitzero"`
}

// SandboxResourceReadyParams pass the page to the proxy that frames it.
type SandboxResourceReadyParams struct {
	HTML        string       `json:"html"`
	Sandbox     string       `json:"sandbox,omitzero"` // sandbox attribute of the inner iframe
	CSP         *CSP         `json:"csp,omitzero"`
	Permissions *Permissions `json:"permissions,omitzero"`
}

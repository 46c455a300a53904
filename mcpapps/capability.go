package mcpapps

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ClientCapabilities is the value that a client announces under [ExtensionID].
type ClientCapabilities struct {
	MIMETypes []string `json:"mimeTypes,omitzero"`
}

// DeclareClient announces in a client's capabilities that it shows Views.
func DeclareClient(caps *mcp.ClientCapabilities) {
	caps.AddExtension(ExtensionID, map[string]any{"mimeTypes": []any{MIMEType}})
}

// DeclareServer announces in a server's capabilities that it has Views.
func DeclareServer(caps *mcp.ServerCapabilities) {
	caps.AddExtension(ExtensionID, map[string]any{"mimeTypes": []any{MIMEType}})
}

// ClientSupportsApps reports whether a client shows Views. Use the capabilities of the
// request (req.ClientCapabilities()): they are correct both for clients with a
// session and for newer ones that send them with every request.
func ClientSupportsApps(caps *mcp.ClientCapabilities) bool {
	if caps == nil {
		return false
	}
	data, err := json.Marshal(caps.Extensions)
	return err == nil && supportsApps(data)
}

// ParseClientSupport is like [ClientSupportsApps], for the raw JSON of a client's capabilities.
// Capabilities that it cannot parse count as no support.
func ParseClientSupport(capabilities json.RawMessage) bool {
	var in struct {
		Extensions json.RawMessage `json:"extensions"`
	}
	return decodeStrict(capabilities, &in) == nil && supportsApps(in.Extensions)
}

// supportsApps reports whether the member extensions of a client's capabilities
// contains this extension with the MIME type of App pages.
func supportsApps(extensions json.RawMessage) bool {
	var in struct {
		UI ClientCapabilities `json:"io.modelcontextprotocol/ui"`
	}
	return len(extensions) > 0 && decodeStrict(extensions, &in) == nil && slices.ContainsFunc(in.UI.MIMETypes, IsAppMIMEType)
}

// Experimental holds capabilities outside the specification, by name.
type Experimental map[string]map[string]any

// ListCapability is the capability to list tools or resources. Its member says that
// changes of the list are announced by notification.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitzero"`
}

// Modalities are the kinds of content that a host accepts.
type Modalities struct {
	Text              Flag `json:"text,omitzero"`
	Image             Flag `json:"image,omitzero"`
	Audio             Flag `json:"audio,omitzero"`
	Resource          Flag `json:"resource,omitzero"`
	ResourceLink      Flag `json:"resourceLink,omitzero"`
	StructuredContent Flag `json:"structuredContent,omitzero"`
}

// SandboxCapabilities are the permissions and sources that a host has granted to a
// page.
type SandboxCapabilities struct {
	Permissions *Permissions `json:"permissions,omitzero"`
	CSP         *CSP         `json:"csp,omitzero"`
}

// SamplingCapabilities say that a View may use the host's model.
type SamplingCapabilities struct {
	Tools Flag `json:"tools,omitzero"`
}

// HostCapabilities are the services that a host offers to a View. A View must not
// send a request whose capability is missing.
type HostCapabilities struct {
	Experimental       Experimental          `json:"experimental,omitzero"`
	OpenLinks          Flag                  `json:"openLinks,omitzero"`
	DownloadFile       Flag                  `json:"downloadFile,omitzero"`
	ServerTools        *ListCapability       `json:"serverTools,omitzero"`
	ServerResources    *ListCapability       `json:"serverResources,omitzero"`
	Logging            Flag                  `json:"logging,omitzero"`
	Sandbox            *SandboxCapabilities  `json:"sandbox,omitzero"`
	UpdateModelContext *Modalities           `json:"updateModelContext,omitzero"`
	Message            *Modalities           `json:"message,omitzero"`
	Sampling           *SamplingCapabilities `json:"sampling,omitzero"`
}

// AppCapabilities are what a View can do.
type AppCapabilities struct {
	Experimental          Experimental    `json:"experimental,omitzero"`
	Tools                 *ListCapability `json:"tools,omitzero"` // the View's own tools, for the agent
	AvailableDisplayModes []DisplayMode   `json:"availableDisplayModes,omitzero"`
}

package mcpapps

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ClientCapabilities is what a client says of itself under [ExtensionID].
type ClientCapabilities struct {
	MIMETypes []string `json:"mimeTypes,omitzero"`
}

// Declare announces in a client's capabilities that it shows Views.
func Declare(caps *mcp.ClientCapabilities) {
	caps.AddExtension(ExtensionID, map[string]any{"mimeTypes": []any{MIMEType}})
}

// DeclareServer announces in a server's capabilities that it has Views.
func DeclareServer(caps *mcp.ServerCapabilities) {
	caps.AddExtension(ExtensionID, map[string]any{"mimeTypes": []any{MIMEType}})
}

// Supported says whether a client shows Views. Ask with the capabilities of the
// request (req.ClientCapabilities()), which are right for clients of both eras
// of MCP: those with a session, and those that say it with every request.
func Supported(caps *mcp.ClientCapabilities) bool {
	if caps == nil {
		return false
	}
	data, err := json.Marshal(caps.Extensions)
	return err == nil && supportsApps(data)
}

// ParseSupport is [Supported] for the capabilities as a client wrote them.
func ParseSupport(capabilities json.RawMessage) bool {
	var in struct {
		Extensions json.RawMessage `json:"extensions"`
	}
	return decodeStrict(capabilities, &in) == nil && supportsApps(in.Extensions)
}

func supportsApps(extensions json.RawMessage) bool {
	var in struct {
		UI ClientCapabilities `json:"io.modelcontextprotocol/ui"`
	}
	return len(extensions) > 0 && decodeStrict(extensions, &in) == nil && slices.ContainsFunc(in.UI.MIMETypes, IsApp)
}

// Experimental are capabilities that are not in the specification, by name.
type Experimental map[string]map[string]any

// ListChanged is a list of the server or the View; ListChanged says that news
// of it come by notification.
type ListChanged struct {
	ListChanged bool `json:"listChanged,omitzero"`
}

// Modalities are the kinds of content that a host takes.
type Modalities struct {
	Text              Flag `json:"text,omitzero"`
	Image             Flag `json:"image,omitzero"`
	Audio             Flag `json:"audio,omitzero"`
	Resource          Flag `json:"resource,omitzero"`
	ResourceLink      Flag `json:"resourceLink,omitzero"`
	StructuredContent Flag `json:"structuredContent,omitzero"`
}

// SandboxCapabilities are what a host really granted to a page.
type SandboxCapabilities struct {
	Permissions *Permissions `json:"permissions,omitzero"`
	CSP         *CSP         `json:"csp,omitzero"`
}

// SamplingCapabilities say that a View may ask the host's model.
type SamplingCapabilities struct {
	Tools Flag `json:"tools,omitzero"`
}

// HostCapabilities are what a host does for a View.
type HostCapabilities struct {
	Experimental       Experimental          `json:"experimental,omitzero"`
	OpenLinks          Flag                  `json:"openLinks,omitzero"`
	DownloadFile       Flag                  `json:"downloadFile,omitzero"`
	ServerTools        *ListChanged          `json:"serverTools,omitzero"`
	ServerResources    *ListChanged          `json:"serverResources,omitzero"`
	Logging            Flag                  `json:"logging,omitzero"`
	Sandbox            *SandboxCapabilities  `json:"sandbox,omitzero"`
	UpdateModelContext *Modalities           `json:"updateModelContext,omitzero"`
	Message            *Modalities           `json:"message,omitzero"`
	Sampling           *SamplingCapabilities `json:"sampling,omitzero"`
}

// AppCapabilities are what a View can do.
type AppCapabilities struct {
	Experimental          Experimental  `json:"experimental,omitzero"`
	Tools                 *ListChanged  `json:"tools,omitzero"` // tools of its own, for the agent
	AvailableDisplayModes []DisplayMode `json:"availableDisplayModes,omitzero"`
}

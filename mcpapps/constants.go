package mcpapps

// Names of the extension.
const (
	// ExtensionID announces the extension in capabilities.extensions.
	ExtensionID = "io.modelcontextprotocol/ui"
	// MIMEType marks a resource as the page of an App.
	MIMEType = "text/html;profile=mcp-app"
	// ProtocolVersion is what View and host agree on; it is not MCP's own.
	ProtocolVersion = "2026-01-26"
	// Scheme begins the address of every page.
	Scheme = "ui://"

	// MetaKey is where tools and resources keep their metadata in _meta.
	MetaKey = "ui"
	// FlatKey is the older place of a tool's page in _meta. It is read and
	// written beside MetaKey, because hosts still look there.
	FlatKey = "ui/resourceUri"
)

package mcpapps

// Identifiers of the extension.
const (
	// ExtensionID is the key of the extension in capabilities.extensions.
	ExtensionID = "io.modelcontextprotocol/ui"
	// MIMEType is the MIME type of the page of an App.
	MIMEType = "text/html;profile=mcp-app"
	// ProtocolVersion is the version of the protocol between View and host. It is
	// not the version of MCP.
	ProtocolVersion = "2026-01-26"
	// Scheme is the prefix of every page's URI.
	URIScheme = "ui://"

	// MetaKey is the key in _meta under which tools and resources have their
	// metadata.
	MetaKey = "ui"
	// FlatKey is the older key in _meta for the URI of a tool's page. It is read
	// and written beside MetaKey, because some hosts still use it.
	LegacyURIKey = "ui/resourceUri"
)

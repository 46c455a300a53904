package gateway

import (
	"bytes"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// clientName returns the name in a clientInfo, as the client sends it; empty if
// there is none. A bridge such as mcp-remote adds itself to the name of the client
// before it, as in "claude-ai (via mcp-remote 0.1.37)"; that part is left out.
func clientName(info []byte) []byte {
	raw := wire.Get(info, "name")
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(wire.Unescape(name))
	}
	name, _, _ = bytes.Cut(name, []byte(" (via "))
	return name
}

// searchesTools reports whether a client is known to search long lists of tools by
// itself, by the name in its clientInfo. Such a client loses by a list that has
// three tools to find the others: its own search would see only those three.
//
// docs/reference/exposure.md names the public source for each client;
// TestExposurePageNamesClients compares the two.
func searchesTools(info []byte) bool {
	name := clientName(info)
	for _, known := range searchingClients() {
		if bytes.EqualFold(name, []byte(known)) {
			return true
		}
	}
	return false
}

// searchingClients returns the names of clients that search tools by themselves.
func searchingClients() [7]string {
	return [...]string{
		"claude-code",
		"claude-ai",          // Claude Desktop
		"Anthropic/ClaudeAI", // Claude on the web, and its connectors
		"codex-mcp-client",
		"Visual Studio Code",
		"Visual Studio Code - Insiders",
		"cursor-vscode",
	}
}

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// Exposed returns the name of a tool or prompt on endpoints that join servers:
// server__name. If the name has characters other than [A-Za-z0-9_-], or the
// result would be longer than limit, it is rewritten and gets a hash of the
// true name. The result depends on nothing else, so it stays the same whichever
// servers are attached. A server id has no underscore, so the first "__" always
// ends it.
func Exposed(server, name string, limit int) string {
	full := server + "__" + name
	if len(full) <= limit && plainName(name) {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	clean := strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '_'
	}, name)
	room := max(limit-len(server)-2-len(suffix), 0)
	return server + "__" + clean[:min(room, len(clean))] + suffix
}

// plainName reports whether clients accept a name as it is.
func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }) < 0
}

// nameRune reports whether model providers accept a character in a tool name.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// ExposedURI returns the URI of a resource or template on endpoints that join
// servers. A ui:// page keeps its scheme, since hosts look for it.
func ExposedURI(server, uri string) string {
	if strings.HasPrefix(uri, mcpapps.URIScheme) {
		return mcpapps.AddNamespace(server, uri)
	}
	return server + "+" + uri
}

// splitURI splits an exposed URI into the server's id and the server's own URI.
func splitURI(exposed string) (server, uri string, ok bool) {
	if strings.HasPrefix(exposed, mcpapps.URIScheme) {
		return mcpapps.SplitNamespace(exposed)
	}
	return strings.Cut(exposed, "+")
}

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// Exposed gives the name under which a door that joins servers shows a tool or
// prompt: server__name. A name that holds other characters than [A-Za-z0-9_-],
// or would be longer than limit, is changed or cut and gets a hash of the true
// name, so that it is the same whoever else is connected. A server id has no
// underscore: the first "__" always ends it.
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

func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }) < 0
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// ExposedURI gives the URI under which a door that joins servers shows a
// resource or template. A ui:// page keeps its scheme, which hosts look for.
func ExposedURI(server, uri string) string {
	if strings.HasPrefix(uri, mcpapps.Scheme) {
		return mcpapps.Namespace(server, uri)
	}
	return server + "+" + uri
}

// splitURI reads an exposed URI: the server it names and that server's own URI.
func splitURI(exposed string) (server, uri string, ok bool) {
	if strings.HasPrefix(exposed, mcpapps.Scheme) {
		return mcpapps.Denamespace(exposed)
	}
	return strings.Cut(exposed, "+")
}

package mcpapps

import "strings"

// AddNamespace returns the URI of a page behind a gateway that combines servers: the
// page ui://x of the server s becomes ui://s/x. Other URIs stay as they are. The
// server's name must not be empty or contain a slash. [SplitNamespace] is the inverse.
func AddNamespace(server, uri string) string {
	rest, ok := strings.CutPrefix(uri, URIScheme)
	if !ok {
		return uri
	}
	return URIScheme + server + "/" + rest
}

// SplitNamespace splits the URI of a page behind a gateway into the server and the
// page's URI on that server. ok is false for a URI that [AddNamespace] cannot have
// produced.
func SplitNamespace(uri string) (server, original string, ok bool) {
	rest, ok := strings.CutPrefix(uri, URIScheme)
	if !ok {
		return "", "", false
	}
	server, rest, ok = strings.Cut(rest, "/")
	if !ok || server == "" {
		return "", "", false
	}
	return server, URIScheme + rest, true
}

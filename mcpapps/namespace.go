package mcpapps

import "strings"

// Namespace returns the URI of a page behind a gateway that combines servers: the
// page ui://x of the server s becomes ui://s/x. Other URIs stay as they are. The
// server's name must not be empty or contain a slash. [Denamespace] is the inverse.
func Namespace(server, uri string) string {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return uri
	}
	return Scheme + server + "/" + rest
}

// Denamespace splits the URI of a page behind a gateway into the server and the
// page's URI on that server. ok is false for a URI that [Namespace] cannot have
// produced.
func Denamespace(uri string) (server, original string, ok bool) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return "", "", false
	}
	server, rest, ok = strings.Cut(rest, "/")
	if !ok || server == "" {
		return "", "", false
	}
	return server, Scheme + rest, true
}

package mcpapps

import "strings"

// Namespace is a page's address behind a gateway that joins servers: the page
// ui://x of server s is ui://s/x there. Other addresses stay as they are. The
// server's name must not be empty or hold a slash; [Denamespace] undoes it.
func Namespace(server, uri string) string {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return uri
	}
	return Scheme + server + "/" + rest
}

// Denamespace is the server that a page behind a gateway belongs to, and the
// page's address there. ok is false for an address that [Namespace] cannot
// have made.
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

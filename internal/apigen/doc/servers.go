package doc

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// readServers reads the servers that n declares: the document, a path item or
// an operation. A URL that cannot be resolved is left out.
func (b *bundle) readServers(n *Node, w *pointerPath) []Server {
	list := n.Get("servers")
	if list == nil || list.Kind != Array {
		return nil
	}
	servers := make([]Server, 0, len(list.Items))
	for i, one := range list.Items {
		at := w.childPath("servers").childPath(fmt.Sprint(i))
		s := Server{URL: strings.TrimSpace(one.Get("url").ScalarText()), Description: one.Get("description").ScalarText()}
		if vars := one.Get("variables"); vars != nil {
			for _, v := range vars.Members {
				s.Variables = append(s.Variables, Variable{
					Name: v.Key, Default: v.Value.Get("default").ScalarText(), Description: v.Value.Get("description").ScalarText(), Enum: b.readStrings(v.Value.Get("enum"), at.childPath("enum")),
				})
			}
		}
		for _, name := range templateNames(s.URL) {
			if !slices.ContainsFunc(s.Variables, func(v Variable) bool { return v.Name == name }) {
				b.reportProblem(one.At, at, Warning, Missing, fmt.Sprintf("The server's URL has {%s}, which is not among its variables.", junctor.ShortenText(name, 40)), "Add it to variables, with a default.")
				s.Variables = append(s.Variables, Variable{Name: name})
			}
		}
		if s.URL = resolveServerURL(b.mainFile.url, s.URL); s.URL == "" {
			continue
		}
		servers = append(servers, s)
	}
	return servers
}

// documentServer returns the server of an API whose document declares none: the
// origin of the document itself.
func (b *bundle) documentServer(from, path string) []Server {
	if u := resolveServerURL(from, path); u != "" {
		return []Server{{URL: u}}
	}
	return nil
}

// resolveServerURL resolves the URL of a server against the address of the
// document. The URL may contain {variables}, which url.Parse does not accept.
// It returns "" if there is nothing to resolve it against.
func resolveServerURL(document, server string) string {
	switch {
	case strings.Contains(server, "://"):
		return server
	case strings.HasPrefix(server, "//"):
		if scheme, _, ok := strings.Cut(document, "://"); ok && strings.HasPrefix(scheme, "http") {
			return scheme + ":" + server
		}
		return "https:" + server
	case strings.HasPrefix(server, "{") && !strings.HasPrefix(document, "http"):
		return server // {scheme}://… or {host}/…: the user fills it in
	}
	base, err := url.Parse(document)
	if err != nil || !strings.HasPrefix(base.Scheme, "http") || base.Host == "" {
		return ""
	}
	origin := base.Scheme + "://" + base.Host
	if strings.HasPrefix(server, "/") {
		return strings.TrimSuffix(origin+server, "/")
	}
	to, err := base.Parse(server)
	if err != nil {
		return origin
	}
	to.RawQuery, to.Fragment = "", ""
	return strings.TrimSuffix(to.String(), "/")
}

package doc

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// servers reads those that stand at n.
func (b *bundle) servers(n *Node, w *where) []Server {
	list := n.Get("servers")
	if list == nil || list.Kind != Array {
		return nil
	}
	servers := make([]Server, 0, len(list.Items))
	for i, one := range list.Items {
		at := w.to("servers").to(fmt.Sprint(i))
		s := Server{URL: strings.TrimSpace(one.Get("url").Str()), Description: one.Get("description").Str()}
		if vars := one.Get("variables"); vars != nil {
			for _, v := range vars.Members {
				s.Variables = append(s.Variables, Variable{
					Name: v.Key, Default: v.Value.Get("default").Str(), Description: v.Value.Get("description").Str(), Enum: b.strings(v.Value.Get("enum"), at.to("enum")),
				})
			}
		}
		for _, name := range templates(s.URL) {
			if !slices.ContainsFunc(s.Variables, func(v Variable) bool { return v.Name == name }) {
				b.report(one.At, at, Warning, Missing, fmt.Sprintf("The server's URL has {%s}, which is not among its variables.", truncateText(name, 40)), "Add it to variables, with a default.")
				s.Variables = append(s.Variables, Variable{Name: name})
			}
		}
		if s.URL = absolute(b.main.url, s.URL); s.URL == "" {
			continue
		}
		servers = append(servers, s)
	}
	return servers
}

// ownServer is where an API is whose document does not say it: where the
// document is.
func (b *bundle) ownServer(from, path string) []Server {
	if u := absolute(from, path); u != "" {
		return []Server{{URL: u}}
	}
	return nil
}

// absolute resolves a server's URL, which may have {variables} that url.Parse
// does not take. It gives "" where there is nothing to resolve it against.
func absolute(document, server string) string {
	switch {
	case strings.Contains(server, "://"):
		return server
	case strings.HasPrefix(server, "//"):
		if scheme, _, ok := strings.Cut(document, "://"); ok && strings.HasPrefix(scheme, "http") {
			return scheme + ":" + server
		}
		return "https:" + server
	case strings.HasPrefix(server, "{") && !strings.HasPrefix(document, "http"):
		return server // {scheme}://… or {host}/…: a person fills it in
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

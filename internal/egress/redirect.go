package egress

import (
	"net/http"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// checkRedirect decides whether a redirect is followed, and removes from the request
// what another origin must not see. The transport judges the new address, as that of
// any request.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return junctor.Errorf(junctor.CodeUpstream, "%s redirects more than %d times", via[0].URL.Host, maxRedirects)
	}
	if r.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return junctor.Errorf(junctor.CodeDenied, "%s redirects from https to plain http", via[0].URL.Host)
	}
	// net/http copies the headers of the first request to each hop. So one foreign
	// origin anywhere on the way is enough: it chose the next hop.
	foreign := !isSameOrigin(r.URL, via[0].URL)
	for _, v := range via[1:] {
		foreign = foreign || !isSameOrigin(v.URL, via[0].URL)
	}
	if !foreign {
		return nil
	}
	if r.Body != nil && r.Body != http.NoBody {
		return junctor.Errorf(junctor.CodeDenied, "%s redirects a request with its body to another origin: use the address it redirects to", via[0].URL.Host)
	}
	// Nobody can know which headers are credentials, so only harmless ones stay.
	for name := range r.Header {
		if !isHarmlessHeader(name) {
			delete(r.Header, name) // not Del, which would miss a name that is not in canonical form
		}
	}
	return nil
}

// isHarmlessHeader lists the headers that another origin may see.
func isHarmlessHeader(header string) bool {
	switch header {
	case "Accept", "Accept-Language", "Cache-Control", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent":
		return true
	}
	return false
}

func isSameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// portOf returns the port of a URL, or the default of its scheme.
func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

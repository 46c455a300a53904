package egress

import (
	"net/http"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// checkRedirect lets a redirect pass or not, and takes from the request what
// the new origin must not see. Where the new address leads is judged by the
// transport, like that of any request.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return junctor.Errorf(junctor.CodeUpstream, "%s redirects more than %d times", via[0].URL.Host, maxRedirects)
	}
	if r.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return junctor.Errorf(junctor.CodeDenied, "%s redirects from https to plain http", via[0].URL.Host)
	}
	// Headers are copied from the first request on each hop, so one foreign
	// origin anywhere on the way is enough: it chose where the next hop leads.
	foreign := !sameOrigin(r.URL, via[0].URL)
	for _, v := range via[1:] {
		foreign = foreign || !sameOrigin(v.URL, via[0].URL)
	}
	if !foreign {
		return nil
	}
	if r.Body != nil && r.Body != http.NoBody {
		return junctor.Errorf(junctor.CodeDenied, "%s redirects a request with its body to another origin: use the address it redirects to", via[0].URL.Host)
	}
	// Which headers are credentials cannot be known: those go that are none.
	for name := range r.Header {
		if !harmless(name) {
			delete(r.Header, name) // as it is spelt: Del would miss one that is not in canonical form
		}
	}
	return nil
}

func harmless(header string) bool {
	switch header {
	case "Accept", "Accept-Language", "Cache-Control", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent":
		return true
	}
	return false
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

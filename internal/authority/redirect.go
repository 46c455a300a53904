package authority

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

const maxRedirect = 500

// editors are programs whose redirect addresses have a scheme of their own that
// is no domain turned round, as it should be.
func editors() []string {
	return []string{"cursor", "vscode", "vscode-insiders", "vscodium", "windsurf", "kiro", "zed", "goose", "raycast"}
}

// checkRedirect refuses an address that nobody should be sent to with a code:
// it is https, http on this machine (RFC 8252), or of a scheme of a program's
// own. Schemes that a browser or system does something with are none of those.
func checkRedirect(text string) (*url.URL, *fault) {
	no := func(why string) (*url.URL, *fault) {
		return nil, faultf("invalid_redirect_uri", "a redirect address is not taken: "+why)
	}
	if len(text) > maxRedirect || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) }) {
		return no("it is too long, or has characters that stand in no address")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return no("it is no address")
	case u.User != nil || strings.Contains(text, "#"):
		return no("it has a user's name or a fragment")
	case u.Scheme == "https" && u.Hostname() != "", u.Scheme == "http" && loopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return no("plain http is for this machine alone: 127.0.0.1, [::1] or localhost")
	case u.Scheme == "https":
		return no("it has no host")
	case (slices.Contains(editors(), u.Scheme) || strings.Contains(u.Scheme, ".")) && u.Opaque == "" && (u.Host != "" || strings.HasPrefix(u.Path, "/")):
		return u, nil
	}
	return no("use https, http://127.0.0.1 with any port, or a scheme that is a domain of the program turned round")
}

// loopback says whether a host's name is that of this machine.
func loopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// matches says whether an address is the registered one: to the letter, or on
// this machine with another port, which a program cannot know ahead.
func matches(registered, asked string) bool {
	if registered == asked {
		return true
	}
	a, fault := checkRedirect(registered)
	b, other := checkRedirect(asked)
	return fault == nil && other == nil && a.Scheme == "http" && withoutPort(a) == withoutPort(b)
}

// withoutPort is an address on this machine as it is for every port.
func withoutPort(u *url.URL) string {
	if u.Scheme != "http" {
		return u.String()
	}
	c := *u
	if c.Host = c.Hostname(); strings.Contains(c.Host, ":") {
		c.Host = "[" + c.Host + "]"
	}
	return c.String()
}

// sentTo says to whom an address leads, in words for a person; local is true
// where that is a program on their machine, which anybody may have started.
func sentTo(u *url.URL) (words string, local bool) {
	switch u.Scheme {
	case "https":
		return u.Host, false
	case "http":
		return "a program on this computer (" + u.Hostname() + ")", true
	}
	return "a program on this computer (" + u.Scheme + ":)", true
}

// with is an address with more parameters.
func with(address string, more url.Values) string {
	sign := "?"
	if strings.Contains(address, "?") {
		sign = "&"
	}
	return address + sign + more.Encode()
}

package server

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// maxRedirectLength bounds redirect addresses and document URLs, in bytes.
const maxRedirectLength = 500

// editorSchemes lists custom URI schemes of known programs that do not follow RFC
// 8252, by which a scheme is a reversed domain name.
func editorSchemes() []string {
	return []string{"cursor", "vscode", "vscode-insiders", "vscodium", "windsurf", "kiro", "zed", "goose", "raycast"}
}

// checkRedirect parses a redirect address and rejects unsafe ones. It accepts
// https, http on a loopback address (RFC 8252), and custom schemes: reversed domain
// names and editorSchemes. Schemes that browsers or systems interpret, such as
// javascript or file, have no dot and are rejected.
func checkRedirect(text string) (*url.URL, *oauthError) {
	no := func(why string) (*url.URL, *oauthError) {
		return nil, newOAuthError("invalid_redirect_uri", "invalid redirect URI: "+why)
	}
	if len(text) > maxRedirectLength || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) }) {
		return no("it is too long, or contains characters that a URL must not contain")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return no("it is not a URL")
	case u.User != nil || strings.Contains(text, "#"):
		return no("it contains a user or a fragment")
	case u.Scheme == "https" && u.Hostname() != "", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return no("plain http is allowed only for this machine: 127.0.0.1, [::1] or localhost")
	case u.Scheme == "https":
		return no("it has no host")
	case (slices.Contains(editorSchemes(), u.Scheme) || strings.Contains(u.Scheme, ".")) && u.Opaque == "" && (u.Host != "" || strings.HasPrefix(u.Path, "/")):
		return u, nil
	}
	return no("use https, http://127.0.0.1 with any port, or a reverse-domain scheme such as com.example.app")
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// matchesRedirect reports whether a requested redirect address is the registered
// one. Loopback addresses may differ in the port, which a native program cannot
// know beforehand (RFC 8252, 7.3); all others must be identical.
func matchesRedirect(registered, asked string) bool {
	if registered == asked {
		return true
	}
	a, fault := checkRedirect(registered)
	b, other := checkRedirect(asked)
	return fault == nil && other == nil && a.Scheme == "http" && withoutPort(a) == withoutPort(b)
}

// withoutPort returns a redirect address without the port if it is a loopback
// address. Consents are stored with it.
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

// describeRedirect describes in words where a redirect address leads. local is true
// for a program on the person's computer, which anybody may have started.
func describeRedirect(u *url.URL) (words string, local bool) {
	switch u.Scheme {
	case "https":
		return u.Host, false
	case "http":
		return "a program on this computer (" + u.Hostname() + ")", true
	}
	return "a program on this computer (" + u.Scheme + ":)", true
}

// addQuery appends parameters to an address.
func addQuery(address string, more url.Values) string {
	sign := "?"
	if strings.Contains(address, "?") {
		sign = "&"
	}
	return address + sign + more.Encode()
}

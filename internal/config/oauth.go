package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// OAuth defines which access tokens the MCP endpoints accept: tokens of the
// issuers, and tokens that the instance itself issues to programs of its users.
type OAuth struct {
	Server    string // auto, on or off
	Issuers   []string
	Audiences []string // accepted at every endpoint; none: only the address of the endpoint itself
	Scopes    []ScopeRule
	Admission
}

// ScopeRule maps a scope of a token to a scope of Junctor.
type ScopeRule struct {
	Name  string // in the token
	Scope junctor.Scope
}

// String returns the rule in the form that parseScope accepts.
func (r ScopeRule) String() string {
	if r.Name == string(r.Scope) {
		return r.Name
	}
	return r.Name + "=" + string(r.Scope)
}

// oauthSettings returns the settings that concern access tokens.
func oauthSettings() []Setting {
	return slices.Concat([]Setting{
		{
			Group: GroupOAuth, Name: "oauth-server", Kind: KindText, Default: serverAuto, Choices: []string{serverAuto, serverOn, serverOff},
			Help: "whether MCP clients can log in with OAuth: the user signs in here and consents; auto allows it over https and on this machine, unless --oauth-issuers is set",
			set: func(c *Config, s string) (err error) {
				c.OAuth.Server, err = parseChoice([]string{serverAuto, serverOn, serverOff})(s)
				return err
			},
			show: func(c *Config) string { return c.OAuth.Server },
		},
		{
			Group: GroupOAuth, Name: "oauth-issuers", Kind: KindList,
			Help: "authorization servers whose access tokens (JWT) the MCP endpoints accept, such as https://idp.example.com",
			set:  func(c *Config, s string) (err error) { c.OAuth.Issuers, err = parseList(s, parseEndpoint); return err },
			show: func(c *Config) string { return strings.Join(c.OAuth.Issuers, ",") },
		},
		{
			Group: GroupOAuth, Name: "oauth-audiences", Kind: KindList,
			Help: "audiences of which a token must have one (default: the URL of the endpoint, which is the public URL with /mcp, /mcp/s/{server} or /mcp/a/{agent})",
			set:  func(c *Config, s string) (err error) { c.OAuth.Audiences, err = parseList(s, parseText); return err },
			show: func(c *Config) string { return strings.Join(c.OAuth.Audiences, ",") },
		},
		{
			Group: GroupOAuth, Name: "oauth-scopes", Kind: KindList, Default: "tools:read,tools:call",
			Help: "scopes that tokens can carry and that clients are asked to request; name=scope maps a scope of the provider to a scope of Junctor",
			set:  func(c *Config, s string) (err error) { c.OAuth.Scopes, err = parseList(s, parseScope); return err },
			show: func(c *Config) string {
				texts := make([]string, len(c.OAuth.Scopes))
				for i, r := range c.OAuth.Scopes {
					texts[i] = r.String()
				}
				return strings.Join(texts, ",")
			},
		},
	}, admissionSettings(GroupOAuth, "oauth", func(c *Config) *Admission { return &c.OAuth.Admission }))
}

// parseScope parses scope or name=scope. The name may contain an equals sign.
func parseScope(s string) (ScopeRule, error) {
	name, scope := s, s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		name, scope = s[:i], s[i+1:]
	}
	if _, err := parseWord(name); err != nil || name == "" || !slices.Contains(junctor.Scopes(), junctor.Scope(scope)) {
		return ScopeRule{}, fmt.Errorf("has %q: write a scope of Junctor, such as tools:call, or name=tools:call", shortenText(s))
	}
	return ScopeRule{name, junctor.Scope(scope)}, nil
}

// The values of oauth-server.
const (
	serverAuto = "auto"
	serverOn   = "on"
	serverOff  = "off"
)

// IssuesTokens reports whether the instance issues tokens to programs of users
// who consent. By default it does if no other issuer is configured, the sign-in
// pages and the MCP endpoints are served, and the connection is confidential.
func (c *Config) IssuesTokens() bool {
	switch c.OAuth.Server {
	case serverOn:
		return true
	case serverOff:
		return false
	}
	return len(c.OAuth.Issuers) == 0 && c.IsEndpointOn("admin") && c.IsEndpointOn("mcp") && c.isConfidential()
}

// isConfidential reports whether clients reach the instance by https or without
// leaving the machine.
func (c *Config) isConfidential() bool {
	u := c.PublicURL
	return u == nil || u.Scheme == "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// checkOAuth checks the settings of access tokens against each other.
func (l *loader) checkOAuth() {
	o := &l.config.OAuth
	if o.Server == serverOn {
		switch {
		case !l.config.IsEndpointOn("admin") || !l.config.IsEndpointOn("mcp"):
			l.addProblem("", "oauth-server", "--oauth-server=on requires the endpoints admin (for the sign-in page) and mcp: remove them from --endpoints-off")
		case !l.config.isConfidential():
			l.addProblem("", "oauth-server", "--oauth-server=on requires https: set --public-url to an https URL")
		}
	}
	switch {
	case len(o.Issuers) == 0 && len(o.Audiences) > 0:
		l.addProblem("", "oauth-issuers", "--oauth-audiences has no effect without --oauth-issuers: set --oauth-issuers, or remove --oauth-audiences")
	case len(o.Issuers) > 0:
		l.checkAdmission("oauth", strings.Join(o.Issuers, " or "), o.Admission)
	}
}

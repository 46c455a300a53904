package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// OAuth says whose tokens open the MCP doors: those of the issuers, and those
// that the instance gives to programs of its users.
type OAuth struct {
	Server    string // auto, on or off
	Issuers   []string
	Audiences []string // that tokens may be for on every door; none is the door's own address
	Scopes    []ScopeRule
	Admission
}

// ScopeRule says what a scope of a token is here.
type ScopeRule struct {
	Name  string // as the provider calls it
	Scope junctor.Scope
}

func (r ScopeRule) String() string {
	if r.Name == string(r.Scope) {
		return r.Name
	}
	return r.Name + "=" + string(r.Scope)
}

func oauthSettings() []Setting {
	return slices.Concat([]Setting{
		{
			Name: "oauth-server", Kind: KindText, Default: serverAuto, Choices: []string{serverAuto, serverOn, serverOff},
			Help: "let MCP clients log in with OAuth as users of this instance, who sign in and consent; auto does so unless --oauth-issuers names who issues tokens",
			set: func(c *Config, s string) (err error) {
				c.OAuth.Server, err = oneOf([]string{serverAuto, serverOn, serverOff})(s)
				return err
			},
			show: func(c *Config) string { return c.OAuth.Server },
		},
		{
			Name: "oauth-issuers", Kind: KindList,
			Help: "authorization servers whose tokens (JWT) open the MCP doors, such as https://idp.example.com",
			set:  func(c *Config, s string) (err error) { c.OAuth.Issuers, err = parseList(s, parseEndpoint); return err },
			show: func(c *Config) string { return strings.Join(c.OAuth.Issuers, ",") },
		},
		{
			Name: "oauth-audiences", Kind: KindList,
			Help: "what tokens have to be for (default the address of the door: the public URL with /mcp, /mcp/s/{server} or /mcp/a/{agent})",
			set:  func(c *Config, s string) (err error) { c.OAuth.Audiences, err = parseList(s, parseText); return err },
			show: func(c *Config) string { return strings.Join(c.OAuth.Audiences, ",") },
		},
		{
			Name: "oauth-scopes", Kind: KindList, Default: "tools:read,tools:call",
			Help: "scopes that tokens can carry, and that clients are told to ask for; name=scope where the provider calls one by another name",
			set:  func(c *Config, s string) (err error) { c.OAuth.Scopes, err = parseList(s, parseScope); return err },
			show: func(c *Config) string {
				texts := make([]string, len(c.OAuth.Scopes))
				for i, r := range c.OAuth.Scopes {
					texts[i] = r.String()
				}
				return strings.Join(texts, ",")
			},
		},
	}, admissionSettings("oauth", func(c *Config) *Admission { return &c.OAuth.Admission }))
}

// parseScope reads scope or name=scope. A name may hold an equals sign.
func parseScope(s string) (ScopeRule, error) {
	name, scope := s, s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		name, scope = s[:i], s[i+1:]
	}
	if _, err := parseWord(name); err != nil || name == "" || !slices.Contains(junctor.Scopes(), junctor.Scope(scope)) {
		return ScopeRule{}, fmt.Errorf("has %q: write a scope of Junctor, such as tools:call, or name=tools:call", short(s))
	}
	return ScopeRule{name, junctor.Scope(scope)}, nil
}

// Values of oauth-server.
const (
	serverAuto = "auto"
	serverOn   = "on"
	serverOff  = "off"
)

// IssuesTokens says whether programs get tokens here for users who consent:
// where there are pages to sign in at and doors that tokens open, and nobody
// reads along on the way.
func (c *Config) IssuesTokens() bool {
	switch c.OAuth.Server {
	case serverOn:
		return true
	case serverOff:
		return false
	}
	return len(c.OAuth.Issuers) == 0 && c.DoorOn("admin") && c.DoorOn("mcp") && c.private()
}

// private says whether nobody reads along on the way to the instance.
func (c *Config) private() bool {
	u := c.PublicURL
	return u == nil || u.Scheme == "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// oauth checks how the settings of tokens go together.
func (l *loader) oauth() {
	o := &l.config.OAuth
	if o.Server == serverOn {
		switch {
		case !l.config.DoorOn("admin") || !l.config.DoorOn("mcp"):
			l.problem("", "oauth-server", "--oauth-server=on needs the doors admin, where people sign in, and mcp, and --doors-off names one of them")
		case !l.config.private():
			l.problem("", "oauth-server", "--oauth-server=on needs https: set --public-url to an https address")
		}
	}
	switch {
	case len(o.Issuers) == 0 && len(o.Audiences) > 0:
		l.problem("", "oauth-issuers", "--oauth-audiences is for tokens of the servers that --oauth-issuers names, and it names none")
	case len(o.Issuers) > 0:
		l.admission("oauth", strings.Join(o.Issuers, " or "), o.Admission)
	}
}

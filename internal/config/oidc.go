package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
)

// OIDC is the identity provider that people sign in with. Without an issuer
// there is none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string // env:NAME or file:/path; "" where the client has none
	Scopes       []string
	Name         string // what people call it; "" is the issuer's host
	Tenant       junctor.TenantID
	Users        string // UsersCreate or UsersLink
	Domains      []string
	Roles        []RoleRule
	Role         junctor.UserRole
}

// What becomes of somebody who signs in for the first time.
const (
	UsersCreate = "create"
	UsersLink   = "link"
)

// RoleRule gives a role to people of whom a claim says a value.
type RoleRule struct {
	Claim, Value string
	Role         junctor.UserRole
}

func (r RoleRule) String() string { return r.Claim + "=" + r.Value + ":" + string(r.Role) }

func oidcSettings() []Setting {
	return []Setting{
		{
			Name: "oidc-issuer", Kind: KindText,
			Help: "OpenID Connect provider that people sign in with, such as https://accounts.google.com",
			set:  func(c *Config, s string) (err error) { c.OIDC.Issuer, err = parseEndpoint(s); return err },
			show: func(c *Config) string { return c.OIDC.Issuer },
		},
		{
			Name: "oidc-client-id", Kind: KindText,
			Help: "what the provider knows this instance by; its redirect address is the public URL with /login/callback",
			set:  func(c *Config, s string) (err error) { c.OIDC.ClientID, err = parseText(s); return err },
			show: func(c *Config) string { return c.OIDC.ClientID },
		},
		{
			Name: "oidc-client-secret", Kind: KindText,
			Help: "where the client's secret is read from: env:NAME or file:/path; none for a public client",
			set:  func(c *Config, s string) (err error) { c.OIDC.ClientSecret, err = parseReference(s); return err },
			show: func(c *Config) string { return c.OIDC.ClientSecret },
		},
		{
			Name: "oidc-scopes", Kind: KindList, Default: "profile,email",
			Help: "what to ask the provider for, beside openid",
			set:  func(c *Config, s string) (err error) { c.OIDC.Scopes, err = parseList(s, parseWord); return err },
			show: func(c *Config) string { return strings.Join(c.OIDC.Scopes, ",") },
		},
		{
			Name: "oidc-name", Kind: KindText,
			Help: "what people call the provider (default its host)",
			set:  func(c *Config, s string) (err error) { c.OIDC.Name, err = parseText(s); return err },
			show: func(c *Config) string { return c.OIDC.Name },
		},
		{
			Name: "oidc-tenant", Kind: KindText, Default: string(junctor.DefaultTenant),
			Help: "tenant whose users come in this way",
			set: func(c *Config, s string) error {
				c.OIDC.Tenant = junctor.TenantID(s)
				if junctor.CheckTenantID(c.OIDC.Tenant) != nil {
					return fmt.Errorf("is no tenant: %q", short(s))
				}
				return nil
			},
			show: func(c *Config) string { return string(c.OIDC.Tenant) },
		},
		{
			Name: "oidc-users", Kind: KindText, Default: UsersLink, Choices: []string{UsersLink, UsersCreate},
			Help: "whom to let in for the first time: link takes users whose name is the person's e-mail address, create makes new ones too",
			set: func(c *Config, s string) (err error) {
				c.OIDC.Users, err = oneOf([]string{UsersLink, UsersCreate})(s)
				return err
			},
			show: func(c *Config) string { return c.OIDC.Users },
		},
		{
			Name: "oidc-domains", Kind: KindList,
			Help: "e-mail domains of people to let in, such as example.com; * is all",
			set:  func(c *Config, s string) (err error) { c.OIDC.Domains, err = parseList(s, parseDomain); return err },
			show: func(c *Config) string { return strings.Join(c.OIDC.Domains, ",") },
		},
		{
			Name: "oidc-roles", Kind: KindList,
			Help: "roles by what the provider says of a person, at each sign-in, as claim=value:role, such as groups=platform:admin",
			set:  func(c *Config, s string) (err error) { c.OIDC.Roles, err = parseList(s, parseRole); return err },
			show: func(c *Config) string { return showRoles(c.OIDC.Roles) },
		},
		{
			Name: "oidc-role", Kind: KindText, Choices: roleNames(),
			Help: "role of people whom no rule of oidc-roles fits; none lets them not in where there are rules",
			set: func(c *Config, s string) error {
				role, err := oneOf(roleNames())(s)
				c.OIDC.Role = junctor.UserRole(role)
				return err
			},
			show: func(c *Config) string { return string(c.OIDC.Role) },
		},
	}
}

func roleNames() []string {
	roles := junctor.UserRoles()
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

// parseReference takes the name of a secret, and never the secret itself: it
// would stand in a file, or in the list of processes.
func parseReference(s string) (string, error) {
	kind, rest, _ := strings.Cut(s, ":")
	if rest == "" || kind != "env" && kind != "file" {
		return "", errors.New("must say where the secret is: env:NAME or file:/path")
	}
	return s, nil
}

func parseText(s string) (string, error) {
	if strings.TrimSpace(s) == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New("must be a text of 1 to 200 characters")
	}
	return s, nil
}

func parseWord(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return "", fmt.Errorf("has %q, which is no scope", short(s))
	}
	return s, nil
}

func parseDomain(s string) (string, error) {
	if s != "*" && !isName(s) {
		return "", fmt.Errorf("has %q: write domains such as example.com, or *", short(s))
	}
	return strings.ToLower(s), nil
}

func parseRole(s string) (RoleRule, error) {
	claim, rest, ok := strings.Cut(s, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || claim == "" || colon <= 0 || !slices.Contains(roleNames(), rest[colon+1:]) {
		return RoleRule{}, fmt.Errorf("has %q: write claim=value:role, with a role of %s", short(s), strings.Join(roleNames(), ", "))
	}
	return RoleRule{claim, rest[:colon], junctor.UserRole(rest[colon+1:])}, nil
}

func showRoles(rules []RoleRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}

// oidc checks how the settings of the identity provider go together.
func (l *loader) oidc() {
	o := &l.config.OIDC
	switch {
	case o.Issuer == "" && (o.ClientID != "" || o.ClientSecret != ""):
		l.problem("", "oidc-issuer", "--oidc-client-id is for the provider that --oidc-issuer names, and it names none")
	case o.Issuer == "":
	case o.ClientID == "":
		l.problem("", "oidc-client-id", "the provider of --oidc-issuer knows this instance by a client id: give it with --oidc-client-id")
	case o.Users == UsersCreate && len(o.Domains) == 0 && len(o.Roles) == 0:
		l.problem("", "oidc-domains", "--oidc-users create would let everybody in who has an account at "+o.Issuer+
			": name e-mail domains with --oidc-domains (* is all), or roles with --oidc-roles")
	case o.Users == UsersCreate && len(o.Roles) == 0 && o.Role == "":
		l.problem("", "oidc-role", "--oidc-users create needs the role of new users: give --oidc-role, or rules with --oidc-roles")
	}
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// OIDC is the identity provider that users sign in with. Without an issuer
// there is none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string // env:NAME or file:/path; "" for a public client
	Scopes       []string
	Name         string // shown to users; "": the host of the issuer
	Admission
}

// oidcSettings returns the settings of the identity provider.
func oidcSettings() []Setting {
	return slices.Concat([]Setting{
		{
			Group: GroupOIDC, Name: "oidc-issuer", Kind: KindText,
			Help: "OpenID Connect provider that users sign in with, such as https://accounts.google.com",
			set:  func(c *Config, s string) (err error) { c.OIDC.Issuer, err = parseEndpoint(s); return err },
			show: func(c *Config) string { return c.OIDC.Issuer },
		},
		{
			Group: GroupOIDC, Name: "oidc-client-id", Kind: KindText,
			Help: "client ID of this instance at the provider; register the public URL with /login/callback there as the redirect URL",
			set:  func(c *Config, s string) (err error) { c.OIDC.ClientID, err = parseText(s); return err },
			show: func(c *Config) string { return c.OIDC.ClientID },
		},
		{
			Group: GroupOIDC, Name: "oidc-client-secret", Kind: KindText,
			Help: "reference to the client secret, env:NAME or file:/path; leave it empty for a public client",
			set:  func(c *Config, s string) (err error) { c.OIDC.ClientSecret, err = parseReference(s); return err },
			show: func(c *Config) string { return c.OIDC.ClientSecret },
		},
		{
			Group: GroupOIDC, Name: "oidc-scopes", Kind: KindList, Default: "profile,email",
			Help: "scopes to request from the provider in addition to openid",
			set:  func(c *Config, s string) (err error) { c.OIDC.Scopes, err = parseList(s, parseWord); return err },
			show: func(c *Config) string { return strings.Join(c.OIDC.Scopes, ",") },
		},
		{
			Group: GroupOIDC, Name: "oidc-name", Kind: KindText,
			Help: "name of the provider on the sign-in page (default: its host)",
			set:  func(c *Config, s string) (err error) { c.OIDC.Name, err = parseText(s); return err },
			show: func(c *Config) string { return c.OIDC.Name },
		},
	}, admissionSettings(GroupOIDC, "oidc", func(c *Config) *Admission { return &c.OIDC.Admission }))
}

// parseReference parses the reference to a secret. The secret itself is
// refused: it would be in a file, or in the list of processes. The error does
// not repeat it.
func parseReference(s string) (string, error) {
	kind, rest, _ := strings.Cut(s, ":")
	if rest == "" || kind != "env" && kind != "file" {
		return "", errors.New("must be a reference to the secret, env:NAME or file:/path, not the secret itself")
	}
	return s, nil
}

// parseText parses a text of 1 to 200 bytes without control characters.
func parseText(s string) (string, error) {
	if strings.TrimSpace(s) == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New("must be a text of 1 to 200 characters")
	}
	return s, nil
}

// parseWord parses an OAuth scope, whose characters RFC 6749 limits.
func parseWord(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return "", fmt.Errorf("has %q, which is not an OAuth scope: a scope has no spaces, quotes or backslashes", shortenText(s))
	}
	return s, nil
}

// checkOIDC checks the settings of the identity provider against each other.
func (l *loader) checkOIDC() {
	o := &l.config.OIDC
	switch {
	case o.Issuer == "" && (o.ClientID != "" || o.ClientSecret != ""):
		l.addProblem("", "oidc-issuer", "--oidc-client-id and --oidc-client-secret have no effect without --oidc-issuer: set --oidc-issuer, or remove them")
	case o.Issuer == "":
	case o.ClientID == "":
		l.addProblem("", "oidc-client-id", "--oidc-issuer requires --oidc-client-id: set it to the client ID that the provider gave this instance")
	default:
		l.checkAdmission("oidc", o.Issuer, o.Admission)
	}
}

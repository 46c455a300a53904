package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// ProviderConfig describes an identity provider, and which of its users are admitted in
// which role. Without a Name, the provider is called by its issuer's host.
type ProviderConfig struct {
	identity.AdmissionPolicy
	ClientID string
	// Secret reads the client's secret whenever it is needed; nil if the client has none.
	Secret func(context.Context) (string, error)
	Scopes []string // asked for beside openid
	// Pin remembers where codes and the client's secret were sent; nil remembers nothing.
	Pin TokenPin
}

// TokenPin keeps the origin of the token endpoint at which the first user signed in. The
// provider's discovery document names that endpoint, often on another host than the
// issuer's (Google's is oauth2.googleapis.com), so nothing in it shows which one is right.
// Without the pin, anybody who changes the document later would receive the client's
// secret.
type TokenPin interface {
	// Origin returns the pinned origin.
	Origin(ctx context.Context) (string, error) // "" where there is none
	// PinTo pins an origin.
	PinTo(ctx context.Context, origin string) error
	// Remedy returns the instruction for an admin who wants to allow another origin.
	Remedy() string
}

// Provider is an identity provider. Its discovery document is read when it is first
// needed, so that an unreachable provider does not prevent a start.
type Provider struct {
	config ProviderConfig
	client *http.Client

	mu sync.Mutex
	// discovery is nil until the document was read.
	discovery *discoveredProvider
}

// discoveredProvider is a provider with its endpoints.
type discoveredProvider struct {
	*oidc.Provider
	namesIssuer bool // its answers name it
}

// NewProvider checks the configuration and sends nothing. All requests go through client.
func NewProvider(cfg ProviderConfig, client *http.Client) (*Provider, error) {
	switch u, err := url.Parse(cfg.Issuer); {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, junctor.Errorf(junctor.CodeInvalid, "the issuer of the identity provider (--oidc-issuer) must be an https URL")
	case cfg.ClientID == "":
		return nil, junctor.Errorf(junctor.CodeInvalid, "the client ID for the identity provider is missing: set --oidc-client-id")
	case client == nil:
		return nil, junctor.Errorf(junctor.CodeInternal, "signin: the identity provider has no HTTP client")
	case cfg.Name == "":
		cfg.Name = u.Host
	}
	if cfg.Tenant == "" {
		cfg.Tenant = junctor.DefaultTenant
	}
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		cfg.Scopes = append([]string{oidc.ScopeOpenID}, cfg.Scopes...)
	}
	return &Provider{config: cfg, client: client}, nil
}

// Name returns the name of the provider for users.
func (p *Provider) Name() string { return p.config.Name }

// discoverEndpoints reads the discovery document, once. A failure is not kept: the next
// call tries again.
func (p *Provider) discoverEndpoints(ctx context.Context) (*discoveredProvider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.discovery != nil {
		return p.discovery, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.config.Issuer)
	if err != nil {
		return nil, p.failWith("does not return its metadata (/.well-known/openid-configuration)", err)
	}
	var more struct {
		SaysIssuer bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, p.failWith("does not return its metadata (/.well-known/openid-configuration)", err)
	}
	if e := found.Endpoint(); !isWebAddress(e.AuthURL) || !isWebAddress(e.TokenURL) {
		return nil, p.failWith("names no valid authorization_endpoint and token_endpoint", nil)
	}
	p.discovery = &discoveredProvider{found, more.SaysIssuer}
	return p.discovery, nil
}

// isWebAddress reports whether text is an http or https address with a host.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// failWith returns the error for a provider that does not do its part; what completes the
// sentence. The provider's answer is not repeated, because it may contain what was sent.
func (p *Provider) failWith(what string, err error) error {
	e := junctor.Errorf(junctor.CodeUnavailable, "the identity provider %s %s", p.config.Issuer, what)
	var refused *oauth2.RetrieveError
	var known *junctor.Error
	var wrong *oidc.IssuerMismatchError
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		e.Cause = errors.New("it answered " + refused.Response.Status + " " + sanitizeErrorCode(refused.ErrorCode))
	case errors.As(err, &known):
		e.Cause = known
	case errors.As(err, &wrong):
		e.Cause = errors.New("its metadata has another issuer")
	}
	return e
}

// sanitizeErrorCode returns an error code of another party without characters that could
// forge a log line or a page.
func sanitizeErrorCode(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == '_' {
			return r
		}
		return -1
	}, s[:min(len(s), 40)])
}

// originOf returns the scheme, host and port of a web address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkTokenOrigin refuses to send anything to a token endpoint of another origin than the
// pinned one.
func (p *Provider) checkTokenOrigin(ctx context.Context, d *discoveredProvider) error {
	if p.config.Pin == nil {
		return nil
	}
	pinned, err := p.config.Pin.Origin(ctx)
	if err != nil {
		return err
	}
	if now := originOf(d.Endpoint().TokenURL); pinned != "" && pinned != now {
		return junctor.Errorf(junctor.CodeUnavailable, "the identity provider %s names a token endpoint at %s, but users signed in with %s until now: the client secret was not sent; if the provider's operator confirms the change, %s",
			p.config.Issuer, now, pinned, p.config.Pin.Remedy())
	}
	return nil
}

// pinTokenOrigin pins the token endpoint at which a user signed in.
func (p *Provider) pinTokenOrigin(ctx context.Context, d *discoveredProvider) error {
	if p.config.Pin == nil {
		return nil
	}
	return p.config.Pin.PinTo(ctx, originOf(d.Endpoint().TokenURL))
}

// oauthConfig returns the OAuth client of this instance at the provider, with its secret.
// It checks the pin first, so that no caller can send the secret to another origin.
func (p *Provider) oauthConfig(ctx context.Context, d *discoveredProvider, redirect string) (*oauth2.Config, error) {
	if err := p.checkTokenOrigin(ctx, d); err != nil {
		return nil, err
	}
	c := &oauth2.Config{ClientID: p.config.ClientID, Endpoint: d.Endpoint(), RedirectURL: redirect, Scopes: p.config.Scopes}
	if p.config.Secret != nil {
		secret, err := p.config.Secret(ctx)
		if err != nil {
			return nil, err
		}
		c.ClientSecret = secret
	}
	return c, nil
}

// exchangeCode exchanges a code for the provider's claims about the user. verifier is that
// of PKCE. nonce is the one that the ID token has to repeat.
func (p *Provider) exchangeCode(ctx context.Context, redirect, code, verifier, nonce string) (identity.Claims, error) {
	d, err := p.discoverEndpoints(ctx)
	if err != nil {
		return identity.Claims{}, err
	}
	c, err := p.oauthConfig(ctx, d, redirect)
	if err != nil {
		return identity.Claims{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return identity.Claims{}, p.failWith("rejected the authorization code", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := d.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return identity.Claims{}, p.failWith("returned an ID token that is not valid", nil)
	}
	out := identity.Claims{Subject: id.Subject}
	if err := id.Claims(&out.Values); err != nil {
		return identity.Claims{}, p.failWith("returned an ID token that cannot be read", nil)
	}
	switch azp, named := out.Values["azp"]; {
	case !equalSecrets(id.Nonce, nonce):
		return identity.Claims{}, p.failWith("returned an ID token for another sign-in", nil)
	case id.Subject == "":
		return identity.Claims{}, p.failWith("returned an ID token without sub", nil)
	case named && azp != p.config.ClientID, !named && len(id.Audience) > 1:
		return identity.Claims{}, p.failWith("returned an ID token for another client", nil)
	}
	if err := p.pinTokenOrigin(ctx, d); err != nil {
		return identity.Claims{}, err
	}
	out.Complete = true
	return out, p.addUserInfo(ctx, d, token, &out)
}

// addUserInfo adds claims from the UserInfo endpoint, for providers whose ID tokens have
// no email. Claims of the ID token, which are signed, are not replaced.
func (p *Provider) addUserInfo(ctx context.Context, d *discoveredProvider, token *oauth2.Token, c *identity.Claims) error {
	if _, has := c.Values["email"]; has || d.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return p.failWith("does not answer the userinfo request", err)
	}
	if info.Subject != c.Subject {
		return p.failWith("returned userinfo of another user", nil)
	}
	all := map[string]any{}
	if err := info.Claims(&all); err != nil {
		return p.failWith("returned userinfo that cannot be read", nil)
	}
	for name, value := range all {
		if _, has := c.Values[name]; !has { // what is signed holds
			c.Values[name] = value
		}
	}
	return nil
}

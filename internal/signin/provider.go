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

// ProviderConfig says who vouches for people, and whom of them to let in as
// what. Without a Name people call it by its issuer's host.
type ProviderConfig struct {
	identity.Admission
	ClientID string
	// Secret reads the client's secret whenever it is needed; nil where the
	// client has none.
	Secret func(context.Context) (string, error)
	Scopes []string // asked for beside openid
	// Pin keeps where codes and the client's secret were sent; nil keeps nothing.
	Pin TokenPin
}

// TokenPin keeps the origin of the token endpoint at which somebody signed in first. The
// provider's discovery document names that endpoint, often on another host than the
// issuer's (Google's is oauth2.googleapis.com), so nothing in it says which is right:
// whoever changes the document later would get the secret.
type TokenPin interface {
	Origin(ctx context.Context) (string, error) // "" where there is none
	PinTo(ctx context.Context, origin string) error
	// Remedy says what an admin does to allow another one.
	Remedy() string
}

// Provider is an identity provider. It is asked what it offers when it is first
// needed.
type Provider struct {
	cfg    ProviderConfig
	client *http.Client

	mu    sync.Mutex
	found *discovered
}

type discovered struct {
	*oidc.Provider
	saysIssuer bool // its answers name it
}

// NewProvider checks the configuration. All requests go through client.
func NewProvider(cfg ProviderConfig, client *http.Client) (*Provider, error) {
	switch u, err := url.Parse(cfg.Issuer); {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, junctor.Errorf(junctor.CodeInvalid, "the issuer of the identity provider is its https address")
	case cfg.ClientID == "":
		return nil, junctor.Errorf(junctor.CodeInvalid, "the identity provider knows this instance by a client id: set it")
	case client == nil:
		return nil, junctor.Errorf(junctor.CodeInternal, "an identity provider needs a client to be reached with")
	case cfg.Name == "":
		cfg.Name = u.Host
	}
	if cfg.Tenant == "" {
		cfg.Tenant = junctor.DefaultTenant
	}
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		cfg.Scopes = append([]string{oidc.ScopeOpenID}, cfg.Scopes...)
	}
	return &Provider{cfg: cfg, client: client}, nil
}

// Name is what people call the provider.
func (p *Provider) Name() string { return p.cfg.Name }

// discover asks the provider what it offers, once.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, p.away("says not what it offers", err)
	}
	var more struct {
		SaysIssuer bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, p.away("says not what it offers", err)
	}
	if e := found.Endpoint(); !isWeb(e.AuthURL) || !isWeb(e.TokenURL) {
		return nil, p.away("says not where to sign in", nil)
	}
	p.found = &discovered{found, more.SaysIssuer}
	return p.found, nil
}

func isWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// away says that the provider does not do its part. What it answered is not
// repeated: it may hold what was sent.
func (p *Provider) away(what string, err error) error {
	e := junctor.Errorf(junctor.CodeUnavailable, "the identity provider %s %s", p.cfg.Issuer, what)
	var refused *oauth2.RetrieveError
	var known *junctor.Error
	var wrong *oidc.IssuerMismatchError
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		e.Cause = errors.New("it answered " + refused.Response.Status + " " + word(refused.ErrorCode))
	case errors.As(err, &known):
		e.Cause = known
	case errors.As(err, &wrong):
		e.Cause = errors.New("it calls itself by another issuer")
	}
	return e
}

// word is a short code of somebody else, fit for a log.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == '_' {
			return r
		}
		return -1
	}, s[:min(len(s), 40)])
}

// originOf is the scheme, host and port of an address of the web.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkPin refuses to send anything to a token endpoint of another origin than the one
// where people signed in until now.
func (p *Provider) checkPin(ctx context.Context, d *discovered) error {
	if p.cfg.Pin == nil {
		return nil
	}
	pinned, err := p.cfg.Pin.Origin(ctx)
	if err != nil {
		return err
	}
	if now := originOf(d.Endpoint().TokenURL); pinned != "" && pinned != now {
		return junctor.Errorf(junctor.CodeUnavailable, "the identity provider %s names a token endpoint at %s, and people signed in with the one at %s until now: the client's secret is not sent there; if the provider's operator says that this is right, %s",
			p.cfg.Issuer, now, pinned, p.cfg.Pin.Remedy())
	}
	return nil
}

// pin remembers the token endpoint that somebody signed in with.
func (p *Provider) pin(ctx context.Context, d *discovered) error {
	if p.cfg.Pin == nil {
		return nil
	}
	return p.cfg.Pin.PinTo(ctx, originOf(d.Endpoint().TokenURL))
}

// oauth is the client that this instance is to the provider.
func (p *Provider) oauth(ctx context.Context, d *discovered, redirect string) (*oauth2.Config, error) {
	if err := p.checkPin(ctx, d); err != nil {
		return nil, err
	}
	c := &oauth2.Config{ClientID: p.cfg.ClientID, Endpoint: d.Endpoint(), RedirectURL: redirect, Scopes: p.cfg.Scopes}
	if p.cfg.Secret != nil {
		secret, err := p.cfg.Secret(ctx)
		if err != nil {
			return nil, err
		}
		c.ClientSecret = secret
	}
	return c, nil
}

// exchange turns the code that came back into what the provider says of the
// person. nonce is what it had to repeat.
func (p *Provider) exchange(ctx context.Context, redirect, code, verifier, nonce string) (identity.Claims, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return identity.Claims{}, err
	}
	c, err := p.oauth(ctx, d, redirect)
	if err != nil {
		return identity.Claims{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return identity.Claims{}, p.away("gives nothing for its code", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := d.Verifier(&oidc.Config{ClientID: p.cfg.ClientID}).Verify(ctx, raw)
	if err != nil {
		return identity.Claims{}, p.away("gives an ID token that is not valid", nil)
	}
	out := identity.Claims{Subject: id.Subject}
	if err := id.Claims(&out.All); err != nil {
		return identity.Claims{}, p.away("gives an ID token that cannot be read", nil)
	}
	switch azp, named := out.All["azp"]; {
	case !same(id.Nonce, nonce):
		return identity.Claims{}, p.away("gives an ID token for another sign-in", nil)
	case id.Subject == "":
		return identity.Claims{}, p.away("gives an ID token of nobody", nil)
	case named && azp != p.cfg.ClientID, !named && len(id.Audience) > 1:
		return identity.Claims{}, p.away("gives an ID token for another client", nil)
	}
	if err := p.pin(ctx, d); err != nil {
		return identity.Claims{}, err
	}
	return out, p.more(ctx, d, token, &out)
}

// more asks for what providers with short ID tokens say elsewhere.
func (p *Provider) more(ctx context.Context, d *discovered, token *oauth2.Token, c *identity.Claims) error {
	if _, has := c.All["email"]; has || d.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return p.away("says nothing of the person", err)
	}
	if info.Subject != c.Subject {
		return p.away("speaks of another person", nil)
	}
	all := map[string]any{}
	if err := info.Claims(&all); err != nil {
		return p.away("says of the person what cannot be read", nil)
	}
	for name, value := range all {
		if _, has := c.All[name]; !has { // what is signed holds
			c.All[name] = value
		}
	}
	return nil
}

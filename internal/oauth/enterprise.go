package oauth

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Provider is an organisation's identity provider, which vouches for its people
// at the authorization servers that trust it.
type Provider struct {
	TokenURL string
	ClientID string
	Secret   seal.Secret // may be zero
}

// Enterprise gets a token for a person whom an identity provider vouches for,
// without asking them (enterprise-managed authorization): the provider exchanges
// the person's identity token for an assertion (RFC 8693), and the authorization
// server takes that (RFC 7523).
func (c *Client) Enterprise(ctx context.Context, server Server, challenge Challenge, idp Provider, identity seal.Secret) (*Grant, *junctor.Trace, error) {
	r := c.run(junctor.TraceToken, server.Secret.Reveal(), idp.Secret.Reveal(), identity.Reveal())
	p, challenge, err := r.where(ctx, server, "", challenge)
	if err != nil {
		return nil, r.trace, err
	}
	form := url.Values{
		"grant_type": {oauthex.GrantTypeTokenExchange}, "requested_token_type": {oauthex.TokenTypeIDJAG}, "audience": {p.server.Issuer},
		"subject_token": {identity.Reveal()}, "subject_token_type": {oauthex.TokenTypeIDToken},
	}
	if len(server.Scopes) > 0 {
		form.Set("scope", strings.Join(server.Scopes, " "))
	}
	as := &Registered{ID: idp.ClientID, Secret: idp.Secret.Reveal(), Auth: AuthNone}
	if as.Secret != "" {
		as.Auth = AuthBasic
	}
	assertion, _, err := r.ask(ctx, asked{step: stepExchange, at: Endpoints{Issuer: idp.TokenURL, Token: idp.TokenURL}, client: as, resource: p.resource, form: form})
	if err != nil {
		return nil, r.trace, err
	}
	g, err := r.alone(ctx, server, p, challenge, stepAssertion, url.Values{"grant_type": {grantAssertion}, "assertion": {assertion.Access}})
	return g, r.trace, err
}

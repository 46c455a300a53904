package client

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// IdentityProvider is an organisation's identity provider. Authorization servers
// that trust it accept its assertions about the organisation's users.
type IdentityProvider struct {
	TokenURL string
	ClientID string
	Secret   seal.Secret // may be zero
}

// RequestEnterpriseGrant gets a token for a user without asking them
// (enterprise-managed authorization). The identity provider exchanges the user's
// identity token for an assertion (RFC 8693), and the authorization server
// exchanges the assertion for an access token (RFC 7523). The trace is returned
// with an error too.
func (c *Client) RequestEnterpriseGrant(ctx context.Context, server Server, challenge Challenge, idp IdentityProvider, identity seal.Secret) (*Grant, *junctor.Trace, error) {
	f := c.newFlow(junctor.TraceToken, server.Secret.Reveal(), idp.Secret.Reveal(), identity.Reveal())
	target, challenge, err := f.locateIssuer(ctx, server, "", challenge)
	if err != nil {
		return nil, f.trace, err
	}
	form := url.Values{
		"grant_type": {oauthex.GrantTypeTokenExchange}, "requested_token_type": {oauthex.TokenTypeIDJAG}, "audience": {target.metadata.Issuer},
		"subject_token": {identity.Reveal()}, "subject_token_type": {oauthex.TokenTypeIDToken},
	}
	if len(server.Scopes) > 0 {
		form.Set("scope", strings.Join(server.Scopes, " "))
	}
	as := &RegisteredClient{ID: idp.ClientID, Secret: idp.Secret.Reveal(), Auth: AuthNone}
	if as.Secret != "" {
		as.Auth = AuthBasic
	}
	assertion, _, err := f.requestToken(ctx, tokenRequest{step: stepIdentityExchange, endpoints: Endpoints{Issuer: idp.TokenURL, Token: idp.TokenURL}, client: as, resource: target.resource, form: form})
	if err != nil {
		return nil, f.trace, err
	}
	g, err := f.requestGrant(ctx, server, target, challenge, stepAssertion, url.Values{"grant_type": {grantTypeAssertion}, "assertion": {assertion.Access}})
	return g, f.trace, err
}

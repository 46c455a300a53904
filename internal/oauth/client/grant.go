package client

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// refresh renews the tokens of a grant. ended reports that the grant cannot be
// renewed any more: the authorization server rejected it for good, or its client
// must not be used there now.
func (c *Client) refresh(ctx context.Context, g *Grant, server Server) (now *Grant, trace *junctor.Trace, ended bool, err error) {
	f := c.newFlow(junctor.TraceRefresh, g.Token.Access, g.Token.Refresh)
	if err := f.checkGrant(stepRefresh, g, server); err != nil {
		return nil, f.trace, true, err
	}
	client := g.Client
	if server.ClientID == client.ID && !server.Secret.IsZero() { // the operator may have changed it
		client.Secret = server.Secret.Reveal()
	}
	token, ended, err := f.requestToken(ctx, tokenRequest{
		step: stepRefresh, endpoints: g.Endpoints, client: &client, resource: g.Resource,
		form: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Token.Refresh}},
	})
	if err != nil {
		return nil, f.trace, ended, err
	}
	if token.Refresh == "" {
		token.Refresh = g.Token.Refresh // the former one stays valid
	}
	if len(token.Scopes) == 0 {
		token.Scopes = g.Token.Scopes
	}
	next := *g
	next.Token = token
	f.succeed("the token was renewed")
	return &next, f.trace, false, nil
}

// checkGrant returns an error if the operator's client must not authenticate at the
// issuer of a former login: the operator named another issuer, or the pin says
// otherwise. The operator may have changed the secret for that very reason, and the
// new secret must not be sent to the old place.
func (f *flow) checkGrant(step string, g *Grant, server Server) error {
	if server.ClientID == "" || server.ClientID != g.Client.ID {
		return nil // a self-registered client belongs to its issuer
	}
	if server.Issuer != "" && !SameIssuer(server.Issuer, g.Endpoints.Issuer) {
		return f.failStep(f.beginStep(step), junctor.CodeUnauthenticated, fmt.Sprintf("the login is from %s, but auth.issuer allows only %s", g.Endpoints.Issuer, server.Issuer), "log in again")
	}
	return f.checkPin(server.ClientID, server.Pin, g.Endpoints, server.Issuer != "")
}

// RevokeGrant revokes the tokens of a grant (RFC 7009). The caller deletes the
// grant in any case; the trace says whether revocation worked. Tokens and client
// authentication are sent only to the origin that issued the tokens. A stored grant
// may name a revocation endpoint elsewhere, which receives nothing.
func (c *Client) RevokeGrant(ctx context.Context, g *Grant, server Server) *junctor.Trace {
	f := c.newFlow(junctor.TraceLogout, g.Token.Access, g.Token.Refresh)
	if err := f.checkGrant(stepRevoke, g, server); err != nil {
		return f.trace
	}
	if !g.Endpoints.canRevoke() {
		f.passStep(f.beginStep(stepRevoke), g.Endpoints.Issuer+" cannot revoke tokens: Junctor has deleted them, and they stay valid until they expire")
		f.succeed("logged out")
		return f.trace
	}
	for _, t := range []struct{ hint, token string }{{"refresh_token", g.Token.Refresh}, {"access_token", g.Token.Access}} {
		if t.token == "" {
			continue
		}
		form, at := url.Values{"token": {t.token}, "token_type_hint": {t.hint}}, g.Endpoints
		header := map[string][]string{}
		if err := f.authenticateClient(&g.Client, at, form, header); err != nil {
			_ = f.failStep(f.beginStep(stepRevoke), junctor.CodeInvalid, junctor.AsError(err).Message, "revoke the token at "+g.Endpoints.Issuer+" by hand")
			return f.trace
		}
		s, res := f.postForm(ctx, stepRevoke, at.Revocation, form, header)
		if !res.succeeded() {
			_ = f.failStep(s, junctor.CodeUpstream, "the token was not revoked: Junctor has deleted it, but it may stay valid until it expires", "revoke it at "+g.Endpoints.Issuer+" by hand")
			return f.trace
		}
		f.passStep(s, "the "+strings.ReplaceAll(t.hint, "_", " ")+" is revoked")
	}
	f.succeed("logged out; the tokens are revoked")
	return f.trace
}

// RequestClientGrant gets a token for the client itself (client_credentials). It
// asks the token endpoint at tokenURL, or discovers one if tokenURL is empty.
func (c *Client) RequestClientGrant(ctx context.Context, server Server, tokenURL string, challenge Challenge) (*Grant, *junctor.Trace, error) {
	return c.requestGrant(ctx, server, tokenURL, challenge, stepClientCredentials, url.Values{"grant_type": {"client_credentials"}})
}

// RequestAssertionGrant gets a token for an assertion (RFC 7523), for example of a
// workload platform or an identity provider.
func (c *Client) RequestAssertionGrant(ctx context.Context, server Server, tokenURL string, challenge Challenge, assertion seal.Secret) (*Grant, *junctor.Trace, error) {
	return c.requestGrant(ctx, server, tokenURL, challenge, stepAssertion, url.Values{"grant_type": {grantTypeAssertion}, "assertion": {assertion.Reveal()}})
}

// SubjectToken is a token that is exchanged for another.
type SubjectToken struct {
	Token    seal.Secret
	Type     junctor.SubjectType // "" means an access token
	Audience string              // optional
}

// ExchangeToken exchanges a token for another one (RFC 8693).
func (c *Client) ExchangeToken(ctx context.Context, server Server, tokenURL string, challenge Challenge, subject SubjectToken) (*Grant, *junctor.Trace, error) {
	form := url.Values{
		"grant_type": {oauthex.GrantTypeTokenExchange}, "subject_token": {subject.Token.Reveal()}, "subject_token_type": {tokenTypePrefix + string(cmp.Or(subject.Type, junctor.SubjectAccessToken))},
		"requested_token_type": {tokenTypePrefix + string(junctor.SubjectAccessToken)},
	}
	if subject.Audience != "" {
		form.Set("audience", subject.Audience)
	}
	return c.requestGrant(ctx, server, tokenURL, challenge, stepTokenExchange, form)
}

// tokenTypePrefix starts the token type identifiers of RFC 8693.
const tokenTypePrefix = "urn:ietf:params:oauth:token-type:" //nolint:gosec // no credential

// grantTypeAssertion is the grant type of RFC 7523.
const grantTypeAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// requestGrant gets a token without a person: it locates the token endpoint and
// sends form there. The trace is returned with an error too.
func (c *Client) requestGrant(ctx context.Context, server Server, tokenURL string, challenge Challenge, step string, form url.Values) (*Grant, *junctor.Trace, error) {
	f := c.newFlow(junctor.TraceToken, server.Secret.Reveal(), form.Get("assertion"), form.Get("subject_token"))
	target, challenge, err := f.locateIssuer(ctx, server, tokenURL, challenge)
	if err != nil {
		return nil, f.trace, err
	}
	g, err := f.requestGrant(ctx, server, target, challenge, step, form)
	return g, f.trace, err
}

// requestGrant sends form to the token endpoint of target, after checking the
// client's pin. It adds the scopes to form. The refresh token is dropped, because
// the secrets that the token was requested with can get another one.
func (f *flow) requestGrant(ctx context.Context, server Server, target *loginTarget, challenge Challenge, step string, form url.Values) (*Grant, error) {
	at := target.toEndpoints()
	if err := f.checkPin(server.ClientID, server.Pin, at, server.Issuer != ""); err != nil {
		return nil, err
	}
	client := &RegisteredClient{Issuer: at.Issuer, ID: server.ClientID, Secret: server.Secret.Reveal(), Auth: server.chooseAuthMethod(at.AuthMethods)}
	scopes := slices.DeleteFunc(chooseScopes(target, LoginRequest{Server: server, Challenge: challenge}), func(s string) bool { return s == scopeOfflineAccess }) // no person: nothing to do offline
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	token, _, err := f.requestToken(ctx, tokenRequest{step: step, endpoints: at, client: client, resource: target.resource, form: form})
	if err != nil {
		return nil, err
	}
	if len(token.Scopes) == 0 {
		token.Scopes = strings.Fields(form.Get("scope"))
	}
	token.Refresh = ""
	f.succeed("received a token from " + at.Issuer)
	return &Grant{Origin: OriginOf(server.URL), Resource: target.resource, Endpoints: at, Client: RegisteredClient{Issuer: at.Issuer, ID: client.ID, Auth: client.Auth}, Token: token, Since: f.client.Now()}, nil
}

// locateIssuer returns the login target: the endpoint at tokenURL if the operator
// named one, else the one that discovery finds. It returns the challenge that
// discovery used.
func (f *flow) locateIssuer(ctx context.Context, server Server, tokenURL string, challenge Challenge) (*loginTarget, Challenge, error) {
	if tokenURL == "" {
		if challenge.Status == 0 {
			challenge = f.probeServer(ctx, server.URL)
		}
		target, err := f.discoverIssuer(ctx, server, challenge)
		return target, challenge, err
	}
	target := &loginTarget{}
	target.metadata.Issuer, target.metadata.TokenEndpoint = server.Issuer, tokenURL
	if target.metadata.Issuer == "" {
		target.metadata.Issuer = tokenURL // serves as the audience of client assertions
	}
	return target, challenge, nil
}

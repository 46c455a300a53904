package oauth

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

// refresh renews a grant. ended says that it cannot be renewed any more.
func (c *Client) refresh(ctx context.Context, g *Grant, server Server) (now *Grant, trace *junctor.Trace, ended bool, err error) {
	r := c.run(junctor.TraceRefresh, g.Token.Access, g.Token.Refresh)
	if err := r.checkGrant(stepRefresh, g, server); err != nil {
		return nil, r.trace, true, err
	}
	client := g.Client
	if server.ClientID == client.ID && !server.Secret.IsZero() { // it may have been changed since
		client.Secret = server.Secret.Reveal()
	}
	token, ended, err := r.ask(ctx, asked{
		step: stepRefresh, at: g.Endpoints, client: &client, resource: g.Resource,
		form: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Token.Refresh}},
	})
	if err != nil {
		return nil, r.trace, ended, err
	}
	if token.Refresh == "" {
		token.Refresh = g.Token.Refresh // it goes on
	}
	if len(token.Scopes) == 0 {
		token.Scopes = g.Token.Scopes
	}
	next := *g
	next.Token = token
	r.done("the token was renewed")
	return &next, r.trace, false, nil
}

// checkGrant refuses to prove the operator's client where a login of before leads
// when the client is not used there any more. The operator may have changed the
// secret for that very reason: the new one must not follow the old login.
func (r *run) checkGrant(step string, g *Grant, server Server) error {
	if server.ClientID == "" || server.ClientID != g.Client.ID {
		return nil // registered by itself, at that issuer
	}
	if server.Issuer != "" && !SameIssuer(server.Issuer, g.Endpoints.Issuer) {
		return r.failed(r.step(step), junctor.CodeUnauthenticated, fmt.Sprintf("the login is one at %s, and the server's login is for %s alone", g.Endpoints.Issuer, server.Issuer), "log in again")
	}
	return r.pinned(server.ClientID, server.Pinned, g.Endpoints, server.Issuer != "")
}

// Revoke gives the tokens of a grant back (RFC 7009). That it did not work is no
// reason to keep them. Tokens and the proof of the client go to the origin that gave
// the tokens alone: a revocation endpoint elsewhere, which a grant of an earlier
// version may name, gets nothing.
func (c *Client) Revoke(ctx context.Context, g *Grant, server Server) *junctor.Trace {
	r := c.run(junctor.TraceLogout, g.Token.Access, g.Token.Refresh)
	if err := r.checkGrant(stepRevoke, g, server); err != nil {
		return r.trace
	}
	if !g.Endpoints.revokes() {
		r.passed(r.step(stepRevoke), g.Endpoints.Issuer+" takes none back: they are forgotten here, and end there by themselves")
		r.done("logged out")
		return r.trace
	}
	for _, t := range []struct{ hint, token string }{{"refresh_token", g.Token.Refresh}, {"access_token", g.Token.Access}} {
		if t.token == "" {
			continue
		}
		form, at := url.Values{"token": {t.token}, "token_type_hint": {t.hint}}, g.Endpoints
		header := map[string][]string{}
		if err := r.prove(&g.Client, at, form, header); err != nil {
			_ = r.failed(r.step(stepRevoke), junctor.CodeInvalid, junctor.AsError(err).Message, "revoke the token at "+g.Endpoints.Issuer+" by hand")
			return r.trace
		}
		s, a := r.post(ctx, stepRevoke, at.Revocation, form, header)
		if !a.ok() {
			_ = r.failed(s, junctor.CodeUpstream, "it was not taken back: the token is forgotten here, and may go on there until it ends", "revoke it at "+g.Endpoints.Issuer+" by hand")
			return r.trace
		}
		r.passed(s, "the "+strings.ReplaceAll(t.hint, "_", " ")+" is over")
	}
	r.done("logged out, and the tokens are revoked")
	return r.trace
}

// ClientCredentials gets a token for the client itself, of the authorization
// server that the server names, or of the one at tokenURL.
func (c *Client) ClientCredentials(ctx context.Context, server Server, tokenURL string, challenge Challenge) (*Grant, *junctor.Trace, error) {
	return c.alone(ctx, server, tokenURL, challenge, stepToken, url.Values{"grant_type": {"client_credentials"}})
}

// Assertion gets a token for a statement of somebody else's (RFC 7523): of a
// workload's platform, or of an identity provider.
func (c *Client) Assertion(ctx context.Context, server Server, tokenURL string, challenge Challenge, assertion seal.Secret) (*Grant, *junctor.Trace, error) {
	return c.alone(ctx, server, tokenURL, challenge, stepAssertion, url.Values{"grant_type": {grantAssertion}, "assertion": {assertion.Reveal()}})
}

// Subject is a token that another is got for.
type Subject struct {
	Token    seal.Secret
	Type     junctor.SubjectType // "" is an access token
	Audience string              // may be ""
}

// Exchange gets a token for another one (RFC 8693).
func (c *Client) Exchange(ctx context.Context, server Server, tokenURL string, challenge Challenge, subject Subject) (*Grant, *junctor.Trace, error) {
	form := url.Values{
		"grant_type": {oauthex.GrantTypeTokenExchange}, "subject_token": {subject.Token.Reveal()}, "subject_token_type": {tokenTypes + string(cmp.Or(subject.Type, junctor.SubjectAccessToken))},
		"requested_token_type": {tokenTypes + string(junctor.SubjectAccessToken)},
	}
	if subject.Audience != "" {
		form.Set("audience", subject.Audience)
	}
	return c.alone(ctx, server, tokenURL, challenge, stepExchanged, form)
}

const tokenTypes = "urn:ietf:params:oauth:token-type:" //nolint:gosec // no credential

const grantAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// alone gets a token without a person.
func (c *Client) alone(ctx context.Context, server Server, tokenURL string, challenge Challenge, step string, form url.Values) (*Grant, *junctor.Trace, error) {
	r := c.run(junctor.TraceToken, server.Secret.Reveal(), form.Get("assertion"), form.Get("subject_token"))
	p, challenge, err := r.where(ctx, server, tokenURL, challenge)
	if err != nil {
		return nil, r.trace, err
	}
	g, err := r.alone(ctx, server, p, challenge, step, form)
	return g, r.trace, err
}

func (r *run) alone(ctx context.Context, server Server, p *place, challenge Challenge, step string, form url.Values) (*Grant, error) {
	at := p.endpoints()
	if err := r.pinned(server.ClientID, server.Pinned, at, server.Issuer != ""); err != nil {
		return nil, err
	}
	client := &Registered{Issuer: at.Issuer, ID: server.ClientID, Secret: server.Secret.Reveal(), Auth: server.auth(at.AuthMethods)}
	scopes := slices.DeleteFunc(choose(p, Start{Server: server, Challenge: challenge}), func(s string) bool { return s == offline }) // nobody is away
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	token, _, err := r.ask(ctx, asked{step: step, at: at, client: client, resource: p.resource, form: form})
	if err != nil {
		return nil, err
	}
	if len(token.Scopes) == 0 {
		token.Scopes = strings.Fields(form.Get("scope"))
	}
	token.Refresh = "" // what it was got with is still there
	r.done("a token of " + at.Issuer)
	return &Grant{Origin: OriginOf(server.URL), Resource: p.resource, Endpoints: at, Client: Registered{Issuer: at.Issuer, ID: client.ID, Auth: client.Auth}, Token: token, Since: r.c.Now()}, nil
}

// where is the place that an operator named, or that the server does, which is
// asked first where it has said nothing yet.
func (r *run) where(ctx context.Context, server Server, tokenURL string, challenge Challenge) (*place, Challenge, error) {
	if tokenURL == "" {
		if challenge.Status == 0 {
			challenge = r.knock(ctx, server.URL)
		}
		p, err := r.discover(ctx, server, challenge)
		return p, challenge, err
	}
	p := &place{}
	p.server.Issuer, p.server.TokenEndpoint = server.Issuer, tokenURL
	if p.server.Issuer == "" {
		p.server.Issuer = tokenURL // the audience of those that know no other
	}
	return p, challenge, nil
}

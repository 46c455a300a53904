package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of how long an access token is used without renewal, whatever the server
// says. A life shorter than a call would make each call renew it.
const (
	minTokenLife = 30 * time.Second
	maxTokenLife = 30 * 24 * time.Hour
)

// tokenRequest is a request to a token endpoint.
type tokenRequest struct {
	step      string
	endpoints Endpoints
	client    *RegisteredClient
	resource  string // "" sends none
	form      url.Values
}

// tokenResponse is the response of a token endpoint, successful or not.
type tokenResponse struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Refresh string          `json:"refresh_token"`
	Issued  string          `json:"issued_token_type"`
	Scope   string          `json:"scope"`
	Expires json.RawMessage `json:"expires_in"`
	errorResponse
}

// requestToken sends a request to a token endpoint. With an error, refused reports
// that the authorization server will never grant this request, so that repeating it
// is useless.
func (f *flow) requestToken(ctx context.Context, q tokenRequest) (token Token, refused bool, err error) {
	form := url.Values{}
	maps.Copy(form, q.form)
	if q.resource != "" {
		form.Set("resource", q.resource)
	}
	header := http.Header{}
	if err := f.authenticateClient(q.client, q.endpoints, form, header); err != nil {
		return Token{}, false, f.failStep(f.beginStep(q.step), junctor.CodeInvalid, junctor.AsError(err).Message, "enter the client's private key in the server's auth again")
	}
	s, res := f.postForm(ctx, q.step, q.endpoints.Token, form, header)
	var g tokenResponse
	parsed := json.Unmarshal(res.body, &g)
	if res.err == nil && res.succeeded() && parsed == nil && g.Access != "" {
		if !strings.EqualFold(g.Type, "bearer") && g.Type != "" && g.Issued == "" {
			return Token{}, false, f.failStep(s, junctor.CodeUpstream, "the token is of the type "+clipText(g.Type)+", which Junctor does not support", "report this to the operator of the authorization server: Junctor supports Bearer tokens only")
		}
		token = g.toToken(f.client.Now())
		f.passStep(s, "a token"+describeLife(token, f.client.Now()))
		return token, false, nil
	}
	refused, err = f.explainRefusal(s, q, res, g.errorResponse)
	return Token{}, refused, err
}

// describeLife describes how long a token is valid, for a trace.
func describeLife(t Token, now time.Time) string {
	text := ", without expires_in"
	if !t.ExpiresAt.IsZero() {
		text = " for " + t.ExpiresAt.Sub(now).Round(time.Second).String()
	}
	if t.Refresh != "" {
		text += ", with a refresh token"
	}
	return text
}

// toToken converts the response. The lifetime is clamped to minTokenLife and
// maxTokenLife.
func (g *tokenResponse) toToken(now time.Time) Token {
	t := Token{Access: g.Access, Refresh: g.Refresh, Scopes: strings.Fields(g.Scope), ObtainedAt: now}
	var seconds json.Number
	if json.Unmarshal(g.Expires, &seconds) == nil { // some servers send a string
		if n, err := seconds.Float64(); err == nil && n > 0 {
			t.ExpiresAt = now.Add(max(junctor.BoundDuration(n, time.Second, maxTokenLife), minTokenLife))
		}
	}
	return t
}

// explainRefusal ends the step of a response without a token: it names the likely
// cause and what to do. A large clock skew is named first, because it makes servers
// reject valid requests with any error.
func (f *flow) explainRefusal(s *junctor.TraceStep, q tokenRequest, res response, p errorResponse) (refused bool, err error) {
	if res.err == nil && res.status/100 == 4 && res.skew != 0 {
		return false, f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("refused (HTTP %d%s), and the clock of the authorization server is %s %s ours: our requests look expired or not yet valid to it",
			res.status, p.asSuffix(), res.skew.Abs(), skewDirection(res.skew)), "synchronize the clocks of this machine and of the authorization server")
	}
	switch {
	case res.err != nil:
		return false, f.failStep(s, junctor.CodeOf(res.err), "no response: "+junctor.AsError(res.err).Message, "try again; check that this instance can reach the authorization server")
	case res.status >= 500:
		return false, f.failStep(s, junctor.CodeUnavailable, fmt.Sprintf("the authorization server failed with HTTP %d%s", res.status, p.asSuffix()), "try again later, or report this to its operator")
	case res.status == http.StatusTooManyRequests:
		return false, f.failStep(s, junctor.CodeUnavailable, "the authorization server limits requests", "try again later")
	case p.Error == "invalid_client" || p.Error == "unauthorized_client" || p.Error == "" && (res.status == http.StatusUnauthorized || res.status == http.StatusForbidden):
		return false, f.failStep(s, junctor.CodeUnauthenticated, "the authorization server does not accept the client "+q.client.ID+" or its credentials"+p.asSuffix(), "check client_id and secret in the server's auth, or log in again to register a new client")
	case p.Error == "invalid_grant":
		what, remedy := explainInvalidGrant(q.form.Get("grant_type"))
		return true, f.failStep(s, junctor.CodeUnauthenticated, what+p.asSuffix(), remedy)
	case p.Error == "invalid_scope":
		return true, f.failStep(s, junctor.CodeUnauthenticated, "the authorization server does not grant these scopes"+p.asSuffix(), "change the scope in the server's auth, and log in again")
	case p.Error == "invalid_target":
		return true, f.failStep(s, junctor.CodeUnauthenticated, "the authorization server issues no tokens for the server "+q.resource+p.asSuffix(), "report this to the server's operator: the server names this authorization server")
	case p.Error != "":
		return res.status/100 == 4, f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server answered with HTTP %d%s", res.status, p.asSuffix()), "report this to the operator of the authorization server")
	}
	return false, f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server answered with HTTP %d, without a token", res.status), "report this to the operator of the authorization server")
}

// explainInvalidGrant describes the error invalid_grant for a grant type, and what
// to do.
func explainInvalidGrant(grant string) (what, remedy string) {
	switch grant {
	case "authorization_code":
		return "the authorization server rejected the code: it has expired, or was used before", "log in again"
	case "refresh_token":
		return "the authorization server rejected the refresh token: the login has ended, or was revoked", "log in again"
	case grantTypeAssertion:
		return "the authorization server rejected the assertion: it has expired, or is for another authorization server", "check subject in the server's auth, and that the authorization server trusts its issuer"
	}
	return "the authorization server rejected the token exchange: the token has expired, or must not be exchanged here", "check subject in the server's auth, and that the authorization server trusts its issuer"
}

// skewDirection is whether another clock is ahead of ours or behind it.
func skewDirection(skew time.Duration) string {
	if skew > 0 {
		return "before"
	}
	return "behind"
}

// authenticateClient adds the client's authentication to a request. Secrets are
// added to those that the trace must not show.
func (f *flow) authenticateClient(c *RegisteredClient, at Endpoints, form url.Values, header http.Header) error {
	if c.Secret != "" {
		f.secrets = append(f.secrets, c.Secret)
	}
	switch c.Auth {
	case AuthBasic:
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret) // RFC 6749, 2.3.1: both are form-encoded first
		text := base64.StdEncoding.EncodeToString([]byte(pair))
		f.secrets = append(f.secrets, text)
		header.Set("Authorization", "Basic "+text)
	case AuthPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case AuthPrivateKey:
		assertion, err := signAssertion(c.Secret, c.ID, at.Issuer, f.client.Now())
		if err != nil {
			return err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case AuthNone:
		if c.ID != "" { // an assertion grant needs no client
			form.Set("client_id", c.ID)
		}
	default:
		return junctor.Errorf(junctor.CodeInvalid, "the authorization server requires the client authentication %s, which Junctor does not support", clipText(string(c.Auth)))
	}
	return nil
}

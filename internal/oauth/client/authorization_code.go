package client

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	junctor "github.com/junctor-mcp/junctor"
)

// PendingLogin is a login that a person has started and not finished. The caller
// keeps it sealed: with it, the person's authorization code can be used.
type PendingLogin struct {
	State         string           `json:"state"`
	Verifier      string           `json:"verifier"`
	Redirect      string           `json:"redirect"`
	Origin        string           `json:"origin"`
	Resource      string           `json:"resource"`
	Endpoints     Endpoints        `json:"endpoints"`
	SendsIssuer   bool             `json:"says_who,omitempty"` // the authorization server puts iss into its responses (RFC 9207)
	IssuerUnknown bool             `json:"nameless,omitempty"` // the issuer identifier is not known
	Client        RegisteredClient `json:"client"`
	Scopes        []string         `json:"scopes,omitempty"`
	ExpiresAt     time.Time        `json:"until"`

	// Pin is where the operator's client was used so far. The caller sets it
	// before FinishLogin; it is not stored.
	Pin Pin `json:"-"`
}

// PendingLoginLife is how long a person may take to log in.
const PendingLoginLife = 10 * time.Minute

// LoginRequest is the input of BeginLogin.
type LoginRequest struct {
	Server      Server
	Redirect    string            // where the browser is sent afterwards
	Challenge   Challenge         // of the refused call; may be zero
	KnownClient *RegisteredClient // registered before; may be nil
	Pin         Pin               // where the operator's client was used so far
	FormerGrant *Grant            // whose scopes the new login keeps; may be nil
}

// BeginLogin discovers the authorization server, chooses or registers a client
// there, and returns the address that the person opens, with state and PKCE
// verifier in the PendingLogin. Nothing is sent to the token endpoint yet. The
// trace is returned with an error too.
func (c *Client) BeginLogin(ctx context.Context, in LoginRequest) (*PendingLogin, string, *junctor.Trace, error) {
	f := c.newFlow(junctor.TraceBegin)
	if in.Challenge.Status == 0 && !in.Server.hasEndpoints() {
		in.Challenge = f.probeServer(ctx, in.Server.URL)
	}
	target, err := f.discoverIssuer(ctx, in.Server, in.Challenge)
	if err != nil {
		return nil, "", f.trace, err
	}
	if target.metadata.AuthorizationEndpoint == "" {
		return nil, "", f.trace, f.failStep(f.beginStep(stepAuthorize), junctor.CodeUpstream, "the authorization server has no authorization_endpoint", "use the auth type oauth-client, which does not need one")
	}
	client, err := f.chooseClient(ctx, target, in)
	if err != nil {
		return nil, "", f.trace, err
	}
	pending := &PendingLogin{
		State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: in.Redirect, Origin: OriginOf(in.Server.URL), Resource: target.resource,
		Endpoints: target.toEndpoints(), SendsIssuer: target.metadata.AuthorizationResponseIssParameterSupported, IssuerUnknown: target.issuerUnknown, Client: *client,
		Scopes: chooseScopes(target, in), ExpiresAt: c.Now().Add(PendingLoginLife),
	}
	f.secrets = append(f.secrets, pending.Verifier)
	address, err := url.Parse(target.metadata.AuthorizationEndpoint)
	if err != nil {
		return nil, "", f.trace, f.failStep(f.beginStep(stepAuthorize), junctor.CodeUpstream, "the authorization_endpoint is not a valid URL", "report this to the operator of the authorization server")
	}
	query := address.Query()
	query.Set("response_type", "code")
	query.Set("client_id", client.ID)
	query.Set("redirect_uri", in.Redirect)
	query.Set("state", pending.State)
	query.Set("code_challenge", oauth2.S256ChallengeFromVerifier(pending.Verifier))
	query.Set("code_challenge_method", "S256")
	if target.resource != "" {
		query.Set("resource", target.resource)
	}
	if len(pending.Scopes) > 0 {
		query.Set("scope", strings.Join(pending.Scopes, " "))
	}
	if slices.Contains(pending.Scopes, scopeOfflineAccess) {
		query.Set("prompt", "consent") // OpenID providers ignore offline_access without it
	}
	address.RawQuery = query.Encode()
	s := f.beginStep(stepAuthorize)
	s.Sent = map[string]string{"client_id": client.ID, "redirect_uri": in.Redirect, "resource": target.resource, "scope": strings.Join(pending.Scopes, " "), "state": junctor.Masked, "code_challenge_method": "S256"}
	s.Request = "GET " + target.metadata.AuthorizationEndpoint
	f.passStep(s, "the user must open it")
	f.succeed("a user must log in at " + target.metadata.Issuer)
	return pending, address.String(), f.trace, nil
}

// scopeOfflineAccess is the scope with which OpenID providers issue refresh tokens.
const scopeOfflineAccess = "offline_access"

// chooseScopes returns the scopes to request: those that the operator configured,
// else those of the challenge, else those of the resource metadata. The scopes of a
// former grant of the same issuer are added, so that a login for more scopes does
// not lose any.
func chooseScopes(target *loginTarget, in LoginRequest) []string {
	var all []string
	add := func(more []string) {
		for _, s := range more {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	if in.FormerGrant != nil && SameIssuer(in.FormerGrant.Endpoints.Issuer, target.metadata.Issuer) {
		add(in.FormerGrant.Token.Scopes)
	}
	switch {
	case len(in.Server.Scopes) > 0:
		add(in.Server.Scopes)
		if in.Challenge.NeedsMoreScopes() {
			add(in.Challenge.Scopes)
		}
	case len(in.Challenge.Scopes) > 0:
		add(in.Challenge.Scopes)
	default:
		add(target.scopes)
	}
	if slices.Contains(target.metadata.ScopesSupported, scopeOfflineAccess) {
		add([]string{scopeOfflineAccess})
	}
	return all
}

// FinishLogin exchanges the authorization code for tokens. answer is the query of
// the redirect. The caller makes sure that each PendingLogin is finished once. The
// trace is returned with an error too.
func (c *Client) FinishLogin(ctx context.Context, p *PendingLogin, answer url.Values) (*Grant, *junctor.Trace, error) {
	f := c.newFlow(junctor.TraceFinish, p.Verifier, answer.Get("code"), p.State)
	if err := f.checkCallback(p, answer); err != nil {
		return nil, f.trace, err
	}
	if err := f.checkPin(p.Client.ID, p.Pin, p.Endpoints, false); err != nil {
		return nil, f.trace, err
	}
	token, _, err := f.requestToken(ctx, tokenRequest{
		step: stepCode, endpoints: p.Endpoints, client: &p.Client, resource: p.Resource,
		form: url.Values{"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {p.Redirect}, "code_verifier": {p.Verifier}},
	})
	if err != nil {
		return nil, f.trace, err
	}
	if len(token.Scopes) == 0 {
		token.Scopes = p.Scopes // RFC 6749, 5.1: the requested scopes, if the response has none
	}
	f.succeed("logged in at " + p.Endpoints.Issuer)
	return &Grant{Origin: p.Origin, Resource: p.Resource, Endpoints: p.Endpoints, Client: p.Client, Token: token, Since: c.Now()}, f.trace, nil
}

// checkCallback checks the response of the authorization endpoint before its code
// is used: state (CSRF), expiry, and iss (RFC 9207), which detects a mix-up of
// authorization servers. The state is compared first, so that a forged response
// cannot produce other messages.
func (f *flow) checkCallback(p *PendingLogin, answer url.Values) error {
	s := f.beginStep(stepCallback)
	s.Sent = map[string]string{}
	for name, values := range answer {
		switch name {
		case "iss", "error", "error_description", "error_uri", "scope":
			s.Sent[name] = f.scrubText(clipText(strings.Join(values, " ")))
		default:
			s.Sent[name] = junctor.Masked
		}
	}
	iss, again := answer["iss"], "log in again"
	switch {
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(p.State)) != 1:
		return f.failStep(s, junctor.CodeDenied, "the response belongs to another login: its state differs from the state that was sent", again+", and use the response of that login")
	case !f.client.Now().Before(p.ExpiresAt):
		return f.failStep(s, junctor.CodeDenied, fmt.Sprintf("the login took longer than %v", PendingLoginLife), again)
	case len(iss) > 1, len(iss) == 1 && iss[0] != p.Endpoints.Issuer && !p.IssuerUnknown:
		return f.failStep(s, junctor.CodeDenied, fmt.Sprintf("the response is from %s, but the user was sent to %s (authorization server mix-up): the code was not used", clipText(strings.Join(iss, ", ")), p.Endpoints.Issuer),
			"do not log in again before the operators of both have confirmed the change")
	case len(iss) == 0 && p.SendsIssuer:
		return f.failStep(s, junctor.CodeDenied, p.Endpoints.Issuer+" sends iss with each response, but this response has none: it may be from another server, and the code was not used", "report this to the operator of the authorization server")
	case answer.Get("error") == "access_denied":
		return f.failStep(s, junctor.CodeDenied, "the user or the authorization server denied the login"+errorResponse{answer.Get("error"), answer.Get("error_description")}.asSuffix(), again+" if that was a mistake")
	case answer.Get("error") != "":
		return f.failStep(s, junctor.CodeUpstream, "the authorization server rejected the login"+errorResponse{answer.Get("error"), answer.Get("error_description")}.asSuffix(), again+", or report this to its operator")
	case answer.Get("code") == "":
		return f.failStep(s, junctor.CodeInvalid, "the response has no code", "enter the whole address that the browser was redirected to")
	}
	f.passStep(s, "the response belongs to this login")
	return nil
}

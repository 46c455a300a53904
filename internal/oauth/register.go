package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	junctor "github.com/junctor-mcp/junctor"
)

// register makes us a client of an authorization server: the one that the
// operator registered, the one that our metadata document describes, the one
// that was registered before, or a new one. What is known from before is used for
// its own issuer and redirect address alone.
func (r *run) register(ctx context.Context, p *place, in Start) (*Registered, error) {
	m, server, redirect, known := &p.server, in.Server, in.Redirect, in.Known
	switch {
	case server.ClientID != "":
		if err := r.pinned(server.ClientID, in.Pinned, p.endpoints(), server.Issuer != ""); err != nil {
			return nil, err
		}
		s := r.step(stepClient)
		r.secrets = append(r.secrets, server.Secret.Reveal())
		c := &Registered{Issuer: m.Issuer, ID: server.ClientID, Secret: server.Secret.Reveal(), Auth: server.auth(m.TokenEndpointAuthMethodsSupported)}
		r.passed(s, "the client that is set for the server, "+c.ID)
		return c, nil
	case r.c.MetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		r.passed(r.step(stepClient), "the metadata document "+r.c.MetadataURL+" says who we are")
		return &Registered{Issuer: m.Issuer, ID: r.c.MetadataURL, Auth: AuthNone, Redirect: redirect}, nil
	case known != nil && SameIssuer(known.Issuer, m.Issuer) && known.Redirect == redirect && (known.Expires.IsZero() || r.c.Now().Before(known.Expires)):
		r.secrets = append(r.secrets, known.Secret)
		r.passed(r.step(stepClient), "the client "+known.ID+", registered there before")
		return known, nil
	case m.RegistrationEndpoint == "":
		return nil, r.failed(r.step(stepClient), junctor.CodeDenied, m.Issuer+" lets no client register itself",
			"register one there by hand, with the redirect address "+redirect+", and set its client_id (and secret) in the server's auth")
	}
	return r.enrol(ctx, m, redirect)
}

// pinned refuses to use the operator's client at another issuer than the one it
// was used with, or at a token endpoint of another origin: whoever changed what
// the server or its issuer publishes would get the secret. Where the operator
// named the issuer, a pin to another one holds no more.
func (r *run) pinned(client string, pin Pin, at Endpoints, named bool) error {
	const ask = "ask the operators of the server and of the authorization server whether that is right; then "
	switch {
	case pin.Issuer == "":
		return nil
	case !SameIssuer(pin.Issuer, at.Issuer):
		if named {
			return nil
		}
		return r.failed(r.step(stepClient), junctor.CodeDenied, fmt.Sprintf("the client %s was used with %s until now, and the server sends people to %s: it is not used there", client, pin.Issuer, at.Issuer),
			ask+"name the new one as the issuer in the server's auth")
	case pin.Token != "" && pin.Token != OriginOf(at.Token):
		return r.failed(r.step(stepClient), junctor.CodeDenied, fmt.Sprintf("the client %s proved itself to %s until now, and %s names a token endpoint at %s: it is not used there", client, pin.Token, at.Issuer, OriginOf(at.Token)),
			ask+"enter the client's secret again in the server's auth")
	}
	return nil
}

// auth is how the operator's client proves itself.
func (s *Server) auth(supported []string) ClientAuth {
	switch {
	case s.ClientAuth != "":
		return s.ClientAuth
	case s.Secret.IsZero():
		return AuthNone
	case len(supported) == 0 || slices.Contains(supported, string(AuthBasic)):
		return AuthBasic
	case slices.Contains(supported, string(AuthPost)):
		return AuthPost
	}
	return AuthBasic
}

// enrol registers a client (RFC 7591).
func (r *run) enrol(ctx context.Context, m *oauthex.AuthServerMeta, redirect string) (*Registered, error) {
	ask := oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ClientName: r.c.Name, ApplicationType: applicationType(redirect), TokenEndpointAuthMethod: string(preferred(m.TokenEndpointAuthMethodsSupported)),
	}
	s, a := r.postJSON(ctx, stepClient, m.RegistrationEndpoint, ask)
	if a.err != nil {
		return nil, r.failed(s, junctor.CodeOf(a.err), "the registration failed: "+junctor.AsError(a.err).Message, "check that the authorization server can be reached from here")
	}
	var got struct {
		ClientID  string `json:"client_id"`
		Secret    string `json:"client_secret"`
		Auth      string `json:"token_endpoint_auth_method"`
		ExpiresAt int64  `json:"client_secret_expires_at"`
		problem
	}
	err := json.Unmarshal(a.body, &got)
	switch {
	case a.status >= 500:
		return nil, r.failed(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server failed with HTTP %d", a.status), "try again later, or tell its operator")
	case !a.ok():
		return nil, r.failed(s, junctor.CodeDenied, fmt.Sprintf("it does not take us as a client (HTTP %d%s)", a.status, got.said()),
			"register one there by hand, with the redirect address "+redirect+", and set its client_id (and secret) in the server's auth")
	case err != nil || got.ClientID == "":
		return nil, r.failed(s, junctor.CodeUpstream, "it answered without a client_id", "tell the operator of the authorization server")
	}
	c := &Registered{Issuer: m.Issuer, ID: got.ClientID, Secret: got.Secret, Auth: ClientAuth(got.Auth), Redirect: redirect}
	if c.Auth == "" { // what was asked for holds
		c.Auth = ClientAuth(ask.TokenEndpointAuthMethod)
	}
	if c.Secret == "" {
		c.Auth = AuthNone
	}
	if got.ExpiresAt > 0 {
		c.Expires = time.Unix(got.ExpiresAt, 0)
	}
	r.passed(s, "registered as "+c.ID)
	return c, nil
}

// preferred is how a client that registers itself wants to prove itself: a
// public client has nothing that could leak.
func preferred(supported []string) ClientAuth {
	for _, way := range []ClientAuth{AuthNone, AuthBasic, AuthPost} {
		if slices.Contains(supported, string(way)) {
			return way
		}
	}
	if len(supported) == 0 {
		return AuthBasic // as RFC 8414 says of who says nothing
	}
	return AuthNone
}

// applicationType is what a client with this redirect address is.
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && u.Scheme == "https" {
		return "web"
	}
	return "native"
}

// problem is how an authorization server says no.
type problem struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// said is that, for a sentence.
func (p problem) said() string {
	switch {
	case p.Error == "":
		return ""
	case p.Description == "":
		return ": " + clip(p.Error)
	}
	return ": " + clip(p.Error) + ", " + clip(p.Description)
}

// clip keeps what others say from filling a message.
func clip(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

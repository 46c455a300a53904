package client

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

// chooseClient returns the client to use at an authorization server: the one that
// the operator configured, the one of the metadata document, the one that was
// registered before, or a newly registered one, in this order. A client from before
// is used only with its own issuer and redirect address.
func (f *flow) chooseClient(ctx context.Context, target *loginTarget, in LoginRequest) (*RegisteredClient, error) {
	m, server, redirect, known := &target.metadata, in.Server, in.Redirect, in.KnownClient
	switch {
	case server.ClientID != "":
		if err := f.checkPin(server.ClientID, in.Pin, target.toEndpoints(), server.Issuer != ""); err != nil {
			return nil, err
		}
		s := f.beginStep(stepRegister)
		f.secrets = append(f.secrets, server.Secret.Reveal())
		c := &RegisteredClient{Issuer: m.Issuer, ID: server.ClientID, Secret: server.Secret.Reveal(), Auth: server.chooseAuthMethod(m.TokenEndpointAuthMethodsSupported)}
		f.passStep(s, "configured client "+c.ID)
		return c, nil
	case f.client.MetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		f.passStep(f.beginStep(stepRegister), "client metadata document "+f.client.MetadataURL)
		return &RegisteredClient{Issuer: m.Issuer, ID: f.client.MetadataURL, Auth: AuthNone, Redirect: redirect}, nil
	case known != nil && SameIssuer(known.Issuer, m.Issuer) && known.Redirect == redirect && (known.Expires.IsZero() || f.client.Now().Before(known.Expires)):
		f.secrets = append(f.secrets, known.Secret)
		f.passStep(f.beginStep(stepRegister), "client "+known.ID+", registered before")
		return known, nil
	case m.RegistrationEndpoint == "":
		return nil, f.failStep(f.beginStep(stepRegister), junctor.CodeDenied, m.Issuer+" does not support client registration",
			"register a client there by hand, with the redirect URI "+redirect+", and set its client_id (and secret) in the server's auth")
	}
	return f.registerClient(ctx, m, redirect)
}

// checkPin returns a denied error if the operator's client would be used at another
// issuer, or at a token endpoint of another origin, than before. Otherwise anyone who
// controls the metadata of the server or of its issuer could obtain the secret. If
// the operator names the issuer (named), a pin to another issuer no longer applies.
func (f *flow) checkPin(client string, pin Pin, at Endpoints, named bool) error {
	const ask = "ask the operators of the server and of the authorization server to confirm the change; then "
	switch {
	case pin.Issuer == "":
		return nil
	case !SameIssuer(pin.Issuer, at.Issuer):
		if named {
			return nil
		}
		return f.failStep(f.beginStep(stepRegister), junctor.CodeDenied, fmt.Sprintf("the client %s was used with %s until now, but the server now names %s: the client was not used there", client, pin.Issuer, at.Issuer),
			ask+"set issuer in the server's auth to the new one")
	case pin.TokenOrigin != "" && pin.TokenOrigin != OriginOf(at.Token):
		return f.failStep(f.beginStep(stepRegister), junctor.CodeDenied, fmt.Sprintf("the secret of the client %s was sent to %s until now, but %s names a token endpoint at %s: the secret was not sent there", client, pin.TokenOrigin, at.Issuer, OriginOf(at.Token)),
			ask+"enter client_secret in the server's auth again")
	}
	return nil
}

// chooseAuthMethod returns how the operator's client authenticates: as configured,
// else with a method that the server supports, preferring HTTP Basic.
func (s *Server) chooseAuthMethod(supported []string) AuthMethod {
	switch {
	case s.AuthMethod != "":
		return s.AuthMethod
	case s.Secret.IsZero():
		return AuthNone
	case len(supported) == 0 || slices.Contains(supported, string(AuthBasic)):
		return AuthBasic
	case slices.Contains(supported, string(AuthPost)):
		return AuthPost
	}
	return AuthBasic
}

// registerClient registers a new client (RFC 7591).
func (f *flow) registerClient(ctx context.Context, m *oauthex.AuthServerMeta, redirect string) (*RegisteredClient, error) {
	ask := oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ClientName: f.client.Name, ApplicationType: applicationType(redirect), TokenEndpointAuthMethod: string(preferredAuth(m.TokenEndpointAuthMethodsSupported)),
	}
	s, res := f.postJSON(ctx, stepRegister, m.RegistrationEndpoint, ask)
	if res.err != nil {
		return nil, f.failStep(s, junctor.CodeOf(res.err), "the registration failed: "+junctor.AsError(res.err).Message, "check that this instance can reach the authorization server")
	}
	var got struct {
		ClientID  string `json:"client_id"`
		Secret    string `json:"client_secret"`
		Auth      string `json:"token_endpoint_auth_method"`
		ExpiresAt int64  `json:"client_secret_expires_at"`
		errorResponse
	}
	err := json.Unmarshal(res.body, &got)
	switch {
	case res.status >= 500:
		return nil, f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server failed with HTTP %d", res.status), "try again later, or report this to its operator")
	case !res.succeeded():
		return nil, f.failStep(s, junctor.CodeDenied, fmt.Sprintf("the authorization server rejected the registration (HTTP %d%s)", res.status, got.asSuffix()),
			"register a client there by hand, with the redirect URI "+redirect+", and set its client_id (and secret) in the server's auth")
	case err != nil || got.ClientID == "":
		return nil, f.failStep(s, junctor.CodeUpstream, "the response has no client_id", "report this to the operator of the authorization server")
	}
	c := &RegisteredClient{Issuer: m.Issuer, ID: got.ClientID, Secret: got.Secret, Auth: AuthMethod(got.Auth), Redirect: redirect}
	if c.Auth == "" { // the requested method applies
		c.Auth = AuthMethod(ask.TokenEndpointAuthMethod)
	}
	if c.Secret == "" {
		c.Auth = AuthNone
	}
	if got.ExpiresAt > 0 {
		c.Expires = time.Unix(got.ExpiresAt, 0)
	}
	f.passStep(s, "registered as "+c.ID)
	return c, nil
}

// preferredAuth returns the method to request at registration. A public client is
// preferred, since it has no secret that could leak.
func preferredAuth(supported []string) AuthMethod {
	for _, way := range []AuthMethod{AuthNone, AuthBasic, AuthPost} {
		if slices.Contains(supported, string(way)) {
			return way
		}
	}
	if len(supported) == 0 {
		return AuthBasic // the default of RFC 8414
	}
	return AuthNone
}

// applicationType returns the OpenID application type for a redirect address:
// native for loopback addresses.
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && u.Scheme == "https" {
		return "web"
	}
	return "native"
}

// errorResponse is the error of an OAuth endpoint (RFC 6749, 5.2).
type errorResponse struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// asSuffix returns the error as the end of a sentence, or "" if there is none.
func (p errorResponse) asSuffix() string {
	switch {
	case p.Error == "":
		return ""
	case p.Description == "":
		return ": " + clipText(p.Error)
	}
	return ": " + clipText(p.Error) + ", " + clipText(p.Description)
}

// clipText bounds texts of other servers in messages.
func clipText(text string) string { return junctor.ShortenText(text, 200) }

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	junctor "github.com/junctor-mcp/junctor"
)

// Names of trace steps, as users read them.
const (
	stepProbe             = "request to the server without a token"
	stepResourceMetadata  = "protected resource metadata"
	stepIssuerMetadata    = "authorization server metadata"
	stepRegister          = "client registration"
	stepAuthorize         = "authorization request"
	stepCallback          = "authorization response"
	stepCode              = "token request: authorization code"
	stepRefresh           = "token request: refresh token"
	stepClientCredentials = "token request: client credentials"
	stepIdentityExchange  = "token request: assertion for the identity token"
	stepAssertion         = "token request: assertion"
	stepTokenExchange     = "token request: token exchange"
	stepRevoke            = "token revocation"
	stepCall              = "call with the token"
)

// Challenge is the content of the WWW-Authenticate headers with which a server
// refuses a request.
type Challenge struct {
	Status      int    // 401 or 403; 0 if there was no challenge
	MetadataURL string // of the protected resource metadata; "" if not given
	Error       string // such as invalid_token or insufficient_scope
	Scopes      []string
	Date        time.Time // by the server's clock; zero if not given
}

// ParseChallenge parses the WWW-Authenticate headers of a response. Unreadable
// headers yield a Challenge with the status only.
func ParseChallenge(status int, headers []string) Challenge {
	c := Challenge{Status: status}
	all, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return c
	}
	for _, one := range all {
		if c.MetadataURL == "" {
			c.MetadataURL = one.Params["resource_metadata"]
		}
		if one.Scheme == "bearer" {
			if c.Error == "" {
				c.Error = one.Params["error"]
			}
			if len(c.Scopes) == 0 {
				c.Scopes = strings.Fields(one.Params["scope"])
			}
		}
	}
	return c
}

// probeServer requests the server without a token to get its challenge, which says
// where its metadata is. A useless response is no failure: discovery then tries the
// well-known addresses.
func (f *flow) probeServer(ctx context.Context, address string) Challenge {
	s, res := f.getDocument(ctx, stepProbe, address)
	c := ParseChallenge(res.status, res.challenges)
	switch {
	case res.err != nil:
		f.passStep(s, "nothing: "+junctor.AsError(res.err).Message)
	case c.Status == http.StatusUnauthorized && c.MetadataURL != "":
		f.passStep(s, "the server requires a login, and names its metadata")
		return c
	case c.Status == http.StatusUnauthorized:
		f.passStep(s, "the server requires a login")
		return c
	default:
		f.passStep(s, "the server does not require a login")
	}
	return Challenge{}
}

// NeedsMoreScopes reports whether the server requires scopes that the token lacks.
func (c Challenge) NeedsMoreScopes() bool {
	return c.Status == http.StatusForbidden && c.Error == "insufficient_scope"
}

// loginTarget is the result of discovery: the resource to request tokens for, and
// the authorization server that issues them.
type loginTarget struct {
	resource      string // the server's identifier for itself; "" sends no resource parameter
	scopes        []string
	metadata      oauthex.AuthServerMeta
	isLegacy      bool // nothing is published: the default paths of MCP 2025-03-26 are used
	issuerUnknown bool // the endpoints are configured and the issuer is not: the origin stands for it
}

// toEndpoints returns what a grant keeps of the metadata. A revocation endpoint at
// another origin is left out.
func (t *loginTarget) toEndpoints() Endpoints {
	at := Endpoints{Issuer: t.metadata.Issuer, Token: t.metadata.TokenEndpoint, Revocation: t.metadata.RevocationEndpoint, AuthMethods: t.metadata.TokenEndpointAuthMethodsSupported}
	if !at.canRevoke() {
		at.Revocation = ""
	}
	return at
}

// canRevoke reports whether tokens can be revoked safely: at the origin that issued
// them. The client authenticates there too, and pins cover only the origin of the
// token endpoint.
func (e *Endpoints) canRevoke() bool {
	return e.Revocation != "" && OriginOf(e.Revocation) == OriginOf(e.Token)
}

// hasEndpoints reports whether the endpoints are configured, so that discovery is
// not needed.
func (s *Server) hasEndpoints() bool {
	return s.Issuer == "" && s.AuthorizationURL != "" && s.TokenURL != ""
}

// useKnownEndpoints returns the target for configured endpoints. It has no
// resource: authorization servers that do not know MCP may reject the parameter.
func (f *flow) useKnownEndpoints(server Server) (*loginTarget, error) {
	target := &loginTarget{issuerUnknown: true, metadata: oauthex.AuthServerMeta{Issuer: OriginOf(server.AuthorizationURL), AuthorizationEndpoint: server.AuthorizationURL, TokenEndpoint: server.TokenURL}}
	s := f.beginStep(stepIssuerMetadata)
	for _, at := range []string{server.AuthorizationURL, server.TokenURL} {
		if !isWebURL(at) {
			return nil, f.failStep(s, junctor.CodeDenied, "the OpenAPI document names a login address that is not an http or https URL", "set issuer in the server's auth")
		}
	}
	f.passStep(s, "the OpenAPI document names the authorization and token endpoints")
	return target, nil
}

// discoverIssuer finds the authorization server of a server and reads its metadata.
// If the operator named an issuer, any other one is denied. If the server publishes
// no metadata, the named issuer is used, or else the server's origin as in MCP
// 2025-03-26.
func (f *flow) discoverIssuer(ctx context.Context, server Server, challenge Challenge) (*loginTarget, error) {
	if server.hasEndpoints() {
		return f.useKnownEndpoints(server)
	}
	resource, issuers, scopes, err := f.readResourceMetadata(ctx, server.URL, challenge)
	if err != nil {
		return nil, err
	}
	target := &loginTarget{resource: resource, scopes: scopes, isLegacy: len(issuers) == 0 && server.Issuer == ""}
	var issuer string
	switch {
	case len(issuers) == 0 && server.Issuer != "": // the server names none, but the operator does
		issuer = server.Issuer
	case target.isLegacy: // MCP 2025-03-26: the server is its own authorization server
		u, _ := url.Parse(server.URL) // it was requested already
		issuer = u.Scheme + "://" + u.Host
	case server.Issuer == "":
		issuer = issuers[0]
	default:
		i := slices.IndexFunc(issuers, func(s string) bool { return SameIssuer(s, server.Issuer) })
		if i < 0 {
			return nil, f.failStep(f.beginStep(stepIssuerMetadata), junctor.CodeDenied,
				fmt.Sprintf("the server names the authorization server %s, but auth.issuer allows only %s", strings.Join(issuers, ", "), server.Issuer),
				"if the change is right, change issuer in the server's auth")
		}
		issuer = issuers[i]
	}
	if err := f.readIssuerMetadata(ctx, target, issuer); err != nil {
		return nil, err
	}
	if server.Issuer != "" && !SameIssuer(target.metadata.Issuer, server.Issuer) {
		return nil, f.failStep(f.beginStep(stepIssuerMetadata), junctor.CodeDenied, fmt.Sprintf("the server names the authorization server %s, but auth.issuer allows only %s", target.metadata.Issuer, server.Issuer),
			"if the change is right, change issuer in the server's auth")
	}
	return target, nil
}

// readResourceMetadata reads the protected resource metadata of the server (RFC
// 9728). If there is none, it returns the address as resource and no issuers.
//
// Metadata for another resource is denied, because a token for that resource could
// be used there in the user's name. A document that cannot be read is an error and
// not the same as none: otherwise a failing server would be downgraded to the
// legacy paths.
func (f *flow) readResourceMetadata(ctx context.Context, address string, challenge Challenge) (resource string, issuers, scopes []string, err error) {
	var broken error // the last failure that is not "there is none"
	for _, at := range resourceURLs(challenge.MetadataURL, address) {
		if !isWebURL(at) {
			return "", nil, nil, f.failStep(f.beginStep(stepResourceMetadata), junctor.CodeDenied, "resource_metadata of the server is not an http or https URL", "report this to its operator")
		}
		s, res := f.getDocument(ctx, stepResourceMetadata, at)
		switch {
		case res.err != nil:
			broken = f.failStep(s, junctor.CodeOf(res.err), "cannot read the metadata: "+junctor.AsError(res.err).Message, "check that this instance can reach the address")
			continue
		case res.status >= 500:
			broken = f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("the server failed with HTTP %d", res.status), "try again later, or report this to its operator")
			continue
		case !res.succeeded():
			f.passStep(s, "no metadata at this address")
			continue
		}
		var m oauthex.ProtectedResourceMetadata
		if err := json.Unmarshal(res.body, &m); err != nil {
			broken = f.failStep(s, junctor.CodeUpstream, "the response is not valid metadata", "report this to the server's operator")
			continue
		}
		switch {
		case !coversAddress(m.Resource, address):
			return "", nil, nil, f.failStep(s, junctor.CodeDenied, fmt.Sprintf("the metadata is for the server %s, not for this one: its tokens would be for another server", m.Resource),
				"check the server's URL, or report this to its operator")
		case len(m.AuthorizationServers) == 0:
			return "", nil, nil, f.failStep(s, junctor.CodeUpstream, "the metadata names no authorization server", "report this to the server's operator")
		}
		f.passStep(s, "the server names the authorization server "+strings.Join(m.AuthorizationServers, ", "))
		return m.Resource, m.AuthorizationServers, m.ScopesSupported, nil
	}
	if broken != nil {
		return "", nil, nil, broken
	}
	return address, nil, nil, nil
}

// resourceURLs returns the possible addresses of the resource metadata, in the
// order in which they are tried: the one that the challenge names, the well-known
// path of the endpoint, and that of the origin.
func resourceURLs(named, address string) (all []string) {
	add := func(at string) {
		if at != "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	add(named)
	if u, err := url.Parse(address); err == nil {
		root := u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource"
		add(root + strings.TrimSuffix(u.EscapedPath(), "/"))
		add(root)
	}
	return all
}

// coversAddress reports whether a resource identifier covers an address: the same
// origin, and a path that is a prefix at a segment boundary.
func coversAddress(resource, address string) bool {
	if OriginOf(resource) != OriginOf(address) {
		return false
	}
	r, err := url.Parse(resource)
	a, aerr := url.Parse(address)
	if err != nil || aerr != nil || r.RawQuery != "" && r.RawQuery != a.RawQuery {
		return false
	}
	within := strings.TrimSuffix(r.EscapedPath(), "/")
	rest, ok := strings.CutPrefix(strings.TrimSuffix(a.EscapedPath(), "/"), within)
	return ok && (rest == "" || rest[0] == '/')
}

// readIssuerMetadata reads the metadata of an authorization server (RFC 8414 or
// OpenID Connect Discovery) into target and checks it. If none is published, it
// fails unless target is legacy.
func (f *flow) readIssuerMetadata(ctx context.Context, target *loginTarget, issuer string) error {
	if !isWebURL(issuer) {
		return f.failStep(f.beginStep(stepIssuerMetadata), junctor.CodeDenied, "the server names an authorization server that is not an http or https URL", "report this to its operator")
	}
	var broken error
	for _, at := range issuerURLs(issuer) {
		s, res := f.getDocument(ctx, stepIssuerMetadata, at)
		switch {
		case res.err != nil:
			broken = f.failStep(s, junctor.CodeOf(res.err), "cannot read the metadata: "+junctor.AsError(res.err).Message, "check that this instance can reach the authorization server")
			continue
		case res.status >= 500:
			broken = f.failStep(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server failed with HTTP %d", res.status), "try again later, or report this to its operator")
			continue
		case !res.succeeded():
			f.passStep(s, "no metadata at this address")
			continue
		}
		if err := json.Unmarshal(res.body, &target.metadata); err != nil {
			broken = f.failStep(s, junctor.CodeUpstream, "the response is not valid metadata", "report this to the operator of the authorization server")
			continue
		}
		target.isLegacy = false
		return f.checkIssuerMetadata(s, target, issuer)
	}
	switch {
	case broken != nil:
		return broken
	case !target.isLegacy:
		return f.failStep(f.beginStep(stepIssuerMetadata), junctor.CodeUpstream, issuer+" publishes no metadata, so its endpoints are unknown", "report this to its operator, or to the server's operator")
	}
	target.metadata = oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	f.passStep(f.beginStep(stepIssuerMetadata), "neither the server nor an authorization server publishes metadata: Junctor uses the default paths of MCP 2025-03-26")
	return nil
}

// checkIssuerMetadata rejects metadata that is unsafe to use: of another issuer,
// without PKCE S256 for the code flow, or with endpoints that are no web addresses.
func (f *flow) checkIssuerMetadata(s *junctor.TraceStep, target *loginTarget, issuer string) error {
	m := &target.metadata
	if !SameIssuer(m.Issuer, issuer) {
		return f.failStep(s, junctor.CodeDenied, fmt.Sprintf("the server names the authorization server %s, but its metadata has the issuer %s", issuer, m.Issuer),
			"report this to the server's operator: both must be the same")
	}
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") && m.AuthorizationEndpoint != "" && slices.Contains(supportedGrants(m), "authorization_code") {
		return f.failStep(s, junctor.CodeDenied, "the authorization server does not list S256 in code_challenge_methods_supported; without PKCE, a code can be stolen", "report this to the operator of the authorization server")
	}
	for _, e := range []struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint}, {"registration_endpoint", m.RegistrationEndpoint}, {"revocation_endpoint", m.RevocationEndpoint},
	} {
		if e.address != "" && !isWebURL(e.address) {
			return f.failStep(s, junctor.CodeDenied, "its "+e.name+" is not an http or https URL", "report this to the operator of the authorization server")
		}
	}
	if m.TokenEndpoint == "" {
		return f.failStep(s, junctor.CodeUpstream, "the metadata names no token_endpoint", "report this to the operator of the authorization server")
	}
	f.passStep(s, m.Issuer+" names its endpoints")
	return nil
}

// supportedGrants returns the grant types of an authorization server, with the
// defaults of RFC 8414 if it lists none.
func supportedGrants(m *oauthex.AuthServerMeta) []string {
	if len(m.GrantTypesSupported) == 0 {
		return []string{"authorization_code", "implicit"}
	}
	return m.GrantTypesSupported
}

// issuerURLs returns the possible addresses of an issuer's metadata, in the order
// in which the MCP specification tries them.
func issuerURLs(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	all := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		all = append(all, root+path+"/.well-known/openid-configuration")
	}
	return all
}

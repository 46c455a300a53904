package oauth

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

// Names of steps.
const (
	stepKnock     = "what the server says to a stranger"
	stepResource  = "the server's metadata"
	stepIssuer    = "the authorization server's metadata"
	stepClient    = "becoming a client"
	stepSend      = "sending the person there"
	stepReturn    = "the answer that the person came back with"
	stepCode      = "a token for the code"
	stepRefresh   = "a token for the refresh token"
	stepToken     = "a token for the client"
	stepExchange  = "an assertion for the identity token"
	stepAssertion = "a token for the assertion"
	stepExchanged = "a token for the other token"
	stepRevoke    = "giving the token back"
	stepUse       = "a call with the token"
)

// Challenge is what a server says when it refuses a request.
type Challenge struct {
	Status   int    // 401, 403
	Metadata string // where its metadata is; "" is not said
	Error    string // invalid_token, insufficient_scope
	Scopes   []string
	Date     time.Time // by the server's clock; zero where it does not say
}

// ParseChallenge reads the WWW-Authenticate headers of an answer. What cannot be
// read says nothing.
func ParseChallenge(status int, headers []string) Challenge {
	c := Challenge{Status: status}
	all, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return c
	}
	for _, one := range all {
		if c.Metadata == "" {
			c.Metadata = one.Params["resource_metadata"]
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

// knock asks the server for something without a token: what it says to that
// tells where to begin. That it says nothing of use is no failure.
func (r *run) knock(ctx context.Context, address string) Challenge {
	s, a := r.get(ctx, stepKnock, address)
	c := ParseChallenge(a.status, a.wants)
	switch {
	case a.err != nil:
		r.passed(s, "nothing: "+junctor.AsError(a.err).Message)
	case c.Status == http.StatusUnauthorized && c.Metadata != "":
		r.passed(s, "that it wants a login, and where its metadata is")
		return c
	case c.Status == http.StatusUnauthorized:
		r.passed(s, "that it wants a login")
		return c
	default:
		r.passed(s, "nothing about a login")
	}
	return Challenge{}
}

// More says whether the server wants more rights than the token has.
func (c Challenge) More() bool {
	return c.Status == http.StatusForbidden && c.Error == "insufficient_scope"
}

// place is where to log in.
type place struct {
	resource string // the server's name for itself
	scopes   []string
	server   oauthex.AuthServerMeta
	legacy   bool // it publishes nothing: what 2025-03-26 says is taken for it
	nameless bool // its endpoints are known, and its issuer is not: it is called by its origin
}

func (p *place) endpoints() Endpoints {
	at := Endpoints{Issuer: p.server.Issuer, Token: p.server.TokenEndpoint, Revocation: p.server.RevocationEndpoint, AuthMethods: p.server.TokenEndpointAuthMethodsSupported}
	if !at.revokes() {
		at.Revocation = ""
	}
	return at
}

// revokes says whether tokens can be given back: at the origin that gave them. The
// client proves itself there too, and pins know the token endpoint's origin alone.
func (e *Endpoints) revokes() bool {
	return e.Revocation != "" && OriginOf(e.Revocation) == OriginOf(e.Token)
}

// known says whether there is nothing to find out about where to log in.
func (s *Server) known() bool { return s.Issuer == "" && s.Page != "" && s.Token != "" }

// said is the place that is known beforehand. It gets no resource: who knows
// nothing of the specification of MCP may refuse what it does not know.
func (r *run) said(server Server) (*place, error) {
	p := &place{nameless: true, server: oauthex.AuthServerMeta{Issuer: OriginOf(server.Page), AuthorizationEndpoint: server.Page, TokenEndpoint: server.Token}}
	s := r.step(stepIssuer)
	for _, at := range []string{server.Page, server.Token} {
		if !isWeb(at) {
			return nil, r.failed(s, junctor.CodeDenied, "the API's documentation names a place to log in that is no address of the web", "name the issuer in the server's auth")
		}
	}
	r.passed(s, "the API's documentation names where people log in and where tokens are")
	return p, nil
}

// discover finds the authorization server of a server.
func (r *run) discover(ctx context.Context, server Server, challenge Challenge) (*place, error) {
	if server.known() {
		return r.said(server)
	}
	resource, issuers, scopes, err := r.resource(ctx, server.URL, challenge)
	if err != nil {
		return nil, err
	}
	p := &place{resource: resource, scopes: scopes, legacy: len(issuers) == 0 && server.Issuer == ""}
	var issuer string
	switch {
	case len(issuers) == 0 && server.Issuer != "": // the server says nothing, and its operator here does
		issuer = server.Issuer
	case p.legacy: // the specification of 2025-03-26: the server is its own
		u, _ := url.Parse(server.URL) // it has been asked
		issuer = u.Scheme + "://" + u.Host
	case server.Issuer == "":
		issuer = issuers[0]
	default:
		i := slices.IndexFunc(issuers, func(s string) bool { return SameIssuer(s, server.Issuer) })
		if i < 0 {
			return nil, r.failed(r.step(stepIssuer), junctor.CodeDenied,
				fmt.Sprintf("the server sends people to %s, and its login is for %s alone", strings.Join(issuers, ", "), server.Issuer),
				"where that is right, change the issuer in the server's auth")
		}
		issuer = issuers[i]
	}
	if err := r.issuer(ctx, p, issuer); err != nil {
		return nil, err
	}
	if server.Issuer != "" && !SameIssuer(p.server.Issuer, server.Issuer) {
		return nil, r.failed(r.step(stepIssuer), junctor.CodeDenied, fmt.Sprintf("the server sends people to %s, and its login is for %s alone", p.server.Issuer, server.Issuer),
			"where that is right, change the issuer in the server's auth")
	}
	return p, nil
}

// resource reads the metadata of the server itself (RFC 9728). Without any there
// are no issuers.
func (r *run) resource(ctx context.Context, address string, challenge Challenge) (resource string, issuers, scopes []string, err error) {
	var broken error // what kept us from knowing, where it is not that there is none
	for _, at := range resourceURLs(challenge.Metadata, address) {
		if !isWeb(at) {
			return "", nil, nil, r.failed(r.step(stepResource), junctor.CodeDenied, "the server says that its metadata is at an address that is none of the web", "tell its operator")
		}
		s, a := r.get(ctx, stepResource, at)
		switch {
		case a.err != nil:
			broken = r.failed(s, junctor.CodeOf(a.err), "it cannot be read: "+junctor.AsError(a.err).Message, "check that the address can be reached from here")
			continue
		case a.status >= 500:
			broken = r.failed(s, junctor.CodeUpstream, fmt.Sprintf("the server failed with HTTP %d", a.status), "try again later, or tell its operator")
			continue
		case !a.ok():
			r.passed(s, "there is none here")
			continue
		}
		var m oauthex.ProtectedResourceMetadata
		if err := json.Unmarshal(a.body, &m); err != nil {
			broken = r.failed(s, junctor.CodeUpstream, "what is there is no metadata", "tell the server's operator")
			continue
		}
		switch {
		case !covers(m.Resource, address):
			return "", nil, nil, r.failed(s, junctor.CodeDenied, fmt.Sprintf("it is for the server %s, and not for this one: a token for it would be one for another server", m.Resource),
				"check the server's address, or tell its operator")
		case len(m.AuthorizationServers) == 0:
			return "", nil, nil, r.failed(s, junctor.CodeUpstream, "it names no authorization server", "tell the server's operator")
		}
		r.passed(s, "the server sends people to "+strings.Join(m.AuthorizationServers, ", "))
		return m.Resource, m.AuthorizationServers, m.ScopesSupported, nil
	}
	if broken != nil {
		return "", nil, nil, broken
	}
	return address, nil, nil, nil
}

// resourceURLs are the addresses where a server's metadata may be, in order.
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

// covers says whether a resource is the server at an address, or holds it: the
// same origin, and a path that its path begins with.
func covers(resource, address string) bool {
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

// issuer reads the metadata of an authorization server (RFC 8414, OpenID Connect
// Discovery).
func (r *run) issuer(ctx context.Context, p *place, issuer string) error {
	if !isWeb(issuer) {
		return r.failed(r.step(stepIssuer), junctor.CodeDenied, "the server names an authorization server that is no address of the web", "tell its operator")
	}
	var broken error
	for _, at := range issuerURLs(issuer) {
		s, a := r.get(ctx, stepIssuer, at)
		switch {
		case a.err != nil:
			broken = r.failed(s, junctor.CodeOf(a.err), "it cannot be read: "+junctor.AsError(a.err).Message, "check that the authorization server can be reached from here")
			continue
		case a.status >= 500:
			broken = r.failed(s, junctor.CodeUpstream, fmt.Sprintf("the authorization server failed with HTTP %d", a.status), "try again later, or tell its operator")
			continue
		case !a.ok():
			r.passed(s, "there is none here")
			continue
		}
		if err := json.Unmarshal(a.body, &p.server); err != nil {
			broken = r.failed(s, junctor.CodeUpstream, "what is there is no metadata", "tell the operator of the authorization server")
			continue
		}
		p.legacy = false
		return r.judge(s, p, issuer)
	}
	switch {
	case broken != nil:
		return broken
	case !p.legacy:
		return r.failed(r.step(stepIssuer), junctor.CodeUpstream, issuer+" publishes no metadata: nobody can know where to log in there", "tell its operator, or the server's, who named it")
	}
	p.server = oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	r.passed(r.step(stepIssuer), "neither the server nor an authorization server publishes any: the paths of the oldest specification are tried")
	return nil
}

// judge refuses metadata that must not be used.
func (r *run) judge(s *junctor.TraceStep, p *place, issuer string) error {
	m := &p.server
	if !SameIssuer(m.Issuer, issuer) {
		return r.failed(s, junctor.CodeDenied, fmt.Sprintf("the server names the authorization server %s, and what answers there calls itself %s: it may be another", issuer, m.Issuer),
			"tell the server's operator: the two have to be the same")
	}
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") && m.AuthorizationEndpoint != "" && slices.Contains(grants(m), "authorization_code") {
		return r.failed(s, junctor.CodeDenied, "it does not say that it knows PKCE with S256, without which a code could be stolen on the way", "tell the operator of the authorization server")
	}
	for _, e := range []struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint}, {"registration_endpoint", m.RegistrationEndpoint}, {"revocation_endpoint", m.RevocationEndpoint},
	} {
		if e.address != "" && !isWeb(e.address) {
			return r.failed(s, junctor.CodeDenied, "its "+e.name+" is no address of the web", "tell the operator of the authorization server")
		}
	}
	if m.TokenEndpoint == "" {
		return r.failed(s, junctor.CodeUpstream, "it names no token_endpoint", "tell the operator of the authorization server")
	}
	r.passed(s, m.Issuer+" says where to log in")
	return nil
}

// grants are the grant types of an authorization server; these where it does not
// say.
func grants(m *oauthex.AuthServerMeta) []string {
	if len(m.GrantTypesSupported) == 0 {
		return []string{"authorization_code", "implicit"}
	}
	return m.GrantTypesSupported
}

// issuerURLs are the addresses where an authorization server's metadata may be,
// in order.
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

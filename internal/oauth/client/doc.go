// Package client is the OAuth client for upstream MCP servers, as the MCP
// authorization specification describes it. It discovers a server's authorization
// server, registers a client there, sends a person to it, exchanges the code for
// tokens, renews and revokes them. It also gets tokens for OAuth clients without a
// person.
//
// Package upstreamauth calls it: it decides whose login a call uses, stores grants
// and pins in the vault, and passes in an egress HTTP client, which judges the
// addresses that servers name. The package itself stores nothing.
//
// Every request is a step of a trace that says what was sent, what came back, and
// what to do about it. Traces and errors contain no secrets.
//
// Read doc.go (the types), then flow.go (traced requests), discover.go,
// register.go, authorization_code.go (login with a browser), token_request.go and
// login.go (a login in use). token_requester.go, grant.go and enterprise.go are the
// grants without a person.
package client

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Client is Junctor as an OAuth client. All logins share it. It is safe for
// concurrent use.
type Client struct {
	HTTP *http.Client // from egress, which judges the addresses that servers name
	Name string       // shown to people by the authorization server
	// MetadataURL is the public address of the client metadata document; "" if
	// there is none.
	MetadataURL string
	Now         func() time.Time
}

// Server describes an upstream server to log in to, and what its operator
// configured for that.
type Server struct {
	URL        string      // of the MCP endpoint, without its query
	Issuer     string      // the only issuer to accept; "" accepts the one that the server names
	ClientID   string      // of a client registered by hand; "" registers one
	Secret     seal.Secret // of that client: a password or a private key in PEM
	AuthMethod AuthMethod  // how that client authenticates; "" lets the issuer's metadata decide
	Scopes     []string    // to request; empty requests those that the server names

	// AuthorizationURL and TokenURL are the endpoints if they are known beforehand,
	// for example from the documentation of an API. Discovery is skipped then.
	// Issuer takes precedence.
	AuthorizationURL, TokenURL string

	// Pin is where the client sent its secret so far. BeginLogin and FinishLogin
	// do not read it: they have a Pin of their own.
	Pin Pin
}

// Pin binds an operator's client to the place that received its secret. The zero
// Pin binds nothing. Without a pin, metadata that keeps the issuer but names
// another token endpoint would receive the secret at once.
type Pin struct {
	Issuer      string
	TokenOrigin string // origin of the token endpoint; "" if it is not known
}

// AuthMethod is a method of authentication at the token endpoint, named as in the
// OAuth registry token_endpoint_auth_method.
type AuthMethod string

// The supported methods.
const (
	AuthNone       AuthMethod = "none"
	AuthBasic      AuthMethod = "client_secret_basic"
	AuthPost       AuthMethod = "client_secret_post"
	AuthPrivateKey AuthMethod = "private_key_jwt"
)

// RegisteredClient is a client at one authorization server. It must not be used
// with another issuer.
type RegisteredClient struct {
	Issuer   string     `json:"issuer"`
	ID       string     `json:"id"`
	Secret   string     `json:"secret,omitempty"`
	Auth     AuthMethod `json:"auth"`
	Redirect string     `json:"redirect,omitempty"` // redirect address that it was registered with
	Expires  time.Time  `json:"expires,omitzero"`   // of the secret; zero if it does not expire
}

// Token is the response of a token endpoint.
type Token struct {
	Access     string    `json:"access"`
	Refresh    string    `json:"refresh,omitempty"`
	Scopes     []string  `json:"scopes,omitempty"`
	ObtainedAt time.Time `json:"got"`
	ExpiresAt  time.Time `json:"expires,omitzero"` // zero if the server did not say
}

// Grant is a login: tokens, and where they came from. It is valid for one issuer
// and for one origin of the upstream server.
type Grant struct {
	Origin    string           `json:"origin"` // of the upstream server
	Resource  string           `json:"resource"`
	Endpoints Endpoints        `json:"endpoints"`
	Client    RegisteredClient `json:"client"`
	Token     Token            `json:"token"`
	Since     time.Time        `json:"since"`           // when the person logged in
	EndReason string           `json:"ended,omitempty"` // why the login ended; it has no tokens then
}

// Endpoints is the part of an authorization server's metadata that a grant needs
// later.
type Endpoints struct {
	Issuer      string   `json:"issuer"`
	Token       string   `json:"token"`
	Revocation  string   `json:"revocation,omitempty"` // has the origin of Token; "" if there is none
	AuthMethods []string `json:"auth_methods,omitempty"`
}

// IsLive reports whether the grant has a token. A nil grant is not live.
func (g *Grant) IsLive() bool { return g != nil && g.EndReason == "" && g.Token.Access != "" }

// OriginOf returns the scheme, host and port of a URL.
func OriginOf(address string) string {
	return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: address}).Origin()
}

// isWebURL reports whether an address is an http or https URL without user and
// fragment. Egress judges where it leads and whether plain http is allowed.
func isWebURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && u.User == nil && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http")
}

// SameIssuer reports whether two issuer identifiers are the same. A trailing slash
// is ignored, since many servers write it in one place and not in the other.
func SameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

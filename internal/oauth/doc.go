// Package oauth logs in to the servers of others, as the MCP authorization
// specification has it: it finds a server's authorization server, becomes a
// client there, sends a person to it and comes back with tokens, keeps those
// fresh and gives them back. It stands beside credential, which puts the tokens
// on requests, and below visit, which knows whose login a call is made with,
// gives it the egress client and keeps, sealed, what has to be kept.
//
// Every request it makes is a step of a trace that says what was asked, what
// came, and what to do about it. Nothing secret is in a trace or an error.
package oauth

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Client is what all logins share.
type Client struct {
	HTTP *http.Client // of egress: what servers name is judged by it
	Name string       // shown to people at the authorization server
	// MetadataURL is where the client metadata document lies; "" is nowhere.
	MetadataURL string
	Now         func() time.Time
}

// Server is the server that is to be logged in to, and what its operator says
// about that.
type Server struct {
	URL        string      // of the MCP endpoint, without its query
	Issuer     string      // the only authorization server to go to; "" is the one that the server names
	ClientID   string      // of a client that was registered by hand; "" is to become one
	Secret     seal.Secret // of that client: its password, or its private key
	ClientAuth ClientAuth  // how that client proves itself; "" is as the authorization server says
	Scopes     []string    // to ask for; none is what the server names

	// Page and Token are the endpoints for people and for tokens, where they are
	// known beforehand, as the documentation of an API says them: then nobody is
	// asked for them. An Issuer that is named goes before.
	Page, Token string

	// Pinned is where the client sent its secret by now. Begin and Finish, which are
	// given one of their own, do not read it.
	Pinned Pin
}

// Pin is where the operator's client sent its secret by now; the zero Pin is
// nowhere. Metadata that keeps the issuer and moves the token endpoint would
// otherwise get the secret at once.
type Pin struct {
	Issuer string
	Token  string // origin of the token endpoint; "" is not known
}

// ClientAuth is how a client proves itself at a token endpoint, in the words of
// the registry of OAuth.
type ClientAuth string

// The ways to do so.
const (
	AuthNone  ClientAuth = "none"
	AuthBasic ClientAuth = "client_secret_basic"
	AuthPost  ClientAuth = "client_secret_post"
	AuthKey   ClientAuth = "private_key_jwt"
)

// Registered is a client as one authorization server knows it. It is good for
// that issuer alone.
type Registered struct {
	Issuer   string     `json:"issuer"`
	ID       string     `json:"id"`
	Secret   string     `json:"secret,omitempty"`
	Auth     ClientAuth `json:"auth"`
	Redirect string     `json:"redirect,omitempty"` // it was registered for
	Expires  time.Time  `json:"expires,omitzero"`   // of the secret
}

// Token is what an authorization server gave.
type Token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Got     time.Time `json:"got"`
	Expires time.Time `json:"expires,omitzero"` // zero is not said
}

// Grant is a login: tokens, and where they came from. It is good for one issuer
// and one origin.
type Grant struct {
	Origin    string     `json:"origin"` // of the server that it was got for
	Resource  string     `json:"resource"`
	Endpoints Endpoints  `json:"endpoints"`
	Client    Registered `json:"client"`
	Token     Token      `json:"token"`
	Since     time.Time  `json:"since"`           // of the login
	Ended     string     `json:"ended,omitempty"` // why it is over; the tokens are gone then
}

// Endpoints is what of an authorization server's metadata is used later.
type Endpoints struct {
	Issuer      string   `json:"issuer"`
	Token       string   `json:"token"`
	Revocation  string   `json:"revocation,omitempty"` // at the origin of Token; "" is none
	AuthMethods []string `json:"auth_methods,omitempty"`
}

// Live says whether the grant still gives tokens.
func (g *Grant) Live() bool { return g != nil && g.Ended == "" && g.Token.Access != "" }

// OriginOf is the scheme, host and port of an address.
func OriginOf(address string) string {
	return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: address}).Origin()
}

// isWeb says whether an address is one of the web. Where it leads, and whether
// plain http may be spoken there, is judged by egress.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && u.User == nil && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http")
}

// SameIssuer says whether two names mean one issuer; one slash at the end makes no difference, since
// many write it in one place and not in the other.
func SameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

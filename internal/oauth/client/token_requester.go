package client

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Lifetimes of tokens of OAuth clients without a person.
const (
	machineTokenLife    = 5 * time.Minute // if the server does not say
	maxMachineTokenLife = 24 * time.Hour  // whatever the server says
)

// PinStore stores the pins of OAuth clients by client id. LoadPin returns the zero
// Pin for a client that was not used yet.
type PinStore interface {
	LoadPin(ctx context.Context, client string) (Pin, error)
	SavePin(ctx context.Context, client string, pin Pin) error
}

// TokenProof holds the secrets with which an OAuth client without a person gets
// its token. Each may be zero; the grant type decides which are needed.
type TokenProof struct {
	Secret    seal.Secret // the client's own secret
	Subject   seal.Secret // the token of the subject that the new token is for
	IDPSecret seal.Secret // the client's secret at the identity provider
}

// Equal reports whether both proofs hold the same secrets.
func (p *TokenProof) Equal(o *TokenProof) bool {
	return p.Secret.Equal(o.Secret.Reveal()) && p.Subject.Equal(o.Subject.Reveal()) && p.IDPSecret.Equal(o.IDPSecret.Reveal())
}

// TokenRequester gets an access token for an OAuth client and returns how long it
// is valid. Its errors contain no secret of the proof.
type TokenRequester func(ctx context.Context, auth junctor.Auth, with TokenProof) (token seal.Secret, life time.Duration, err error)

// NewTokenRequester returns a TokenRequester for the server at an address.
// recordTrace receives the trace of each request, successful or not. If the
// operator did not configure the token endpoint, pins binds the client's secret to
// the origin of the discovered endpoint; a nil pins binds nothing.
func (c *Client) NewTokenRequester(address string, recordTrace func(context.Context, *junctor.Trace), pins PinStore) TokenRequester {
	return func(ctx context.Context, auth junctor.Auth, with TokenProof) (seal.Secret, time.Duration, error) {
		server := Server{URL: address, Issuer: auth.Issuer, ClientID: auth.ClientID, Secret: with.Secret, AuthMethod: AuthMethodOf(auth.ClientAuth), Scopes: strings.Fields(auth.Scope)}
		isDiscovered := pins != nil && auth.TokenURL == "" && auth.ClientID != "" // the endpoint is discovered, not configured
		if isDiscovered {
			var err error
			if server.Pin, err = pins.LoadPin(ctx, auth.ClientID); err != nil {
				return seal.Secret{}, 0, err
			}
		}
		g, trace, err := c.requestGrantOf(ctx, server, auth, with)
		recordTrace(ctx, trace)
		if err != nil {
			return seal.Secret{}, 0, err
		}
		if pin := (Pin{Issuer: g.Endpoints.Issuer, TokenOrigin: OriginOf(g.Endpoints.Token)}); isDiscovered && pin != server.Pin {
			if err := pins.SavePin(ctx, auth.ClientID, pin); err != nil {
				return seal.Secret{}, 0, err
			}
		}
		life := machineTokenLife
		if !g.Token.ExpiresAt.IsZero() {
			life = min(g.Token.ExpiresAt.Sub(g.Token.ObtainedAt), maxMachineTokenLife)
		}
		return seal.NewSecret(g.Token.Access), life, nil
	}
}

// requestGrantOf requests a token with the grant type of auth; the default is
// client_credentials.
func (c *Client) requestGrantOf(ctx context.Context, server Server, auth junctor.Auth, with TokenProof) (*Grant, *junctor.Trace, error) {
	switch auth.Grant {
	case junctor.GrantJWTBearer:
		return c.RequestAssertionGrant(ctx, server, auth.TokenURL, Challenge{}, with.Subject)
	case junctor.GrantTokenExchange:
		return c.ExchangeToken(ctx, server, auth.TokenURL, Challenge{}, SubjectToken{Token: with.Subject, Type: auth.SubjectType, Audience: auth.Audience})
	case junctor.GrantEnterprise:
		return c.RequestEnterpriseGrant(ctx, server, Challenge{}, IdentityProvider{TokenURL: auth.IDPTokenURL, ClientID: auth.IDPClientID, Secret: with.IDPSecret}, with.Subject)
	default:
		return c.RequestClientGrant(ctx, server, auth.TokenURL, Challenge{})
	}
}

// AuthMethodOf returns the OAuth name of a configured authentication method. ""
// leaves the choice to the authorization server's metadata.
func AuthMethodOf(a junctor.ClientAuth) AuthMethod {
	if a == junctor.ClientAuthKey {
		return AuthPrivateKey
	}
	return ""
}

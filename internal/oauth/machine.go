package oauth

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Bounds of how long a token is used that has no person behind it.
const (
	machineDefault = 5 * time.Minute // where its end is not said
	machineMost    = 24 * time.Hour
)

// Pins keeps where the client of a machine sent its secret.
type Pins interface {
	Pin(ctx context.Context, client string) (Pin, error)
	PinTo(ctx context.Context, client string, pin Pin) error
}

// Machine gives the tokens that the client of an oauth-client gets for itself, for
// the server at an address. traced takes the trace of each. pins binds a secret
// whose token endpoint the issuer names to the origin of that endpoint; nil binds
// none.
func (c *Client) Machine(address string, traced func(context.Context, *junctor.Trace), pins Pins) credential.Asker {
	return func(ctx context.Context, auth junctor.Auth, with credential.Proof) (seal.Secret, time.Duration, error) {
		server := Server{URL: address, Issuer: auth.Issuer, ClientID: auth.ClientID, Secret: with.Secret, ClientAuth: ProofOf(auth.ClientAuth), Scopes: strings.Fields(auth.Scope)}
		found := pins != nil && auth.TokenURL == "" && auth.ClientID != "" // the operator did not name the endpoint
		if found {
			var err error
			if server.Pinned, err = pins.Pin(ctx, auth.ClientID); err != nil {
				return seal.Secret{}, 0, err
			}
		}
		g, trace, err := c.machine(ctx, server, auth, with)
		traced(ctx, trace)
		if err != nil {
			return seal.Secret{}, 0, err
		}
		if pin := (Pin{Issuer: g.Endpoints.Issuer, Token: OriginOf(g.Endpoints.Token)}); found && pin != server.Pinned {
			if err := pins.PinTo(ctx, auth.ClientID, pin); err != nil {
				return seal.Secret{}, 0, err
			}
		}
		life := machineDefault
		if !g.Token.Expires.IsZero() {
			life = min(g.Token.Expires.Sub(g.Token.Got), machineMost)
		}
		return seal.NewSecret(g.Token.Access), life, nil
	}
}

func (c *Client) machine(ctx context.Context, server Server, auth junctor.Auth, with credential.Proof) (*Grant, *junctor.Trace, error) {
	switch auth.Grant {
	case junctor.GrantJWTBearer:
		return c.Assertion(ctx, server, auth.TokenURL, Challenge{}, with.Subject)
	case junctor.GrantTokenExchange:
		return c.Exchange(ctx, server, auth.TokenURL, Challenge{}, Subject{Token: with.Subject, Type: auth.SubjectType, Audience: auth.Audience})
	case junctor.GrantEnterprise:
		return c.Enterprise(ctx, server, Challenge{}, Provider{TokenURL: auth.IDPTokenURL, ClientID: auth.IDPClientID, Secret: with.IDPSecret}, with.Subject)
	default:
		return c.ClientCredentials(ctx, server, auth.TokenURL, Challenge{})
	}
}

// ProofOf is how a client proves itself, in the words of OAuth; "" is as the
// authorization server says.
func ProofOf(a junctor.ClientAuth) ClientAuth {
	if a == junctor.ClientAuthKey {
		return AuthKey
	}
	return ""
}

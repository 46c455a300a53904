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

// Machine gives the tokens that the client of an oauth-client gets for itself, for
// the server at an address. traced takes the trace of each.
func (c *Client) Machine(address string, traced func(*junctor.Trace)) credential.Asker {
	return func(ctx context.Context, auth junctor.Auth, secret seal.Secret) (seal.Secret, time.Duration, error) {
		server := Server{URL: address, Issuer: auth.Issuer, ClientID: auth.ClientID, Secret: secret, ClientAuth: ProofOf(auth.ClientAuth), Scopes: strings.Fields(auth.Scope)}
		g, trace, err := c.ClientCredentials(ctx, server, auth.TokenURL, Challenge{})
		traced(trace)
		if err != nil {
			return seal.Secret{}, 0, err
		}
		life := machineDefault
		if !g.Token.Expires.IsZero() {
			life = min(g.Token.Expires.Sub(g.Token.Got), machineMost)
		}
		return seal.NewSecret(g.Token.Access), life, nil
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

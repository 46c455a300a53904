package upstreamauth

import (
	"context"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// An OAuth client that was registered by hand is pinned. It is pinned to the first
// issuer at which it got a token, unless the server's auth names an issuer. It is
// also pinned to the origin of the token endpoint that received its secret, until
// the secret is entered again. Otherwise a server that changes its metadata could
// have the secret sent to an endpoint of its own.
//
// Pins of the operator's clients and of each user's client are stored separately. A
// user who may enter a client must not be able to replace or evict the pin of
// another client.

// pinsSecret names the secret with the pins of the operator's clients of a server.
// They are not among the clients that registered themselves, because of those only
// the newest maxClients are kept.
const pinsSecret = SecretPrefix + "pins"

// storedPin is the stored pin of one client.
type storedPin struct {
	Client      string `json:"client"`
	Issuer      string `json:"issuer"`
	TokenOrigin string `json:"token"`
	// SecretName names the client secret for which TokenOrigin holds. A new secret
	// starts without a token origin.
	SecretName string `json:"entered,omitempty"`
}

// pinStore keeps the pins of one owner at one server: the operator or a user. It
// implements oauthclient.PinStore.
type pinStore struct {
	manager     *Manager
	row         *junctor.Server
	owner, name string
	secretName  string
}

// operatorPins returns the pins of the clients in the server's auth.
func (m *Manager) operatorPins(row *junctor.Server) pinStore {
	p := pinStore{manager: m, row: row, owner: row.ID, name: pinsSecret, secretName: row.Credential}
	if row.Credential == "" && row.Auth != nil && row.Auth.Secret != junctor.Masked {
		p.secretName = row.Auth.Secret // a reference: another reference is another secret
	}
	return p
}

// userPins returns the pin of the client that a user entered; there is at most one.
// It is deleted when the user enters credentials again.
func (m *Manager) userPins(row *junctor.Server, user string) pinStore {
	return pinStore{manager: m, row: row, owner: junctor.UserOwner(user), name: junctor.UserPins(row.ID)}
}

// loadPins reads all pins of the owner. Unreadable pins are an error: treating them
// as absent would unpin every client.
func (p pinStore) loadPins(ctx context.Context) (all []storedPin, err error) {
	packed, ok, err := p.manager.Vault.Get(ctx, p.row.Tenant, p.owner, p.name)
	if err != nil || !ok {
		return nil, err
	}
	if err := json.Unmarshal([]byte(packed.Reveal()), &all); err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot read the stored pins (the addresses that client secrets were sent to) of the server %s: remove the server and add it again", p.row.ID)
	}
	return all, nil
}

// LoadPin implements oauthclient.PinStore. The zero Pin means that the client was
// not used yet. The token origin is left out if the secret was entered again since.
func (p pinStore) LoadPin(ctx context.Context, client string) (oauthclient.Pin, error) {
	all, err := p.loadPins(ctx)
	if err != nil || client == "" {
		return oauthclient.Pin{}, err
	}
	for _, one := range all {
		if one.Client != client {
			continue
		}
		pin := oauthclient.Pin{Issuer: one.Issuer}
		if one.SecretName == p.secretName {
			pin.TokenOrigin = one.TokenOrigin
		}
		return pin, nil
	}
	return oauthclient.Pin{}, nil
}

// SavePin implements oauthclient.PinStore. It stores nothing for a server that is
// only being tested, or whose secret is not stored yet. It never evicts another
// client's pin: otherwise somebody could remove a pin by creating many.
func (p pinStore) SavePin(ctx context.Context, client string, pin oauthclient.Pin) error {
	if p.row.CreatedAt.IsZero() || p.owner == p.row.ID && p.row.Credential == "" && p.row.Auth.Secret == junctor.Masked {
		return nil
	}
	all, err := p.loadPins(ctx)
	if err != nil {
		return err
	}
	next := storedPin{Client: client, Issuer: pin.Issuer, TokenOrigin: pin.TokenOrigin, SecretName: p.secretName}
	if slices.Contains(all, next) {
		return nil
	}
	all = append(slices.DeleteFunc(all, func(o storedPin) bool { return o.Client == client }), next)
	text, err := json.Marshal(all)
	if err != nil {
		return junctor.AsError(err)
	}
	return p.manager.Vault.Put(ctx, p.row.Tenant, p.owner, p.name, seal.NewSecret(string(text)))
}

// deletePins removes all pins of the owner. It succeeds if there are none.
func (p pinStore) deletePins(ctx context.Context) error {
	err := p.manager.Vault.Delete(ctx, p.row.Tenant, p.owner, p.name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil
	}
	return err
}

// loadClientPin returns the pin of the client of a pending login. It is zero for
// clients that registered themselves, since their secret belongs to one issuer
// anyway, and if the operator has named another issuer since.
func (l *serverLogins) loadClientPin(ctx context.Context, p *oauthclient.PendingLogin) (oauthclient.Pin, error) {
	if !l.isOperatorClient(&p.Client) {
		return oauthclient.Pin{}, nil
	}
	pin, err := l.manager.operatorPins(&l.row).LoadPin(ctx, p.Client.ID)
	if l.row.Auth.Issuer != "" && !oauthclient.SameIssuer(pin.Issuer, p.Endpoints.Issuer) {
		pin = oauthclient.Pin{} // the operator has named another issuer since
	}
	return pin, err
}

// saveClientPin pins the operator's client to the place where a login succeeded.
func (l *serverLogins) saveClientPin(ctx context.Context, g *oauthclient.Grant) error {
	if !l.isOperatorClient(&g.Client) {
		return nil
	}
	return l.manager.operatorPins(&l.row).SavePin(ctx, g.Client.ID, oauthclient.Pin{Issuer: g.Client.Issuer, TokenOrigin: oauthclient.OriginOf(g.Endpoints.Token)})
}

// isOperatorClient reports whether a client is the one in the server's auth.
func (l *serverLogins) isOperatorClient(c *oauthclient.RegisteredClient) bool {
	return c.ID != "" && c.ID == l.row.Auth.ClientID
}

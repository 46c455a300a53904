package visit

import (
	"context"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// A client that was registered by hand is pinned to the first issuer that it
// succeeded at, unless an issuer is named, and to the origin of the token endpoint
// that took its secret, until the secret is entered again. The pins of the operator's
// clients and those of each user's own are kept apart: whoever may enter a client of
// their own must neither replace nor push out the pin of another's.

// pinsSecret names the pins of the operator's clients of a server. They are not kept
// among the clients that register themselves, of which only the last ones stay.
const pinsSecret = SecretPrefix + "pins"

// storedPin is the pin of one client.
type storedPin struct {
	Client string `json:"client"`
	Issuer string `json:"issuer"`
	Token  string `json:"token"`
	// Entered names the secret that Token holds for.
	Entered string `json:"entered,omitempty"`
}

// pinStore keeps the pins of one party at one server. It implements oauth.Pins.
type pinStore struct {
	d           *Desk
	row         *junctor.Server
	owner, name string
	entered     string
}

// operatorPins are those of the clients that stand in the server's auth.
func (d *Desk) operatorPins(row *junctor.Server) pinStore {
	p := pinStore{d: d, row: row, owner: row.ID, name: pinsSecret, entered: row.Credential}
	if row.Credential == "" && row.Auth != nil && row.Auth.Secret != junctor.Masked {
		p.entered = row.Auth.Secret // a reference: another one is another secret
	}
	return p
}

// userPins are those of a user's own client, of which there is one. They are
// forgotten when the user enters credentials.
func (d *Desk) userPins(row *junctor.Server, user string) pinStore {
	return pinStore{d: d, row: row, owner: junctor.UserOwner(user), name: junctor.UserPins(row.ID)}
}

func (p pinStore) load(ctx context.Context) (all []storedPin, err error) {
	packed, ok, err := p.d.Vault.Get(ctx, p.row.Tenant, p.owner, p.name)
	if err != nil || !ok {
		return nil, err
	}
	if err := json.Unmarshal([]byte(packed.Reveal()), &all); err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "where the secrets of clients of the server %s were sent cannot be read: remove the server and add it again", p.row.ID)
	}
	return all, nil
}

// Pin implements oauth.Pins.
func (p pinStore) Pin(ctx context.Context, client string) (oauth.Pin, error) {
	all, err := p.load(ctx)
	if err != nil || client == "" {
		return oauth.Pin{}, err
	}
	for _, one := range all {
		if one.Client != client {
			continue
		}
		pin := oauth.Pin{Issuer: one.Issuer}
		if one.Entered == p.entered {
			pin.Token = one.Token
		}
		return pin, nil
	}
	return oauth.Pin{}, nil
}

// PinTo implements oauth.Pins. A server that is only tried, or whose secret is not
// stored yet, is not pinned. No pin is dropped for another: who could have many made
// would get rid of one that way.
func (p pinStore) PinTo(ctx context.Context, client string, pin oauth.Pin) error {
	if p.row.CreatedAt.IsZero() || p.owner == p.row.ID && p.row.Credential == "" && p.row.Auth.Secret == junctor.Masked {
		return nil
	}
	all, err := p.load(ctx)
	if err != nil {
		return err
	}
	next := storedPin{Client: client, Issuer: pin.Issuer, Token: pin.Token, Entered: p.entered}
	if slices.Contains(all, next) {
		return nil
	}
	all = append(slices.DeleteFunc(all, func(o storedPin) bool { return o.Client == client }), next)
	text, err := json.Marshal(all)
	if err != nil {
		return junctor.AsError(err)
	}
	return p.d.Vault.Put(ctx, p.row.Tenant, p.owner, p.name, seal.NewSecret(string(text)))
}

// forget drops all pins.
func (p pinStore) forget(ctx context.Context) error {
	err := p.d.Vault.Delete(ctx, p.row.Tenant, p.owner, p.name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil
	}
	return err
}

// pin is where the operator's client of a login that a person comes back from was
// used by now.
func (l *logins) pin(ctx context.Context, p *oauth.Pending) (oauth.Pin, error) {
	if !l.isOperators(&p.Client) {
		return oauth.Pin{}, nil
	}
	pin, err := l.d.operatorPins(&l.row).Pin(ctx, p.Client.ID)
	if l.row.Auth.Issuer != "" && !oauth.SameIssuer(pin.Issuer, p.Endpoints.Issuer) {
		pin = oauth.Pin{} // the operator has named another issuer since
	}
	return pin, err
}

// pinTo pins a client to where a login succeeded.
func (l *logins) pinTo(ctx context.Context, g *oauth.Grant) error {
	if !l.isOperators(&g.Client) {
		return nil
	}
	return l.d.operatorPins(&l.row).PinTo(ctx, g.Client.ID, oauth.Pin{Issuer: g.Client.Issuer, Token: oauth.OriginOf(g.Endpoints.Token)})
}

// isOperators says whether a client is the operator's.
func (l *logins) isOperators(c *oauth.Registered) bool {
	return c.ID != "" && c.ID == l.row.Auth.ClientID
}

package visit

import (
	"context"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// loginSecret names what is sealed of the server's own login, and clientsSecret
// the clients that were registered for it.
const (
	loginSecret   = SecretPrefix + "login"
	clientsSecret = SecretPrefix + "clients"
)

// keep is where the login of a user is kept.
func (l *logins) keep(user string) oauth.Keep {
	k := kept{l: l, owner: l.row.ID, name: loginSecret}
	if user != "" {
		k.owner, k.name = junctor.UserOwner(user), junctor.UserSecret(l.row.ID)
	}
	return k
}

// kept keeps one login in the vault.
type kept struct {
	l           *logins
	owner, name string
}

// Load implements oauth.Keep. A login is good for the origin that it was got
// for.
func (k kept) Load(ctx context.Context) (*oauth.Grant, error) {
	packed, ok, err := k.l.d.Vault.Get(ctx, k.l.row.Tenant, k.owner, k.name)
	if err != nil || !ok {
		return nil, err
	}
	g := &oauth.Grant{}
	if json.Unmarshal([]byte(packed.Reveal()), g) != nil || g.Origin != oauth.OriginOf(k.l.row.URL) || g.Since.IsZero() {
		return nil, nil //nolint:nilerr // it is not a login at this server
	}
	return g, nil
}

// Save implements oauth.Keep.
func (k kept) Save(ctx context.Context, g *oauth.Grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "a login cannot be stored: %w", err)
	}
	return k.l.d.Vault.Put(ctx, k.l.row.Tenant, k.owner, k.name, seal.NewSecret(string(text)))
}

func (k kept) forget(ctx context.Context) error {
	err := k.l.d.Vault.Delete(ctx, k.l.row.Tenant, k.owner, k.name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil
	}
	return err
}

// maxClients bounds the clients that are registered for one server: one for each
// address that people come back to.
const maxClients = 16

// clients are those that were registered for the server.
func (l *logins) clients(ctx context.Context) ([]oauth.Registered, error) {
	return l.d.clientsOf(ctx, &l.row)
}

func (d *Desk) clientsOf(ctx context.Context, row *junctor.Server) (all []oauth.Registered, err error) {
	packed, ok, err := d.Vault.Get(ctx, row.Tenant, row.ID, clientsSecret)
	if err != nil || !ok {
		return nil, err
	}
	if json.Unmarshal([]byte(packed.Reveal()), &all) != nil {
		all = nil // they are registered anew
	}
	return all, nil
}

// remember keeps a new client beside the others.
func (l *logins) remember(ctx context.Context, clients []oauth.Registered, c oauth.Registered) error {
	return l.d.rememberClient(ctx, &l.row, clients, c)
}

func (d *Desk) rememberClient(ctx context.Context, row *junctor.Server, clients []oauth.Registered, c oauth.Registered) error {
	clients = slices.DeleteFunc(slices.Clone(clients), func(o oauth.Registered) bool {
		return o.Redirect == c.Redirect && (c.Redirect != "" || o.ID == c.ID)
	})
	clients = append(clients, c)
	text, err := json.Marshal(clients[max(0, len(clients)-maxClients):]) //nolint:gosec // G117: it is sealed
	if err != nil {
		return junctor.AsError(err)
	}
	return d.Vault.Put(ctx, row.Tenant, row.ID, clientsSecret, seal.NewSecret(string(text)))
}

// A client that was registered by hand is pinned to the first issuer that a login
// succeeded at, unless the operator names one, and to the origin of the token
// endpoint that took its secret, until the secret is entered again. It stands
// among the clients with neither secret nor redirect address.

// pinOf is where the operator's client of a row is pinned to.
func pinOf(clients []oauth.Registered, row *junctor.Server, id string) (pin oauth.Pin) {
	i := slices.IndexFunc(clients, func(c oauth.Registered) bool { return c.Redirect == "" && c.ID == id })
	if id == "" || i < 0 {
		return oauth.Pin{}
	}
	pin.Issuer = clients[i].Issuer
	if clients[i].Entered == row.Credential {
		pin.Token = clients[i].TokenOrigin
	}
	return pin
}

// pinClient pins a client of a row, unless it is pinned there already.
func (d *Desk) pinClient(ctx context.Context, row *junctor.Server, id string, pin oauth.Pin) error {
	clients, err := d.clientsOf(ctx, row)
	if err != nil || pinOf(clients, row, id) == pin {
		return err
	}
	return d.rememberClient(ctx, row, clients, oauth.Registered{Issuer: pin.Issuer, ID: id, TokenOrigin: pin.Token, Entered: row.Credential})
}

// pin is pinOf for a login that a person comes back from.
func (l *logins) pin(ctx context.Context, p *oauth.Pending) (oauth.Pin, error) {
	if !l.pins(&p.Client) {
		return oauth.Pin{}, nil
	}
	clients, err := l.clients(ctx)
	pin := pinOf(clients, &l.row, p.Client.ID)
	if l.row.Auth.Issuer != "" && pin.Issuer != p.Endpoints.Issuer {
		pin = oauth.Pin{} // the operator has named another issuer since
	}
	return pin, err
}

// pinTo pins a client to where a login succeeded.
func (l *logins) pinTo(ctx context.Context, g *oauth.Grant) error {
	if !l.pins(&g.Client) {
		return nil
	}
	return l.d.pinClient(ctx, &l.row, g.Client.ID, oauth.Pin{Issuer: g.Client.Issuer, Token: oauth.OriginOf(g.Endpoints.Token)})
}

// pins says whether a client is the operator's.
func (l *logins) pins(c *oauth.Registered) bool {
	return c.ID != "" && c.ID == l.row.Auth.ClientID
}

// machinePins keeps the pins of the client of one server that needs no person.
type machinePins struct {
	d   *Desk
	row *junctor.Server
}

// Pin implements oauth.Pins.
func (m machinePins) Pin(ctx context.Context, client string) (oauth.Pin, error) {
	clients, err := m.d.clientsOf(ctx, m.row)
	return pinOf(clients, m.row, client), err
}

// PinTo implements oauth.Pins. A server that is only tried, or whose secret is not
// stored yet, is not pinned.
func (m machinePins) PinTo(ctx context.Context, client string, pin oauth.Pin) error {
	if m.row.CreatedAt.IsZero() || m.row.Credential == "" && m.row.Auth.Secret == junctor.Masked {
		return nil
	}
	return m.d.pinClient(ctx, m.row, client, pin)
}

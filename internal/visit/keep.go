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
func (l *logins) clients(ctx context.Context) (all []oauth.Registered, err error) {
	packed, ok, err := l.d.Vault.Get(ctx, l.row.Tenant, l.row.ID, clientsSecret)
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
	clients = slices.DeleteFunc(slices.Clone(clients), func(o oauth.Registered) bool { return o.Redirect == c.Redirect })
	clients = append(clients, c)
	text, err := json.Marshal(clients[max(0, len(clients)-maxClients):]) //nolint:gosec // G117: it is sealed
	if err != nil {
		return junctor.AsError(err)
	}
	return l.d.Vault.Put(ctx, l.row.Tenant, l.row.ID, clientsSecret, seal.NewSecret(string(text)))
}

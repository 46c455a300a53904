package upstreamauth

import (
	"context"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Names of secrets that a server owns in the vault: its shared login, and the OAuth
// clients that were registered for it.
const (
	loginSecret   = SecretPrefix + "login"
	clientsSecret = SecretPrefix + "clients"
)

// grantStoreOf returns the store of a user's login. An empty user means the shared
// login, which the server owns.
func (l *serverLogins) grantStoreOf(user string) grantStore {
	store := grantStore{logins: l, owner: l.row.ID, name: loginSecret}
	if user != "" {
		store.owner, store.name = junctor.UserOwner(user), junctor.UserSecret(l.row.ID)
	}
	return store
}

// grantStore keeps one login in the vault. It implements oauthclient.GrantStore.
type grantStore struct {
	logins      *serverLogins
	owner, name string
}

// Load returns the stored login, or nil if there is none. A login made for another
// origin counts as none: if the server's address changes, its tokens must not go to
// the new address.
func (s grantStore) Load(ctx context.Context) (*oauthclient.Grant, error) {
	packed, ok, err := s.logins.manager.Vault.Get(ctx, s.logins.row.Tenant, s.owner, s.name)
	if err != nil || !ok {
		return nil, err
	}
	g := &oauthclient.Grant{}
	if json.Unmarshal([]byte(packed.Reveal()), g) != nil || g.Origin != oauthclient.OriginOf(s.logins.row.URL) || g.Since.IsZero() {
		return nil, nil //nolint:nilerr // it is not a login at this server
	}
	return g, nil
}

// Save replaces the stored login.
func (s grantStore) Save(ctx context.Context, g *oauthclient.Grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "cannot encode the login: %w", err)
	}
	return s.logins.manager.Vault.Put(ctx, s.logins.row.Tenant, s.owner, s.name, seal.NewSecret(string(text)))
}

// deleteGrant removes the stored login. It succeeds if there is none.
func (s grantStore) deleteGrant(ctx context.Context) error {
	err := s.logins.manager.Vault.Delete(ctx, s.logins.row.Tenant, s.owner, s.name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil
	}
	return err
}

// maxClients bounds the clients registered for one server. There is one per
// redirect address, and the oldest are dropped.
const maxClients = 16

// loadClients returns the OAuth clients that were registered for the server.
// Unreadable ones are registered anew.
func (l *serverLogins) loadClients(ctx context.Context) (all []oauthclient.RegisteredClient, err error) {
	packed, ok, err := l.manager.Vault.Get(ctx, l.row.Tenant, l.row.ID, clientsSecret)
	if err != nil || !ok {
		return nil, err
	}
	if json.Unmarshal([]byte(packed.Reveal()), &all) != nil {
		all = nil // they are registered anew
	}
	return all, nil
}

// saveClient stores a new client and drops a former one with the same redirect
// address.
func (l *serverLogins) saveClient(ctx context.Context, clients []oauthclient.RegisteredClient, c oauthclient.RegisteredClient) error {
	clients = slices.DeleteFunc(slices.Clone(clients), func(o oauthclient.RegisteredClient) bool { return o.Redirect == c.Redirect })
	clients = append(clients, c)
	text, err := json.Marshal(clients[max(0, len(clients)-maxClients):]) //nolint:gosec // G117: it is sealed
	if err != nil {
		return junctor.AsError(err)
	}
	return l.manager.Vault.Put(ctx, l.row.Tenant, l.row.ID, clientsSecret, seal.NewSecret(string(text)))
}

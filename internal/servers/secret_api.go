package servers

import (
	"context"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/signin"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// SecretAPI serves the vault to the admin API. It implements admin.Secrets: users may not
// write the secrets that Junctor itself keeps for servers and logins.
type SecretAPI struct {
	*seal.Vault
	registry *Registry
}

// SecretAPI returns the vault as the admin API uses it.
func (s *Registry) SecretAPI() SecretAPI { return SecretAPI{s.o.Vault, s} }

// Keeps returns nil if a principal may see and change the secrets of an owner: those of a
// server if the principal may change the server; those of an owner that is no server, or
// none yet, if it is an admin or a service.
func (a SecretAPI) Keeps(ctx context.Context, p *junctor.Principal, owner string) error {
	if owner == signin.PinOwner {
		if !p.Has(junctor.ScopeAdmin) {
			return junctor.Errorf(junctor.CodeDenied, "the secrets of %s belong to the instance: they require the scope %s", owner, junctor.ScopeAdmin)
		}
		return nil
	}
	_, err := a.registry.o.Store.For(p.Tenant).Server(ctx, owner)
	if junctor.CodeOf(err) == junctor.CodeNotFound && (p.Issuer != junctor.IssuerUser || p.Has(junctor.ScopeAdmin)) {
		return nil
	}
	return a.registry.CheckOwner(ctx, p, owner)
}

// Put stores a secret, in place of a former one of that name.
func (a SecretAPI) Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error {
	if strings.HasPrefix(name, upstreamauth.SecretPrefix) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets %s… belong to servers: change the server's auth, headers or env instead", upstreamauth.SecretPrefix)
	}
	if err := checkNotUser(owner); err != nil {
		return err
	}
	if owner == signin.PinOwner {
		return junctor.Errorf(junctor.CodeDenied, "the secrets of %s are written when users sign in: remove them so that the next sign-in writes new ones", owner)
	}
	return a.Vault.Put(ctx, tenant, owner, name, s)
}

// Delete forgets a secret; not_found if there is none.
func (a SecretAPI) Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if err := checkNotUser(owner); err != nil {
		return err
	}
	return a.Vault.Delete(ctx, tenant, owner, name)
}

// checkNotUser refuses the credentials of users, who alone enter them.
func checkNotUser(owner string) error {
	if strings.HasPrefix(owner, junctor.UserOwner("")) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets of %s… belong to a user, and only that user can set them", junctor.UserOwner(""))
	}
	return nil
}

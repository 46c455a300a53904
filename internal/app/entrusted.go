package app

import (
	"context"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/visit"
)

// entrusted is the vault as people may write to it: what servers keep there is
// theirs.
type entrusted struct {
	*seal.Vault
	store   *store.Store
	servers *servers.Registry
}

// Keeps implements admin.Secrets: who may change a server keeps its secrets, and
// admins and services those of owners that are no server, or none yet.
func (e entrusted) Keeps(ctx context.Context, p *junctor.Principal, owner string) error {
	if owner == providerPinOwner {
		if !p.Has(junctor.ScopeAdmin) {
			return junctor.Errorf(junctor.CodeDenied, "the secrets of %s belong to the instance: they take the scope %s", owner, junctor.ScopeAdmin)
		}
		return nil
	}
	_, err := e.store.For(p.Tenant).Server(ctx, owner)
	if junctor.CodeOf(err) == junctor.CodeNotFound && (p.Issuer != junctor.IssuerUser || p.Has(junctor.ScopeAdmin)) {
		return nil
	}
	return e.servers.CheckOwner(ctx, p, owner)
}

func (e entrusted) Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error {
	if strings.HasPrefix(name, visit.SecretPrefix) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets %s… belong to servers: change the server's auth, headers or env instead", visit.SecretPrefix)
	}
	if err := notUsers(owner); err != nil {
		return err
	}
	if owner == providerPinOwner {
		return junctor.Errorf(junctor.CodeDenied, "the secrets of %s are written when people sign in: remove them to have that begin anew", owner)
	}
	return e.Vault.Put(ctx, tenant, owner, name, s)
}

func (e entrusted) Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if err := notUsers(owner); err != nil {
		return err
	}
	return e.Vault.Delete(ctx, tenant, owner, name)
}

// notUsers keeps people off each other's credentials.
func notUsers(owner string) error {
	if strings.HasPrefix(owner, junctor.UserOwner("")) {
		return junctor.Errorf(junctor.CodeDenied, "the secrets of %s… belong to a user, who alone enters them", junctor.UserOwner(""))
	}
	return nil
}

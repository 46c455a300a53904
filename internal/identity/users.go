package identity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// NewUser describes a user to create. Sources and Tier default to both and free.
type NewUser struct {
	Name    string
	Role    junctor.UserRole
	Sources junctor.Sources
	Tier    string
}

// CreateUser creates a user. The user cannot sign in until they have a password, a
// sign-in link or an identity provider. Errors: invalid for a bad name, role or setting;
// conflict if the name is taken; not_found for an unknown tenant.
func (i *Identity) CreateUser(ctx context.Context, tenant junctor.TenantID, n NewUser) (junctor.User, error) {
	now := toStoredTime(i.now())
	u := junctor.User{
		ID: newID(), Tenant: tenant, Name: n.Name, Role: n.Role, CreatedAt: now, UpdatedAt: now,
		Sources: cmp.Or(n.Sources, junctor.SourcesBoth), Tier: cmp.Or(n.Tier, junctor.TierFree),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.For(tenant).CreateUser(ctx, u); err != nil {
		return junctor.User{}, err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "user created", slog.String("tenant", string(tenant)), slog.String("user", u.ID), slog.String("role", string(u.Role)))
	return u, i.applyChange(ctx, func(r *rowSet) { r.users = append(r.users, u) })
}

// ListUsers lists the users of a tenant by name.
func (i *Identity) ListUsers(ctx context.Context, tenant junctor.TenantID) ([]junctor.User, error) {
	return i.store.For(tenant).Users(ctx)
}

// User returns a user by id or by name; an id wins. The error is not_found if the tenant
// has none.
func (i *Identity) User(ctx context.Context, tenant junctor.TenantID, who string) (junctor.User, error) {
	u, err := i.store.For(tenant).User(ctx, who)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return i.store.For(tenant).UserByName(ctx, who)
	}
	return u, err
}

// ChangeUser applies change to a user, by id, and stores the result. change sets
// UpdatedBy, and runs again if somebody else stored the user in between. ChangeUser
// returns the error of change unchanged. A user that becomes disabled is signed out. When
// it returns, no check sees the former user. change must not call back into the Identity.
func (i *Identity) ChangeUser(ctx context.Context, tenant junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	rows := i.store.For(tenant)
	same := false
	next, err := store.Retry(ctx, func() (junctor.User, error) {
		was, err := rows.User(ctx, id)
		if err != nil {
			return junctor.User{}, err
		}
		next := was
		next.UpdatedBy = "" // whom change names
		if err := change(&next); err != nil {
			return junctor.User{}, err
		}
		by := next.UpdatedBy
		next.ID, next.Tenant, next.CreatedAt, next.UpdatedAt, next.UpdatedBy = was.ID, was.Tenant, was.CreatedAt, was.UpdatedAt, was.UpdatedBy
		if same = reflect.DeepEqual(next, was); same {
			return was, nil
		}
		return rows.By(by).UpdateUser(ctx, next)
	})
	if err != nil || same {
		return next, err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "user changed", slog.String("tenant", string(tenant)), slog.String("user", next.ID),
		slog.String("role", string(next.Role)), slog.Bool("disabled", next.Disabled))
	if next.Disabled {
		err = rows.RevokeLogins(context.WithoutCancel(ctx), next.ID, "", i.now())
	}
	return next, errors.Join(err, i.applyUserChange(ctx, next))
}

// applyUserChange is applyChange for a change of one user. The caller holds i.mu.
func (i *Identity) applyUserChange(ctx context.Context, u junctor.User) error {
	return i.applyChange(ctx, func(r *rowSet) {
		if n := slices.IndexFunc(r.users, func(o junctor.User) bool { return o.Tenant == u.Tenant && o.ID == u.ID }); n >= 0 {
			r.users[n] = u
		}
	})
}

// DeleteUser deletes a user by id, with the secrets of that user. When it returns, the
// user's keys and logins no longer authenticate anyone. The error is not_found if the
// tenant has no such user.
func (i *Identity) DeleteUser(ctx context.Context, tenant junctor.TenantID, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := toStoredTime(i.now())
	if err := i.store.For(tenant).DeleteUser(ctx, id, now); err != nil {
		return err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "user deleted", slog.String("tenant", string(tenant)), slog.String("user", id))
	return i.applyChange(ctx, func(r *rowSet) {
		markKeysRevoked(r, tenant, now, func(k *junctor.Key) bool { return k.User == id })
		r.users = slices.DeleteFunc(r.users, func(u junctor.User) bool { return u.Tenant == tenant && u.ID == id })
		removeLogins(r, tenant, func(l *junctor.Login) bool { return l.User == id })
	})
}

// LinkedUser returns the user that is linked to a subject of an identity provider. The
// error is not_found if there is none.
func (i *Identity) LinkedUser(ctx context.Context, issuer, subject string) (junctor.User, error) {
	return i.store.LinkedUser(ctx, issuer, subject)
}

// UserByName returns a user by name only. The error is not_found if the tenant has none.
func (i *Identity) UserByName(ctx context.Context, tenant junctor.TenantID, name string) (junctor.User, error) {
	return i.store.For(tenant).UserByName(ctx, name)
}

// IsUserLinked reports whether a user, by id, is linked to any subject of an identity provider.
func (i *Identity) IsUserLinked(ctx context.Context, tenant junctor.TenantID, id, issuer string) (bool, error) {
	return i.store.For(tenant).UserLinked(ctx, id, issuer)
}

// LinkUser links a user to a subject of an identity provider. The error is conflict if
// the subject is linked already.
func (i *Identity) LinkUser(ctx context.Context, tenant junctor.TenantID, id, issuer, subject string) error {
	return i.store.For(tenant).LinkUser(ctx, id, issuer, subject, i.now())
}

// CreateTenant creates a tenant and its admin key. The token of the key can never be read
// again. Errors: invalid for a bad id; conflict if the id is taken.
func (i *Identity) CreateTenant(ctx context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error) {
	now := i.now()
	t := junctor.Tenant{ID: id, Name: cmp.Or(name, string(id)), CreatedAt: toStoredTime(now)}
	k, token := newKey(id, adminKeyName, []junctor.Scope{junctor.ScopeAdmin}, now)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.CreateTenant(ctx, t, k); err != nil {
		return junctor.Tenant{}, junctor.Key{}, "", err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "tenant created", slog.String("tenant", string(id)))
	return t, k, token, i.applyChange(ctx, func(r *rowSet) { r.keys = append(r.keys, k) })
}

// ReplaceAdminKey gives the admin key of a tenant a new token, for when the old one was
// lost. The key keeps its id. It is not for the default tenant, whose key is set in other
// ways.
func (i *Identity) ReplaceAdminKey(ctx context.Context, tenant junctor.TenantID) (junctor.Key, string, error) {
	if tenant == junctor.DefaultTenant {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the admin key of this tenant cannot be replaced here; change JUNCTOR_ADMIN_KEY, or run junctor key rotate")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	k, token := newKey(tenant, adminKeyName, []junctor.Scope{junctor.ScopeAdmin}, i.now())
	k, err := i.store.For(tenant).ReplaceAdmin(ctx, k)
	if err != nil {
		return junctor.Key{}, "", err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "admin key replaced", slog.String("tenant", string(tenant)), slog.String("key", k.ID))
	return k, token, i.applyChange(ctx, nil)
}

// ListTenants lists all tenants by id.
func (i *Identity) ListTenants(ctx context.Context) ([]junctor.Tenant, error) {
	return i.store.Tenants(ctx)
}

// removeLogins removes the logins of a tenant for which selects returns true.
func removeLogins(r *rowSet, tenant junctor.TenantID, selects func(*junctor.Login) bool) {
	r.logins = slices.DeleteFunc(r.logins, func(l junctor.Login) bool { return l.Tenant == tenant && selects(&l) })
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// UserGroups returns the groups of a user, by id, as an identity provider stated them last. The
// list is shared: callers must not change it.
func (i *Identity) UserGroups(tenant junctor.TenantID, id string) []string {
	if u := i.snapshot.Load().usersByID[tenantRef{tenant, id}]; u != nil {
		return u.Groups
	}
	return nil
}

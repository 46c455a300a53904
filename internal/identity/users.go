package identity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// NewUser says what user is wanted. Sources and Tier have defaults: both, and
// free.
type NewUser struct {
	Name    string
	Role    junctor.UserRole
	Sources junctor.Sources
	Tier    string
}

// CreateUser makes a user, who cannot sign in until they have a password, a
// link or an identity provider that vouches for them. Errors: invalid for a bad
// name, role or choice, conflict where the name is taken, not_found for an
// unknown tenant.
func (i *Identity) CreateUser(ctx context.Context, tenant junctor.TenantID, n NewUser) (junctor.User, error) {
	now := stored(i.now())
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
	return u, i.settle(ctx, func(r *rows) { r.users = append(r.users, u) })
}

// ListUsers lists a tenant's users by name.
func (i *Identity) ListUsers(ctx context.Context, tenant junctor.TenantID) ([]junctor.User, error) {
	return i.store.For(tenant).Users(ctx)
}

// User gives one user by id or by name; an id wins. not_found when the tenant
// has none.
func (i *Identity) User(ctx context.Context, tenant junctor.TenantID, who string) (junctor.User, error) {
	u, err := i.store.For(tenant).User(ctx, who)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return i.store.For(tenant).UserByName(ctx, who)
	}
	return u, err
}

// ChangeUser changes what change changes of a user, by id; change says in UpdatedBy who
// makes it, and runs again where somebody else was faster. A user that becomes
// disabled is signed out. Nobody sees the former user once it returns.
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
		if same = next == was; same {
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
	return next, errors.Join(err, i.settleUser(ctx, next))
}

// settleUser is settle after a change of one user.
func (i *Identity) settleUser(ctx context.Context, u junctor.User) error {
	return i.settle(ctx, func(r *rows) {
		if n := slices.IndexFunc(r.users, func(o junctor.User) bool { return o.Tenant == u.Tenant && o.ID == u.ID }); n >= 0 {
			r.users[n] = u
		}
	})
}

// DeleteUser deletes a user by id: their keys and logins open nothing any more
// once it returns, and the secrets that are theirs are gone. not_found when the
// tenant has none.
func (i *Identity) DeleteUser(ctx context.Context, tenant junctor.TenantID, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := stored(i.now())
	if err := i.store.For(tenant).DeleteUser(ctx, id, now); err != nil {
		return err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "user deleted", slog.String("tenant", string(tenant)), slog.String("user", id))
	return i.settle(ctx, func(r *rows) {
		revokeKeys(r, tenant, now, func(k *junctor.Key) bool { return k.User == id })
		r.users = slices.DeleteFunc(r.users, func(u junctor.User) bool { return u.Tenant == tenant && u.ID == id })
		dropLogins(r, tenant, func(l *junctor.Login) bool { return l.User == id })
	})
}

// LinkedUser gives the user that a party of an identity provider is; not_found
// when it is nobody here.
func (i *Identity) LinkedUser(ctx context.Context, issuer, subject string) (junctor.User, error) {
	return i.store.LinkedUser(ctx, issuer, subject)
}

// UserByName gives one user by name alone; not_found when the tenant has none.
func (i *Identity) UserByName(ctx context.Context, tenant junctor.TenantID, name string) (junctor.User, error) {
	return i.store.For(tenant).UserByName(ctx, name)
}

// Linked says whether a user, by id, is some party of an identity provider.
func (i *Identity) Linked(ctx context.Context, tenant junctor.TenantID, id, issuer string) (bool, error) {
	return i.store.For(tenant).UserLinked(ctx, id, issuer)
}

// LinkUser notes that a user is a party of an identity provider. Conflict when
// the party is somebody already.
func (i *Identity) LinkUser(ctx context.Context, tenant junctor.TenantID, id, issuer, subject string) error {
	return i.store.For(tenant).LinkUser(ctx, id, issuer, subject, i.now())
}

// CreateTenant makes a tenant and its admin key, whose token is given this one
// time. Errors: invalid for a bad id, conflict where it is taken.
func (i *Identity) CreateTenant(ctx context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error) {
	now := i.now()
	t := junctor.Tenant{ID: id, Name: cmp.Or(name, string(id)), CreatedAt: stored(now)}
	k, token := newKey(id, adminName, []junctor.Scope{junctor.ScopeAdmin}, now)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.CreateTenant(ctx, t, k); err != nil {
		return junctor.Tenant{}, junctor.Key{}, "", err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "tenant created", slog.String("tenant", string(id)))
	return t, k, token, i.settle(ctx, func(r *rows) { r.keys = append(r.keys, k) })
}

// ReplaceAdminKey gives a tenant other than the default one a new admin key in
// place of the one it had, for when that was lost. It keeps its id.
func (i *Identity) ReplaceAdminKey(ctx context.Context, tenant junctor.TenantID) (junctor.Key, string, error) {
	if tenant == junctor.DefaultTenant {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the admin key of this tenant is replaced by JUNCTOR_ADMIN_KEY, or by junctor key rotate")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	k, token := newKey(tenant, adminName, []junctor.Scope{junctor.ScopeAdmin}, i.now())
	k, err := i.store.For(tenant).ReplaceAdmin(ctx, k)
	if err != nil {
		return junctor.Key{}, "", err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "admin key replaced", slog.String("tenant", string(tenant)), slog.String("key", k.ID))
	return k, token, i.settle(ctx, nil)
}

// ListTenants lists all tenants by id.
func (i *Identity) ListTenants(ctx context.Context) ([]junctor.Tenant, error) {
	return i.store.Tenants(ctx)
}

func dropLogins(r *rows, tenant junctor.TenantID, meant func(*junctor.Login) bool) {
	r.logins = slices.DeleteFunc(r.logins, func(l junctor.Login) bool { return l.Tenant == tenant && meant(&l) })
}

// since is the later of two times.
func since(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

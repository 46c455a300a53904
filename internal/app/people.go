package app

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// directory is the keys, users, logins and tenants as the admin API wants them.
type directory struct {
	*identity.Identity
	app *App
}

// CreateLink gives the address that signs a user in.
func (d directory) CreateLink(ctx context.Context, tenant junctor.TenantID, id string) (string, time.Time, error) {
	token, expires, err := d.Identity.CreateLink(ctx, tenant, id)
	if err != nil {
		return "", time.Time{}, err
	}
	return d.app.ConsoleURL() + "/login?" + url.Values{"token": {token}}.Encode(), expires, nil
}

// RotateKey gives a key a new token; what the former one has open ends with it.
func (d directory) RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error) {
	k, token, err := d.Identity.RotateKey(ctx, tenant, id, grace)
	if err == nil {
		d.app.gateway.Rotated(&k)
	}
	return k, token, err
}

// RevokeKey ends a key, and what is open by it.
func (d directory) RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := d.Identity.RevokeKey(ctx, tenant, id); err != nil {
		return err
	}
	return d.app.gateway.EndOf(context.WithoutCancel(ctx), func(q *junctor.Principal) bool {
		return q.Tenant == tenant && (q.Key == id || q.Issuer == junctor.IssuerKey && q.Subject == id)
	})
}

// CreateUser makes a user, of a tier that there is.
func (d directory) CreateUser(ctx context.Context, tenant junctor.TenantID, n identity.NewUser) (junctor.User, error) {
	if n.Tier != "" {
		if err := d.app.limits.knownTier(ctx, tenant, n.Tier); err != nil {
			return junctor.User{}, err
		}
	}
	return d.Identity.CreateUser(ctx, tenant, n)
}

// ChangeUser changes a user; of one who is switched off, what is open ends, and
// so does what their agents have open.
func (d directory) ChangeUser(ctx context.Context, tenant junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error) {
	u, err := d.Identity.ChangeUser(ctx, tenant, id, func(u *junctor.User) error {
		was := u.Tier
		if err := change(u); err != nil || u.Tier == was {
			return err
		}
		return d.app.limits.knownTier(ctx, tenant, u.Tier)
	})
	if err == nil && u.Disabled {
		err = d.endUser(context.WithoutCancel(ctx), tenant, id)
		d.app.servers.UserChanged(tenant, id)
	}
	return u, err
}

func (d directory) endUser(ctx context.Context, tenant junctor.TenantID, id string) error {
	list, err := d.app.store.For(tenant).Agents(ctx)
	theirs := map[string]bool{}
	for i := range list {
		theirs[list[i].Name] = list[i].Owner == junctor.UserOwner(id)
	}
	return errors.Join(err, d.app.gateway.EndOf(ctx, func(q *junctor.Principal) bool {
		return q.Tenant == tenant && (q.Issuer == junctor.IssuerUser && q.Subject == id || q.Issuer == junctor.IssuerAgent && theirs[q.Subject])
	}))
}

// RemoveUser deletes a user. First they open nothing any more; then what was
// theirs alone goes, and what others use goes to whoever deletes; at last the
// user does. Where it fails in between, it can be repeated.
func (d directory) RemoveUser(ctx context.Context, p *junctor.Principal, id string) (admin.RemovedUser, error) {
	out := admin.RemovedUser{User: id, RemovedServers: []string{}, Servers: []string{}, Agents: []string{}}
	if _, err := d.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error { u.Disabled = true; return nil }); err != nil {
		return out, err
	}
	rows := d.app.store.For(p.Tenant).By(p.ID())
	servers, err := rows.Servers(ctx)
	if err != nil {
		return out, err
	}
	for _, row := range servers {
		switch {
		case row.Owner != junctor.UserOwner(id):
			continue
		case row.Private:
			err = d.app.servers.RemoveServer(ctx, p, row.ID)
			out.RemovedServers = append(out.RemovedServers, row.ID)
		default:
			handed := row
			handed.Owner = p.ID()
			var admitted admission.Server
			if admitted, err = d.app.servers.Judge.Server(ctx, p, handed, &row); err == nil {
				_, err = rows.UpdateServer(ctx, admitted)
			}
			out.Servers = append(out.Servers, row.ID)
		}
		if err != nil {
			return out, err
		}
	}
	names, err := rows.HandOverAgents(ctx, junctor.UserOwner(id), p.ID())
	if err != nil {
		return out, err
	}
	if err := d.app.rights.reload(context.WithoutCancel(ctx), p.Tenant); err != nil {
		return out, err
	}
	if out.Agents = append(out.Agents, names...); len(names) > 0 {
		if err := (agents{d.app}).settle(ctx, p.Tenant); err != nil {
			return out, err
		}
	}
	if err := d.DeleteUser(ctx, p.Tenant, id); err != nil { // their credentials go with them
		return out, err
	}
	d.app.servers.UserChanged(p.Tenant, id)
	return out, nil
}

// usersChanged gives what is told of every change of users.
func (a *App) usersChanged() func([]junctor.User) {
	c := &choices{catalog: a.catalog}
	return func(users []junctor.User) {
		c.changed(users)
		a.limits.usersChanged(users)
	}
}

// choices tells the catalogue whose tools each user wants to see.
type choices struct {
	catalog *catalog.Catalog

	mu   sync.Mutex
	told map[junctor.TenantID]map[string]junctor.Sources
}

// changed is told all users of all tenants.
func (c *choices) changed(users []junctor.User) {
	now := map[junctor.TenantID]map[string]junctor.Sources{}
	for _, u := range users {
		if now[u.Tenant] == nil {
			now[u.Tenant] = map[string]junctor.Sources{}
		}
		now[u.Tenant][u.ID] = u.Sources
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for tenant := range c.told {
		if now[tenant] == nil {
			now[tenant] = map[string]junctor.Sources{} // its last user is gone
		}
	}
	for tenant, sources := range now {
		if !maps.Equal(c.told[tenant], sources) {
			c.catalog.SetSources(tenant, sources)
		}
	}
	c.told = now
}

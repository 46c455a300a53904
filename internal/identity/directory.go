package identity

import (
	"context"
	"errors"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// DirectoryOptions configures NewDirectory. All fields are required.
type DirectoryOptions struct {
	Identity *Identity
	Sessions Sessions
	Tiers    Tiers
	Servers  OwnedServers
	Agents   OwnedAgents
	// ConsoleURL returns the address at which users reach the instance with a browser.
	ConsoleURL func() string
}

// Sessions ends what principals have open.
type Sessions interface {
	// EndRotatedStreams ends the streams that were opened with a former token of a key,
	// once that token is no longer valid.
	EndRotatedStreams(k *junctor.Key)
	// EndSessions ends the sessions and streams of the principals that match selects.
	EndSessions(ctx context.Context, match func(*junctor.Principal) bool) error
}

// Tiers knows the tiers of limits.
type Tiers interface {
	// CheckTier returns an error if the tenant has no such tier.
	CheckTier(ctx context.Context, tenant junctor.TenantID, tier string) error
}

// OwnedServers are the servers of users.
type OwnedServers interface {
	// HandOverServers removes the private servers of owner, and makes the principal the
	// owner of the others. It returns the ids of both; after an error, of those so far.
	HandOverServers(ctx context.Context, p *junctor.Principal, owner string) (removed, handedOver []string, err error)
	// UserChanged forgets what servers hold for a user who may act no more.
	UserChanged(tenant junctor.TenantID, user string)
}

// OwnedAgents are the agents of users.
type OwnedAgents interface {
	// AgentsOf returns the names of the agents of an owner.
	AgentsOf(ctx context.Context, tenant junctor.TenantID, owner string) ([]string, error)
	// HandOverAgents makes the principal the owner of owner's agents, and returns their
	// names.
	HandOverAgents(ctx context.Context, p *junctor.Principal, owner string) ([]string, error)
}

// Directory manages keys and users, and ends what a change leaves without permission: a
// key that is revoked or a user who is disabled has no session, stream or server
// connection left when the change returns.
type Directory struct {
	*Identity
	o DirectoryOptions
}

// NewDirectory returns a Directory.
func NewDirectory(o DirectoryOptions) *Directory { return &Directory{o.Identity, o} }

// RemovedUser says what happened to the servers and agents of a deleted user.
type RemovedUser struct {
	User           string   `json:"user" doc:"The user's id."`
	RemovedServers []string `json:"removed_servers" nullable:"false" doc:"Private servers of the user that were removed with their credentials."`
	Servers        []string `json:"servers" nullable:"false" doc:"Servers that the caller now owns."`
	Agents         []string `json:"agents" nullable:"false" doc:"Agents that the caller now owns. Their keys remain valid: rotate the keys that the user knows."`
}

// CreateLink returns the address that signs a user in, and when it expires.
func (d *Directory) CreateLink(ctx context.Context, tenant junctor.TenantID, id string) (string, time.Time, error) {
	token, expires, err := d.Identity.CreateLink(ctx, tenant, id)
	if err != nil {
		return "", time.Time{}, err
	}
	return d.o.ConsoleURL() + "/login?" + url.Values{"token": {token}}.Encode(), expires, nil
}

// RotateKey gives a key a new token. The former one ends after grace, with what it has
// open.
func (d *Directory) RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error) {
	k, token, err := d.Identity.RotateKey(ctx, tenant, id, grace)
	if err == nil {
		d.o.Sessions.EndRotatedStreams(&k)
	}
	return k, token, err
}

// RevokeKey ends a key, and what it has open.
func (d *Directory) RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error {
	if err := d.Identity.RevokeKey(ctx, tenant, id); err != nil {
		return err
	}
	return d.o.Sessions.EndSessions(context.WithoutCancel(ctx), func(q *junctor.Principal) bool {
		return q.Tenant == tenant && (q.Key == id || q.Issuer == junctor.IssuerKey && q.Subject == id)
	})
}

// CreateUser creates a user. The error is invalid if there is no such tier.
func (d *Directory) CreateUser(ctx context.Context, tenant junctor.TenantID, n NewUser) (junctor.User, error) {
	if n.Tier != "" {
		if err := d.o.Tiers.CheckTier(ctx, tenant, n.Tier); err != nil {
			return junctor.User{}, err
		}
	}
	return d.Identity.CreateUser(ctx, tenant, n)
}

// ChangeUser changes a user. If the user is disabled, it ends what they and their agents
// have open.
func (d *Directory) ChangeUser(ctx context.Context, tenant junctor.TenantID, id string, change func(*junctor.User) error) (junctor.User, error) {
	u, err := d.Identity.ChangeUser(ctx, tenant, id, func(u *junctor.User) error {
		former := u.Tier
		if err := change(u); err != nil || u.Tier == former {
			return err
		}
		return d.o.Tiers.CheckTier(ctx, tenant, u.Tier)
	})
	if err == nil && u.Disabled {
		err = d.endUser(context.WithoutCancel(ctx), tenant, id)
		d.o.Servers.UserChanged(tenant, id)
	}
	return u, err
}

// endUser ends what a user and the user's agents have open.
func (d *Directory) endUser(ctx context.Context, tenant junctor.TenantID, id string) error {
	names, err := d.o.Agents.AgentsOf(ctx, tenant, junctor.UserOwner(id))
	owned := map[string]bool{}
	for _, name := range names {
		owned[name] = true
	}
	return errors.Join(err, d.o.Sessions.EndSessions(ctx, func(q *junctor.Principal) bool {
		return q.Tenant == tenant && (q.Issuer == junctor.IssuerUser && q.Subject == id || q.Issuer == junctor.IssuerAgent && owned[q.Subject])
	}))
}

// RemoveUser deletes a user. First it disables the user, so that they open nothing more.
// Then it removes the servers that were theirs alone, and makes the caller the owner of
// what others use, too. If it fails in between, it can be repeated.
func (d *Directory) RemoveUser(ctx context.Context, p *junctor.Principal, id string) (RemovedUser, error) {
	out := RemovedUser{User: id, RemovedServers: []string{}, Servers: []string{}, Agents: []string{}}
	if _, err := d.ChangeUser(ctx, p.Tenant, id, func(u *junctor.User) error { u.Disabled = true; return nil }); err != nil {
		return out, err
	}
	removed, handedOver, err := d.o.Servers.HandOverServers(ctx, p, junctor.UserOwner(id))
	out.RemovedServers, out.Servers = append(out.RemovedServers, removed...), append(out.Servers, handedOver...)
	if err != nil {
		return out, err
	}
	agents, err := d.o.Agents.HandOverAgents(ctx, p, junctor.UserOwner(id))
	out.Agents = append(out.Agents, agents...)
	if err != nil {
		return out, err
	}
	if err := d.DeleteUser(ctx, p.Tenant, id); err != nil { // their credentials go with them
		return out, err
	}
	d.o.Servers.UserChanged(p.Tenant, id)
	return out, nil
}

package identity

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// maxKeyNameLength is how long the name of a key may be, in characters.
const maxKeyNameLength = 64

// MaxGrace is how long the token before may work on after a rotation.
const MaxGrace = 7 * 24 * time.Hour

// NewKey says what key is wanted. It belongs to the user or to the agent, or,
// without either, to a service that it alone stands for.
type NewKey struct {
	Name      string
	User      string // by id
	Agent     string // by name
	Scopes    []junctor.Scope
	ExpiresAt time.Time // zero: never
}

// CreateKey makes a key and gives its token, which is kept nowhere: this is the
// only time it can be seen. Errors: invalid for a bad name, scope or expiry, or
// a scope that its owner can not have; not_found for an unknown tenant or
// owner. Whether the caller may hand out these scopes is not judged here.
func (i *Identity) CreateKey(ctx context.Context, tenant junctor.TenantID, n NewKey) (junctor.Key, string, error) {
	now := i.now()
	if err := checkKeyName(n.Name); err != nil {
		return junctor.Key{}, "", err
	}
	if err := junctor.CheckScopes(n.Scopes); err != nil {
		return junctor.Key{}, "", err
	}
	if !n.ExpiresAt.IsZero() && !toStoredTime(n.ExpiresAt).After(now) {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the key would have expired at %s, which has passed: name a later time, or none", n.ExpiresAt.Format(time.RFC3339))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.checkOwnerScopes(tenant, n); err != nil {
		return junctor.Key{}, "", err
	}
	k, token := newKey(tenant, n.Name, n.Scopes, now)
	k.User, k.Agent, k.ExpiresAt = n.User, n.Agent, toStoredTime(n.ExpiresAt)
	if err := i.store.For(tenant).CreateKey(ctx, k); err != nil {
		return junctor.Key{}, "", err
	}
	if err := i.applyChange(ctx, func(r *rowSet) { r.keys = append(r.keys, k) }); err != nil {
		return junctor.Key{}, "", err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "key created", slog.String("tenant", string(tenant)), slog.String("key", k.ID), slog.String("name", k.Name))
	k.Scopes = slices.Clone(k.Scopes)
	return k, token, nil
}

// checkOwnerScopes says whether the owner of a key can have its scopes.
func (i *Identity) checkOwnerScopes(tenant junctor.TenantID, n NewKey) error {
	can, whose := junctor.Scopes(), ""
	switch {
	case n.User != "" && n.Agent != "":
		return junctor.Errorf(junctor.CodeInvalid, "a key belongs to a user or to an agent, not to both")
	case n.Agent != "":
		can, whose = junctor.AgentScopes(), "a key of an agent"
	case n.User != "":
		if u := i.snapshot.Load().usersByID[tenantRef{tenant, n.User}]; u != nil { // the store knows who is new
			can, whose = u.Role.Cut(junctor.Scopes()), "a key of "+u.Name+", whose role is "+string(u.Role)+","
		}
	}
	for _, s := range n.Scopes {
		if !slices.Contains(can, s) {
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot have the scope %s", whose, s)
		}
	}
	return nil
}

// RotateKey gives a key a new token, and lets the former one work on for the
// grace. What is bound to the key or to its owner goes on. not_found when the
// tenant has no such key that is live.
func (i *Identity) RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error) {
	if grace < 0 || grace > MaxGrace {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the former token may work on for 0 to %s, not for %s", MaxGrace, grace)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.adminKeyIndex(); i.adminKeyFixed && n >= 0 && tenant == junctor.DefaultTenant && i.snapshot.Load().keys[n].ID == id {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeConflict, "this key is JUNCTOR_ADMIN_KEY: change it there, and restart")
	}
	now := i.now()
	k, err := i.store.For(tenant).Key(ctx, id)
	if err != nil {
		return junctor.Key{}, "", err
	}
	token := newToken(k.ID)
	k.Prefix, k.Hash = prefixOf(token), hashToken(token)
	if k, err = i.store.For(tenant).RotateKey(ctx, k, now.Add(grace), now); err != nil {
		return junctor.Key{}, "", err
	}
	err = i.applyChange(ctx, func(r *rowSet) {
		if n := slices.IndexFunc(r.keys, func(o junctor.Key) bool { return o.Tenant == tenant && o.ID == id }); n >= 0 {
			r.keys[n] = k
		}
	})
	i.log.LogAttrs(ctx, slog.LevelInfo, "key rotated", slog.String("tenant", string(tenant)), slog.String("key", id), slog.Duration("grace", grace))
	return k, token, err
}

// RevokeKey ends a key. It opens no door any more once RevokeKey returns.
// not_found when the tenant has no such key.
func (i *Identity) RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error {
	return i.revokeMatching(ctx, tenant, "key", id, func(k *junctor.Key) bool { return k.ID == id }, func(at time.Time) error {
		return i.store.For(tenant).RevokeKey(ctx, id, at)
	})
}

// RevokeAgent ends all keys of an agent, by its name, as RevokeKey does.
func (i *Identity) RevokeAgent(ctx context.Context, tenant junctor.TenantID, agent string) error {
	return i.revokeMatching(ctx, tenant, "agent", agent, func(k *junctor.Key) bool { return k.Agent == agent }, func(at time.Time) error {
		return i.store.For(tenant).RevokeKeysOf(ctx, "", agent, at)
	})
}

func (i *Identity) revokeMatching(ctx context.Context, tenant junctor.TenantID, what, id string, meant func(*junctor.Key) bool, do func(time.Time) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := toStoredTime(i.now())
	if err := do(now); err != nil {
		return err
	}
	err := i.applyChange(ctx, func(r *rowSet) { markKeysRevoked(r, tenant, now, meant) })
	i.log.LogAttrs(ctx, slog.LevelInfo, "keys revoked", slog.String("tenant", string(tenant)), slog.String(what, id))
	return err
}

func markKeysRevoked(r *rowSet, tenant junctor.TenantID, at time.Time, meant func(*junctor.Key) bool) {
	for n := range r.keys {
		if k := &r.keys[n]; k.Tenant == tenant && k.RevokedAt.IsZero() && meant(k) {
			k.RevokedAt = at
		}
	}
}

// ListKeys lists a tenant's keys, oldest first, revoked and expired ones
// included. What other processes changed is seen from then on, as after Reload.
func (i *Identity) ListKeys(ctx context.Context, tenant junctor.TenantID) ([]junctor.Key, error) {
	if err := i.Reload(ctx); err != nil {
		return nil, err
	}
	var list []junctor.Key
	s := i.snapshot.Load()
	for _, k := range s.keys {
		if k.Tenant != tenant {
			continue
		}
		if last := s.keyUsage[tenantRef{k.Tenant, k.ID}].lastUsed.Load(); last > 0 && time.UnixMicro(last).After(k.LastUsedAt) {
			k.LastUsedAt = time.UnixMicro(last).UTC()
		}
		k.Scopes = slices.Clone(k.Scopes)
		list = append(list, k)
	}
	return list, nil
}

// Manages says whether a principal may see, rotate and revoke a key of their
// tenant: an admin every one; a person their own, and those of the agents they
// made; a service those of services. Nobody manages a key that can do more than
// they can.
func (i *Identity) Manages(p *junctor.Principal, k *junctor.Key) bool {
	if p.Tenant != k.Tenant || p.Has(junctor.ScopeAdmin) {
		return p.Tenant == k.Tenant
	}
	s := i.snapshot.Load()
	h := s.keyPrincipal(k)
	switch {
	case h == nil || slices.ContainsFunc(h.Scopes, func(s junctor.Scope) bool { return !p.Has(s) }):
		return false
	case k.Agent != "":
		return s.agentsByName[tenantRef{k.Tenant, k.Agent}].Owner == p.ID()
	}
	return h.Issuer == p.Issuer && (k.User == "" || k.User == p.User)
}

// AgentOwner is who made an agent, as junctor.Agent has it; not_found when the
// tenant has no such agent.
func (i *Identity) AgentOwner(tenant junctor.TenantID, agent string) (string, error) {
	a, ok := i.snapshot.Load().agentsByName[tenantRef{tenant, agent}]
	if !ok {
		return "", junctor.Errorf(junctor.CodeNotFound, "there is no agent %q; junctor agent ls lists them", agent)
	}
	return a.Owner, nil
}

// newKey makes a key and its token, and stores neither.
func newKey(tenant junctor.TenantID, name string, scopes []junctor.Scope, now time.Time) (junctor.Key, string) {
	k := junctor.Key{ID: newID(), Tenant: tenant, Name: name, CreatedAt: toStoredTime(now)}
	for _, s := range scopes {
		if !slices.Contains(k.Scopes, s) {
			k.Scopes = append(k.Scopes, s)
		}
	}
	token := newToken(k.ID)
	k.Prefix, k.Hash = prefixOf(token), hashToken(token)
	return k, token
}

// toStoredTime is a time as it comes back from the store, so that the answer to
// whoever made a key says what will be listed later.
func toStoredTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func checkKeyName(name string) error {
	n := utf8.RuneCountInString(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key is plain text without control characters")
	case strings.TrimSpace(name) == "" || n > maxKeyNameLength:
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key has 1 to %d characters, not %d", maxKeyNameLength, n)
	case name == adminKeyName:
		return junctor.Errorf(junctor.CodeInvalid, "the name %q is reserved: set JUNCTOR_ADMIN_KEY to change the admin key, or choose another name", adminKeyName)
	}
	return nil
}

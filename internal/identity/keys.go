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

// maxKeyNameLength is the longest name of a key, in characters.
const maxKeyNameLength = 64

// MaxRotationGrace is the longest time for which the former token may work after a rotation.
const MaxRotationGrace = 7 * 24 * time.Hour

// NewKey describes a key to create. The key belongs to a user or to an agent. Without
// either, it is the identity of a service of its own.
type NewKey struct {
	Name      string
	User      string // id
	Agent     string // name
	Scopes    []junctor.Scope
	ExpiresAt time.Time // zero: never
}

// CreateKey creates a key and returns its token. The token is stored nowhere, so this is
// the only time it can be read. Errors: invalid for a bad name, scope or expiry, and for
// a scope that the owner cannot have; not_found for an unknown tenant or owner. The
// caller must check whether its own caller may grant these scopes.
func (i *Identity) CreateKey(ctx context.Context, tenant junctor.TenantID, n NewKey) (junctor.Key, string, error) {
	now := i.now()
	if err := checkKeyName(n.Name); err != nil {
		return junctor.Key{}, "", err
	}
	if err := junctor.CheckScopes(n.Scopes); err != nil {
		return junctor.Key{}, "", err
	}
	if !n.ExpiresAt.IsZero() && !toStoredTime(n.ExpiresAt).After(now) {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "expires_at is %s, which is in the past; use a later time, or omit it", n.ExpiresAt.Format(time.RFC3339))
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

// checkOwnerScopes returns an error if the owner of a key cannot have the requested
// scopes. The caller holds i.mu.
func (i *Identity) checkOwnerScopes(tenant junctor.TenantID, n NewKey) error {
	can, whose := junctor.Scopes(), ""
	switch {
	case n.User != "" && n.Agent != "":
		return junctor.Errorf(junctor.CodeInvalid, "a key belongs to a user or to an agent, not to both")
	case n.Agent != "":
		can, whose = junctor.AgentScopes(), "a key of an agent"
	case n.User != "":
		if u := i.snapshot.Load().usersByID[tenantRef{tenant, n.User}]; u != nil { // a user that is not in the snapshot yet is checked by the store
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

// RotateKey gives a key a new token. The former token works for the grace period. The id
// of the key stays, so everything that is bound to the key or its owner stays too.
// Errors: invalid for a grace outside 0 to MaxRotationGrace; not_found if the tenant has no such
// valid key; conflict if SetAdminKey has set it.
func (i *Identity) RotateKey(ctx context.Context, tenant junctor.TenantID, id string, grace time.Duration) (junctor.Key, string, error) {
	if grace < 0 || grace > MaxRotationGrace {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the overlap, for which the old token stays valid, must be between 0 and %s, not %s", MaxRotationGrace, grace)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.adminKeyIndex(); i.adminKeyFixed && n >= 0 && tenant == junctor.DefaultTenant && i.snapshot.Load().keys[n].ID == id {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeConflict, "this key is set by JUNCTOR_ADMIN_KEY; change that variable and restart the instance")
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

// RevokeKey revokes a key. When it returns, the key no longer authenticates anyone. The
// error is not_found if the tenant has no such key.
func (i *Identity) RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error {
	return i.revokeMatching(ctx, tenant, "key", id, func(k *junctor.Key) bool { return k.ID == id }, func(at time.Time) error {
		return i.store.For(tenant).RevokeKey(ctx, id, at)
	})
}

// RevokeAgentKeys revokes all keys of an agent, by its name, as RevokeKey does.
func (i *Identity) RevokeAgentKeys(ctx context.Context, tenant junctor.TenantID, agent string) error {
	return i.revokeMatching(ctx, tenant, "agent", agent, func(k *junctor.Key) bool { return k.Agent == agent }, func(at time.Time) error {
		return i.store.For(tenant).RevokeKeysOf(ctx, "", agent, at)
	})
}

// revokeMatching revokes the keys of a tenant for which selects returns true. do stores the change;
// what and id name the subject in the log.
func (i *Identity) revokeMatching(ctx context.Context, tenant junctor.TenantID, what, id string, selects func(*junctor.Key) bool, do func(time.Time) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := toStoredTime(i.now())
	if err := do(now); err != nil {
		return err
	}
	err := i.applyChange(ctx, func(r *rowSet) { markKeysRevoked(r, tenant, now, selects) })
	i.log.LogAttrs(ctx, slog.LevelInfo, "keys revoked", slog.String("tenant", string(tenant)), slog.String(what, id))
	return err
}

// markKeysRevoked sets the revocation time of the keys for which selects returns true.
func markKeysRevoked(r *rowSet, tenant junctor.TenantID, at time.Time, selects func(*junctor.Key) bool) {
	for n := range r.keys {
		if k := &r.keys[n]; k.Tenant == tenant && k.RevokedAt.IsZero() && selects(k) {
			k.RevokedAt = at
		}
	}
}

// ListKeys lists the keys of a tenant, oldest first, including revoked and expired ones.
// It reloads first, so it also shows the changes of other replicas.
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

// CanManageKey reports whether a principal may see, rotate and revoke a key of its tenant. An
// admin manages every key. A user manages their own keys and those of the agents they
// created. A service manages keys of services. No principal but an admin manages a key
// with scopes that it does not have itself.
func (i *Identity) CanManageKey(p *junctor.Principal, k *junctor.Key) bool {
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

// AgentOwner returns the owner of an agent in the form of junctor.Agent. The error is
// not_found if the tenant has no such agent.
func (i *Identity) AgentOwner(tenant junctor.TenantID, agent string) (string, error) {
	a, ok := i.snapshot.Load().agentsByName[tenantRef{tenant, agent}]
	if !ok {
		return "", junctor.Errorf(junctor.CodeNotFound, "unknown agent %q; junctor agent ls lists the agents", agent)
	}
	return a.Owner, nil
}

// newKey makes a key and its token without storing either. It removes duplicate scopes.
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

// toStoredTime rounds a time to the precision of the store, so that the response to a
// creation equals what is listed later.
func toStoredTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// checkKeyName returns an invalid error if name is not a valid name of a key.
func checkKeyName(name string) error {
	n := utf8.RuneCountInString(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key must be plain text without control characters")
	case strings.TrimSpace(name) == "" || n > maxKeyNameLength:
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key must have 1 to %d characters, not %d", maxKeyNameLength, n)
	case name == adminKeyName:
		return junctor.Errorf(junctor.CodeInvalid, "the name %q is reserved: set JUNCTOR_ADMIN_KEY to change the admin key, or choose another name", adminKeyName)
	}
	return nil
}

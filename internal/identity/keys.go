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

// maxName is how long the name of a key may be, in characters.
const maxName = 64

// CreateKey makes a key and gives its token, which is kept nowhere: this is the
// only time it can be seen. A zero expiresAt is never. Errors: invalid for a
// bad name, scope or expiry, not_found for an unknown tenant. Whether the
// caller may hand out these scopes is not judged here.
func (i *Identity) CreateKey(ctx context.Context, tenant junctor.TenantID, name string, scopes []junctor.Scope, expiresAt time.Time) (junctor.Key, string, error) {
	now := i.now()
	if err := checkName(name); err != nil {
		return junctor.Key{}, "", err
	}
	if err := junctor.CheckScopes(scopes); err != nil {
		return junctor.Key{}, "", err
	}
	if !expiresAt.IsZero() && !stored(expiresAt).After(now) {
		return junctor.Key{}, "", junctor.Errorf(junctor.CodeInvalid, "the key would have expired at %s, which has passed: name a later time, or none", expiresAt.Format(time.RFC3339))
	}
	k, token := newKey(tenant, name, scopes, now)
	k.ExpiresAt = stored(expiresAt)

	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.keys.Create(ctx, k); err != nil {
		return junctor.Key{}, "", err
	}
	i.publish(append(slices.Clone(i.snapshot.Load().keys), k))
	i.log.LogAttrs(ctx, slog.LevelInfo, "key created", slog.String("tenant", string(tenant)), slog.String("key", k.ID), slog.String("name", name))
	k.Scopes = slices.Clone(k.Scopes)
	return k, token, nil
}

// RevokeKey ends a key. It opens no door any more once RevokeKey returns.
// not_found when the tenant has no such key.
func (i *Identity) RevokeKey(ctx context.Context, tenant junctor.TenantID, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := stored(i.now())
	if err := i.keys.Revoke(ctx, tenant, id, now); err != nil {
		return err
	}
	keys := slices.Clone(i.snapshot.Load().keys)
	if n := i.snapshot.Load().index(tenant, id); n >= 0 && keys[n].RevokedAt.IsZero() {
		keys[n].RevokedAt = now
		i.publish(keys)
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "key revoked", slog.String("tenant", string(tenant)), slog.String("key", id))
	return nil
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
		if last := s.used[ref{k.Tenant, k.ID}].last.Load(); last > 0 && time.UnixMicro(last).After(k.LastUsedAt) {
			k.LastUsedAt = time.UnixMicro(last).UTC()
		}
		k.Scopes = slices.Clone(k.Scopes)
		list = append(list, k)
	}
	return list, nil
}

// newKey makes a key and its token, and stores neither.
func newKey(tenant junctor.TenantID, name string, scopes []junctor.Scope, now time.Time) (junctor.Key, string) {
	k := junctor.Key{ID: newID(), Tenant: tenant, Name: name, CreatedAt: stored(now)}
	for _, s := range scopes {
		if !slices.Contains(k.Scopes, s) {
			k.Scopes = append(k.Scopes, s)
		}
	}
	token := newToken(k.ID)
	k.Prefix, k.Hash = prefixOf(token), hash(token)
	return k, token
}

// stored is a time as it comes back from the store, so that the answer to
// whoever made a key says what will be listed later.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key is plain text without control characters")
	case strings.TrimSpace(name) == "" || n > maxName:
		return junctor.Errorf(junctor.CodeInvalid, "the name of a key has 1 to %d characters, not %d", maxName, n)
	case name == adminName:
		return junctor.Errorf(junctor.CodeInvalid, "the name %q is reserved: set JUNCTOR_ADMIN_KEY to change the admin key, or choose another name", adminName)
	}
	return nil
}

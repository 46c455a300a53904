package identity

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// adminKeyName is the reserved name of each tenant's admin key.
const adminKeyName = store.AdminName

// minAdminTokenLength is the shortest admin token that an operator may choose.
const minAdminTokenLength = 16

// EnsureAdminKey creates the admin key of the default tenant if there never was one. made is
// then true, and token can never be read again. A revoked admin key is not replaced: the
// operator's socket works without it.
func (i *Identity) EnsureAdminKey(ctx context.Context) (token string, made bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.adminKeyIndex() >= 0 {
		return "", false, nil
	}
	k, token := newKey(junctor.DefaultTenant, adminKeyName, []junctor.Scope{junctor.ScopeAdmin}, i.now())
	err = i.store.For(junctor.DefaultTenant).CreateKey(ctx, k)
	if junctor.CodeOf(err) == junctor.CodeConflict {
		return "", false, i.reloadLocked(ctx) // another replica was first
	}
	if err != nil {
		return "", false, err
	}
	if err := i.applyChange(ctx, func(r *rowSet) { r.keys = append(r.keys, k) }); err != nil {
		return "", false, err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "admin key created", slog.String("key", k.ID))
	return token, true, nil
}

// SetAdminKey makes token the admin key of the default tenant. The former token stops
// working and the key keeps its id. If the token is set already, nothing changes. From
// then on RotateKey refuses this key, because the next start would set the old token
// again. Errors: invalid if the token is too short or cannot be sent in a header;
// conflict if it is the token of another key.
func (i *Identity) SetAdminKey(ctx context.Context, token string) error {
	switch {
	case len(token) < minAdminTokenLength || len(token) > maxTokenLength:
		return junctor.Errorf(junctor.CodeInvalid, "the admin key has %d characters; use %d to %d characters", len(token), minAdminTokenLength, maxTokenLength)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return junctor.Errorf(junctor.CodeInvalid, "the admin key contains a space or a non-ASCII character, which a header cannot carry; choose another key")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	k := junctor.Key{
		ID: newID(), Tenant: junctor.DefaultTenant, Name: adminKeyName, Prefix: prefixOf(token), Hash: hashToken(token),
		Scopes: []junctor.Scope{junctor.ScopeAdmin}, CreatedAt: toStoredTime(i.now()),
	}
	k, err := i.store.For(junctor.DefaultTenant).ReplaceAdmin(ctx, k)
	if junctor.CodeOf(err) == junctor.CodeConflict {
		return &junctor.Error{Code: junctor.CodeConflict, Message: "the admin key is already the token of another key; choose a different value", Cause: err}
	}
	if err != nil {
		return err
	}
	if n := i.adminKeyIndex(); n >= 0 && i.snapshot.Load().keys[n].Hash != k.Hash {
		i.log.LogAttrs(ctx, slog.LevelInfo, "admin key replaced", slog.String("key", k.ID))
	}
	i.adminKeyFixed = true
	return i.reloadLocked(ctx)
}

// adminKeyIndex returns the index of the default tenant's admin key in the snapshot, or
// -1.
func (i *Identity) adminKeyIndex() int {
	return slices.IndexFunc(i.snapshot.Load().keys, func(k junctor.Key) bool {
		return k.Tenant == junctor.DefaultTenant && k.Name == adminKeyName
	})
}

package identity

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Stored gives the keys of a store.
func Stored(s *store.Store) Keys { return storedKeys{s} }

type storedKeys struct{ s *store.Store }

func (k storedKeys) All(ctx context.Context) ([]junctor.Key, error) { return k.s.Keys(ctx) }

func (k storedKeys) Create(ctx context.Context, key junctor.Key) error {
	return k.s.For(key.Tenant).CreateKey(ctx, key)
}

func (k storedKeys) Revoke(ctx context.Context, tenant junctor.TenantID, id string, at time.Time) error {
	return k.s.For(tenant).RevokeKey(ctx, id, at)
}

func (k storedKeys) ReplaceAdmin(ctx context.Context, key junctor.Key) (junctor.Key, error) {
	return k.s.For(key.Tenant).ReplaceAdmin(ctx, key)
}

func (k storedKeys) Touch(ctx context.Context, tenant junctor.TenantID, used map[string]time.Time) error {
	return k.s.For(tenant).TouchKeys(ctx, used)
}

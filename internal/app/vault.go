package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// secretStore keeps the vault's sealed secrets in the store.
type secretStore struct{ store *store.Store }

func (s secretStore) PutSecret(ctx context.Context, row seal.StoredSecret) error {
	return s.store.For(row.Tenant).PutSecret(ctx, storeSecret(row))
}

// storeSecret is a sealed secret as the store keeps it.
func storeSecret(row seal.StoredSecret) store.Secret {
	return store.Secret{
		SecretName: store.SecretName{Owner: row.Owner, Name: row.Name},
		KeyID:      row.Sealed.KeyID, Wrapped: row.Sealed.WrappedKey, Ciphertext: row.Sealed.Ciphertext,
	}
}

func (s secretStore) Secret(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.StoredSecret, error) {
	row, err := s.store.For(tenant).Secret(ctx, store.SecretName{Owner: owner, Name: name})
	return stored(tenant, row), err
}

func (s secretStore) DeleteSecret(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	return s.store.For(tenant).DeleteSecret(ctx, store.SecretName{Owner: owner, Name: name})
}

func (s secretStore) Secrets(ctx context.Context, tenant junctor.TenantID) ([]seal.StoredSecret, error) {
	rows, err := s.store.For(tenant).Secrets(ctx)
	out := make([]seal.StoredSecret, len(rows))
	for i, row := range rows {
		out[i] = stored(tenant, row)
	}
	return out, err
}

func stored(tenant junctor.TenantID, row store.Secret) seal.StoredSecret {
	return seal.StoredSecret{
		Tenant: tenant, Owner: row.Owner, Name: row.Name, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Sealed: seal.Sealed{KeyID: row.KeyID, WrappedKey: row.Wrapped, Ciphertext: row.Ciphertext},
	}
}

func (s secretStore) Stale(ctx context.Context, keyID string, after seal.WrappedKey, limit int) ([]seal.WrappedKey, error) {
	rows, err := s.store.SecretsNotUnder(ctx, keyID, tenantSecret(after), limit)
	out := make([]seal.WrappedKey, len(rows))
	for i, row := range rows {
		out[i] = seal.WrappedKey{Tenant: row.Tenant, Record: row.Owner, Field: row.Name, KeyID: row.KeyID, Wrapped: row.Wrapped}
	}
	return out, err
}

func (s secretStore) Replace(ctx context.Context, old, now seal.WrappedKey) (bool, error) {
	return s.store.RewrapSecret(ctx, tenantSecret(old), now.KeyID, now.Wrapped)
}

// Sync makes what was written outlast a power cut.
func (s secretStore) Sync(ctx context.Context) error { return s.store.Sync(ctx) }

func (s secretStore) Count(ctx context.Context, keyID string) (int, error) {
	counts, err := s.store.SecretKeys(ctx)
	return int(counts[keyID]), err
}

func tenantSecret(w seal.WrappedKey) store.TenantSecret {
	return store.TenantSecret{Tenant: w.Tenant, Secret: store.Secret{
		SecretName: store.SecretName{Owner: w.Record, Name: w.Field}, KeyID: w.KeyID, Wrapped: w.Wrapped,
	}}
}

// credentials gives built-in servers what people stored for them.
type credentials struct{ vault *seal.Vault }

func (c credentials) Credential(ctx context.Context, tenant junctor.TenantID, server, name string) (string, bool, error) {
	s, ok, err := c.vault.Get(ctx, tenant, server, name)
	return s.Reveal(), ok, err
}

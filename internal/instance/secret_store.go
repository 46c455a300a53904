package instance

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// OpenSecrets opens the ring that seals sessions and states, and the vault of secrets, with
// the sealing keys of the instance.
func OpenSecrets(ctx context.Context, cfg *config.Config, st *store.Store, now func() time.Time) (*seal.SessionRing, *seal.Vault, error) {
	keys, err := OpenKeyring(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	ring, err := seal.OpenSessionRing(ctx, ringStore{st}, keys, seal.RingOptions{Now: now})
	if err != nil {
		return nil, nil, err
	}
	vault, err := seal.NewVault(keys, secretStore{st}, ringStore{st}, NewSetupFile(cfg, keys))
	return ring, vault, err
}

// ringStore keeps the keys of the ring in the store.
type ringStore struct{ *store.Store }

func (r ringStore) RingKeys(ctx context.Context) ([]seal.StoredKey, error) {
	rows, err := r.Store.RingKeys(ctx)
	keys := make([]seal.StoredKey, len(rows))
	for i, k := range rows {
		keys[i] = seal.StoredKey(k)
	}
	return keys, err
}

func (r ringStore) AddRingKey(ctx context.Context, k seal.StoredKey) error {
	return r.Store.AddRingKey(ctx, store.RingKey(k))
}

// secretStore keeps the vault's sealed secrets in the store.
type secretStore struct{ store *store.Store }

func (s secretStore) PutSecret(ctx context.Context, row seal.StoredSecret) error {
	return s.store.For(row.Tenant).PutSecret(ctx, SecretRow(row))
}

// SecretRow converts a sealed secret to the row that the store keeps.
func SecretRow(row seal.StoredSecret) store.Secret {
	return store.Secret{
		SecretName: store.SecretName{Owner: row.Owner, Name: row.Name},
		KeyID:      row.Sealed.KeyID, Wrapped: row.Sealed.WrappedKey, Ciphertext: row.Sealed.Ciphertext,
	}
}

func (s secretStore) Secret(ctx context.Context, tenant junctor.TenantID, owner, name string) (seal.StoredSecret, error) {
	row, err := s.store.For(tenant).Secret(ctx, store.SecretName{Owner: owner, Name: name})
	return sealedSecret(tenant, row), err
}

func (s secretStore) DeleteSecret(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	return s.store.For(tenant).DeleteSecret(ctx, store.SecretName{Owner: owner, Name: name})
}

func (s secretStore) Secrets(ctx context.Context, tenant junctor.TenantID) ([]seal.StoredSecret, error) {
	rows, err := s.store.For(tenant).Secrets(ctx)
	out := make([]seal.StoredSecret, len(rows))
	for i, row := range rows {
		out[i] = sealedSecret(tenant, row)
	}
	return out, err
}

// sealedSecret converts a row to the sealed secret.
func sealedSecret(tenant junctor.TenantID, row store.Secret) seal.StoredSecret {
	return seal.StoredSecret{
		Tenant: tenant, Owner: row.Owner, Name: row.Name, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Sealed: seal.SealedSecret{KeyID: row.KeyID, WrappedKey: row.Wrapped, Ciphertext: row.Ciphertext},
	}
}

func (s secretStore) ListStale(ctx context.Context, keyID string, after seal.WrappedKey, limit int) ([]seal.WrappedKey, error) {
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

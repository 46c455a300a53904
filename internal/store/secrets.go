package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// SecretName names a secret of a tenant.
type SecretName struct {
	Owner string // what it belongs to: a server, an agent
	Name  string
}

// Secret is a sealed value. The store cannot open it.
type Secret struct {
	SecretName
	KeyID      string // the key that wrapped Wrapped
	Wrapped    []byte // the data key that made Ciphertext
	Ciphertext []byte
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// TenantSecret is a secret with its tenant.
type TenantSecret struct {
	Tenant junctor.TenantID
	Secret
}

// secretColumns are the columns that scanSecret reads.
const secretColumns = `owner, name, key_id, wrapped, ciphertext, created_at, updated_at` //nolint:gosec // names of columns

// PutSecret stores a secret, in place of a former one, whose CreatedAt stays. The times of
// sec are ignored.
func (t *Tenant) PutSecret(ctx context.Context, sec Secret) error {
	if sec.Name == "" || sec.KeyID == "" {
		return junctor.Errorf(junctor.CodeInvalid, "a secret needs a name and the id of the key that wrapped it")
	}
	err := retryWhileBusy(ctx, t.s.dialect, func() error { return t.putSecret(ctx, t.s.write, &sec) })
	if err != nil {
		return t.s.wrapError(ctx, err, "store the secret %q of %q", sec.Name, sec.Owner)
	}
	return nil
}

// putSecret stores a secret on a connection or within a transaction.
func (t *Tenant) putSecret(ctx context.Context, on execer, sec *Secret) error {
	now := toMicros(time.Now())
	_, err := t.s.exec(ctx, on, `INSERT INTO secrets (tenant_id, `+secretColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, owner, name) DO UPDATE SET key_id = excluded.key_id, wrapped = excluded.wrapped,
			ciphertext = excluded.ciphertext, updated_at = excluded.updated_at`,
		string(t.id), sec.Owner, sec.Name, sec.KeyID, nonNilBytes(sec.Wrapped), nonNilBytes(sec.Ciphertext), now, now)
	return err
}

// Secret returns one secret; not_found if the tenant has none of that name.
func (t *Tenant) Secret(ctx context.Context, of SecretName) (Secret, error) {
	sec, err := readOne(ctx, t.s, scanSecret, `SELECT `+secretColumns+` FROM secrets WHERE tenant_id = ? AND owner = ? AND name = ?`,
		string(t.id), of.Owner, of.Name)
	if errors.Is(err, sql.ErrNoRows) {
		return Secret{}, notFound("%q has no secret %q", of.Owner, of.Name)
	}
	if err != nil {
		return Secret{}, t.s.wrapError(ctx, err, "read the secret %q of %q", of.Name, of.Owner)
	}
	return sec, nil
}

// DeleteSecret deletes a secret; not_found if the tenant has none of that name.
func (t *Tenant) DeleteSecret(ctx context.Context, of SecretName) error {
	n, err := t.s.execWrite(ctx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ? AND name = ?`, string(t.id), of.Owner, of.Name)
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the secret %q of %q", of.Name, of.Owner)
	}
	if n == 0 {
		return notFound("%q has no secret %q", of.Owner, of.Name)
	}
	return nil
}

// Secrets lists the tenant's secrets, sealed, by owner and name.
func (t *Tenant) Secrets(ctx context.Context) ([]Secret, error) {
	list, err := readAll(ctx, t.s, scanSecret, `SELECT `+secretColumns+` FROM secrets WHERE tenant_id = ? ORDER BY owner, name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list secrets")
	}
	return list, nil
}

// SecretNames lists the names of the tenant's secrets, by owner and name.
func (t *Tenant) SecretNames(ctx context.Context) ([]SecretName, error) {
	list, err := readAll(ctx, t.s, func(row scanner) (SecretName, error) {
		var of SecretName
		err := row.Scan(&of.Owner, &of.Name)
		return of, err
	}, `SELECT owner, name FROM secrets WHERE tenant_id = ? ORDER BY owner, name`, string(t.id))
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the secrets")
	}
	return list, nil
}

// SecretsNotUnder returns up to limit secrets of all tenants that another key than keyID
// has wrapped: those that a rotation still has to rewrap. Their order is fixed. The list
// continues after the secret after, and starts at the beginning with a zero one.
func (s *Store) SecretsNotUnder(ctx context.Context, keyID string, after TenantSecret, limit int) ([]TenantSecret, error) {
	list, err := readAll(ctx, s, func(row scanner) (TenantSecret, error) {
		var sec TenantSecret
		var created, updated int64
		err := row.Scan(&sec.Tenant, &sec.Owner, &sec.Name, &sec.KeyID, &sec.Wrapped, &sec.Ciphertext, &created, &updated)
		sec.CreatedAt, sec.UpdatedAt = fromMicros(created), fromMicros(updated)
		return sec, err
	}, `SELECT tenant_id, `+secretColumns+` FROM secrets WHERE key_id <> ? AND (tenant_id, owner, name) > (?, ?, ?)
		ORDER BY tenant_id, owner, name LIMIT ?`, keyID, string(after.Tenant), after.Owner, after.Name, limit)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the secrets to wrap again")
	}
	return list, nil
}

// RewrapSecret stores another wrapping of a secret's data key. It is a compare-and-swap:
// if the secret was changed or deleted since old was read, nothing changes and done is
// false. UpdatedAt stays, because the value is the same.
func (s *Store) RewrapSecret(ctx context.Context, old TenantSecret, keyID string, wrapped []byte) (done bool, err error) {
	n, err := s.execWrite(ctx, `UPDATE secrets SET key_id = ?, wrapped = ?
		WHERE tenant_id = ? AND owner = ? AND name = ? AND key_id = ? AND wrapped = ?`,
		keyID, nonNilBytes(wrapped), string(old.Tenant), old.Owner, old.Name, old.KeyID, nonNilBytes(old.Wrapped))
	if err != nil {
		return false, s.wrapError(ctx, err, "wrap the secret %q of %q again", old.Name, old.Owner)
	}
	return n == 1, nil
}

// SecretKeys returns how many secrets each key has wrapped. A key that is not in the map
// can be deleted.
func (s *Store) SecretKeys(ctx context.Context) (map[string]int64, error) {
	type count struct {
		key string
		n   int64
	}
	list, err := readAll(ctx, s, func(row scanner) (count, error) {
		var c count
		err := row.Scan(&c.key, &c.n)
		return c, err
	}, `SELECT key_id, COUNT(*) FROM secrets GROUP BY key_id`)
	if err != nil {
		return nil, s.wrapError(ctx, err, "count the secrets of each key")
	}
	counts := make(map[string]int64, len(list))
	for _, c := range list {
		counts[c.key] = c.n
	}
	return counts, nil
}

// scanSecret reads the columns of secretColumns.
func scanSecret(row scanner) (Secret, error) {
	var sec Secret
	var created, updated int64
	err := row.Scan(&sec.Owner, &sec.Name, &sec.KeyID, &sec.Wrapped, &sec.Ciphertext, &created, &updated)
	sec.CreatedAt, sec.UpdatedAt = fromMicros(created), fromMicros(updated)
	return sec, err
}

// nonNilBytes returns b, or an empty slice for nil: drivers store nil as NULL, which the
// columns do not allow.
func nonNilBytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

package seal

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// SecretStore keeps sealed secrets, one row per tenant, owner and name. It is
// also the table that rotation goes through; there the owner is the record and
// the name is the field.
type SecretStore interface {
	WrappedKeyTable
	// PutSecret adds a row, or replaces the sealed fields of an existing one. It
	// sets CreatedAt once and UpdatedAt always.
	PutSecret(ctx context.Context, s StoredSecret) error
	// Secret returns one row; CodeNotFound if there is none.
	Secret(ctx context.Context, tenant junctor.TenantID, owner, name string) (StoredSecret, error)
	// DeleteSecret removes one row; CodeNotFound if there is none.
	DeleteSecret(ctx context.Context, tenant junctor.TenantID, owner, name string) error
	// Secrets returns the rows of a tenant, by owner and name. It may leave out
	// the sealed fields.
	Secrets(ctx context.Context, tenant junctor.TenantID) ([]StoredSecret, error)
}

// StoredSecret is a row of a SecretStore.
type StoredSecret struct {
	Tenant    junctor.TenantID
	Owner     string
	Name      string
	Sealed    SealedSecret
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SecretInfo is the part of a stored secret that is not secret.
type SecretInfo struct {
	Owner     string    `json:"owner"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// MaxSecret is the largest stored secret in bytes.
const MaxSecret = 64 << 10

// maxSecretName is the longest owner or name in bytes.
const maxSecretName = 128

// Vault keeps the secrets that users store in Junctor, such as the credentials of
// a server. A secret has an owner (the thing that uses it) and a name. All
// methods may be called from any goroutine.
type Vault struct {
	keys  *Keyring
	store SecretStore
	ring  ringTable
	files []*SealedFile
}

// NewVault returns a Vault. ring keeps the keys of the SessionRing that was opened with
// the same keyring, and files are sealed with it: rotation wraps those keys again, too.
func NewVault(keys *Keyring, store SecretStore, ring RingKeyStore, files ...*SealedFile) (*Vault, error) {
	if keys == nil || store == nil || ring == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a vault needs a keyring, a store for secrets and the store of the session keys")
	}
	return &Vault{keys: keys, store: store, ring: ringTable{ring}, files: files}, nil
}

// Put seals and stores a secret. It replaces an earlier one of the same owner and
// name.
func (v *Vault) Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s Secret) error {
	return v.PutWith(ctx, tenant, owner, name, s, v.store.PutSecret)
}

// PutWith seals a secret and gives the row to store, which keeps it together with what
// belongs to it: a key, for example, with the address that it is sent to.
func (v *Vault) PutWith(ctx context.Context, tenant junctor.TenantID, owner, name string, s Secret, store func(context.Context, StoredSecret) error) error {
	if err := checkPlace(tenant, owner, name); err != nil {
		return err
	}
	switch n := len(s.Reveal()); {
	case n == 0:
		return junctor.Errorf(junctor.CodeInvalid, "the secret %s/%s is empty; to remove a secret, delete it", owner, name)
	case n > MaxSecret:
		return junctor.Errorf(junctor.CodeTooLarge, "the secret %s/%s has %d bytes; the limit is %d", owner, name, n, MaxSecret)
	}
	release, err := v.keys.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	sealed, err := v.keys.Seal(tenant, owner, name, []byte(s.Reveal()))
	if err != nil {
		return err
	}
	return store(ctx, StoredSecret{Tenant: tenant, Owner: owner, Name: name, Sealed: sealed})
}

// Get opens a secret. ok is false if there is none. A secret that exists but
// cannot be opened is an error with CodeUnavailable.
func (v *Vault) Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (s Secret, ok bool, err error) {
	row, err := v.store.Secret(ctx, tenant, owner, name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return Secret{}, false, nil
	}
	if err != nil {
		return Secret{}, false, err
	}
	plaintext, err := v.keys.Open(tenant, owner, name, row.Sealed)
	if err != nil {
		// The request is fine; the stored state is not usable.
		return Secret{}, false, &junctor.Error{
			Code: junctor.CodeUnavailable, Message: "the secret " + owner + "/" + name + " does not open: " + junctor.AsError(err).Message, Cause: err,
		}
	}
	return NewSecret(string(plaintext)), true, nil
}

// Delete removes a secret; CodeNotFound if there is none.
func (v *Vault) Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	return v.store.DeleteSecret(ctx, tenant, owner, name)
}

// List returns a tenant's secrets without opening them.
func (v *Vault) List(ctx context.Context, tenant junctor.TenantID) ([]SecretInfo, error) {
	rows, err := v.store.Secrets(ctx, tenant)
	if err != nil {
		return nil, err
	}
	out := make([]SecretInfo, len(rows))
	for i, r := range rows {
		out[i] = r.toInfo()
	}
	return out, nil
}

// Info describes one secret without opening it; CodeNotFound if there is none.
func (v *Vault) Info(ctx context.Context, tenant junctor.TenantID, owner, name string) (SecretInfo, error) {
	row, err := v.store.Secret(ctx, tenant, owner, name)
	return row.toInfo(), err
}

func (r StoredSecret) toInfo() SecretInfo {
	return SecretInfo{Owner: r.Owner, Name: r.Name, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

// Keys returns the id of the key that seals secrets now, and the ids of all keys
// that open them. The ids reveal nothing about the keys.
func (v *Vault) Keys(ctx context.Context) (current string, all []string, err error) {
	release, err := v.keys.Hold(ctx) // also reads keys that another process added
	if err != nil {
		return "", nil, err
	}
	defer release()
	return v.keys.CurrentID(), v.keys.IDs(), nil
}

// Rotate adds a new current key to the keyring and wraps everything with it.
func (v *Vault) Rotate(ctx context.Context) (RotationResult, error) {
	return v.keys.Rotate(ctx, v.tables()...)
}

// Resume finishes an interrupted rotation. Call it after a start, in the
// background: nothing waits for it.
func (v *Vault) Resume(ctx context.Context) (RotationResult, error) {
	return v.keys.Resume(ctx, v.tables()...)
}

// tables returns everything that the keyring has wrapped keys in.
func (v *Vault) tables() []WrappedKeyTable {
	tables := make([]WrappedKeyTable, 0, 2+len(v.files))
	tables = append(tables, v.store, v.ring)
	for _, f := range v.files {
		tables = append(tables, f)
	}
	return tables
}

// checkPlace checks the owner and name of a secret before it is stored.
func checkPlace(tenant junctor.TenantID, owner, name string) error {
	if tenant == "" {
		return junctor.Errorf(junctor.CodeInternal, "a secret without a tenant")
	}
	for _, part := range []struct{ what, text string }{{"owner", owner}, {"name", name}} {
		if !isValidSecretName(part.text) {
			return junctor.Errorf(junctor.CodeInvalid,
				"the %s of a secret must be 1 to %d letters, digits or . _ : @ - and begin with a letter or digit", part.what, maxSecretName)
		}
	}
	return nil
}

// isValidSecretName reports whether s can be an owner or a name.
func isValidSecretName(s string) bool {
	if s == "" || len(s) > maxSecretName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == ':' || c == '@' || c == '-'):
		default:
			return false
		}
	}
	return true
}

package seal

import (
	"crypto/rand"
	"encoding/binary"

	junctor "github.com/junctor-mcp/junctor"
)

// SealedSecret is a secret as it is stored: encrypted with its own data key, which a
// master key has wrapped.
type SealedSecret struct {
	KeyID      string // of the master key
	WrappedKey []byte
	Ciphertext []byte
}

// Seal encrypts plaintext for one place: a field of a record of a tenant. It does
// not open anywhere else. The caller must call Hold before, and store the result
// before it releases.
func (k *Keyring) Seal(tenant junctor.TenantID, record, field string, plaintext []byte) (SealedSecret, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	defer clear(key)
	aead, err := newAEAD(key)
	if err != nil {
		return SealedSecret{}, err
	}
	m := k.keySet.Load().current
	return SealedSecret{
		KeyID:      m.ID(),
		WrappedKey: m.Wrap(key, bindingFor("data key", tenant, record, field)),
		Ciphertext: aead.Seal(nil, nil, plaintext, bindingFor("secret", tenant, record, field)), //nolint:gosec // G407: newAEAD makes the nonce, at random
	}, nil
}

// Open decrypts what Seal sealed for this place. The error is CodeInvalid if no
// key of the ring wrapped it, if it belongs to another place, or if it was
// changed.
func (k *Keyring) Open(tenant junctor.TenantID, record, field string, s SealedSecret) ([]byte, error) {
	m := k.findKey(s.WrappedKey)
	if m == nil {
		return nil, otherKeyError()
	}
	// Rotation uses the key id beside the wrapped key, so it must be the right one.
	if m.ID() != s.KeyID {
		return nil, damagedError()
	}
	key, err := m.Unwrap(s.WrappedKey, bindingFor("data key", tenant, record, field))
	if err != nil {
		return nil, err
	}
	defer clear(key)
	if len(key) != keySize {
		return nil, damagedError()
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	plaintext, err := aead.Open(nil, nil, s.Ciphertext, bindingFor("secret", tenant, record, field))
	if err != nil {
		return nil, damagedError()
	}
	return plaintext, nil
}

// bindingFor returns the data that a ciphertext is bound to: its kind and its
// place. The lengths ensure that no two places have the same bytes.
func bindingFor(what string, tenant junctor.TenantID, record, field string) []byte {
	out := []byte("junctor seal v1: " + what)
	for _, part := range []string{string(tenant), record, field} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

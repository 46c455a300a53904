package seal

import (
	"crypto/rand"
	"encoding/binary"

	junctor "github.com/junctor-mcp/junctor"
)

// Sealed is a secret as it is stored: encrypted with a data key of its own,
// which a master key has wrapped.
type Sealed struct {
	KeyID      string // of the master key
	WrappedKey []byte
	Ciphertext []byte
}

// Seal encrypts plaintext for one place: a field of a record of a tenant.
// Anywhere else it does not open. Call it under Hold, and store the result
// before release.
func (k *Keyring) Seal(tenant junctor.TenantID, record, field string, plaintext []byte) (Sealed, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	defer clear(key)
	aead, err := newAEAD(key)
	if err != nil {
		return Sealed{}, err
	}
	m := k.keySet.Load().current
	return Sealed{
		KeyID:      m.ID(),
		WrappedKey: m.Wrap(key, bindingFor("data key", tenant, record, field)),
		Ciphertext: aead.Seal(nil, nil, plaintext, bindingFor("secret", tenant, record, field)), //nolint:gosec // G407: newAEAD makes the nonce, at random
	}, nil
}

// Open gives back what Seal sealed for this place. It answers CodeInvalid when
// no key of the ring wrapped it, when it belongs elsewhere, or when it was
// changed.
func (k *Keyring) Open(tenant junctor.TenantID, record, field string, s Sealed) ([]byte, error) {
	m := k.findKey(s.WrappedKey)
	if m == nil {
		return nil, otherKeyError()
	}
	// Rotation goes by the id beside the wrap: it has to be the right one.
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

// bindingFor is what a ciphertext is bound to: what it is, and where it belongs. With
// the lengths no two places have the same bytes.
func bindingFor(what string, tenant junctor.TenantID, record, field string) []byte {
	out := []byte("junctor seal v1: " + what)
	for _, part := range []string{string(tenant), record, field} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

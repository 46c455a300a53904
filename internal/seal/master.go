package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// keySize is the size in bytes of every key here: AES-256.
const keySize = 32

// idSize is how many bytes of a key's fingerprint precede everything that it
// wraps.
const idSize = 8

// masterKey is one key that wraps other keys. The key itself never leaves this
// package.
type masterKey struct {
	id     [idSize]byte
	aead   cipher.AEAD
	macKey []byte // for Authenticate; derived separately from the encryption key
}

// decodeKey reads 32 bytes in base64, with or without padding.
func decodeKey(text string) ([]byte, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	key, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, base64.CorruptInputError(len(text))
	}
	return key, nil
}

// newMaster returns the master key of keySize bytes. The encryption key, the id
// and the MAC key are derived from it separately, so that the id reveals nothing
// about the key.
func newMaster(key []byte) (*masterKey, error) {
	sub, err := hkdf.Expand(sha256.New, key, "junctor seal v1: wrap", keySize)
	if err != nil {
		return nil, setupError(err)
	}
	id, err := hkdf.Expand(sha256.New, key, "junctor seal v1: id", idSize)
	if err != nil {
		return nil, setupError(err)
	}
	mac, err := hkdf.Expand(sha256.New, key, "junctor seal v1: authenticate", keySize)
	if err != nil {
		return nil, setupError(err)
	}
	aead, err := newAEAD(sub)
	if err != nil {
		return nil, err
	}
	return &masterKey{id: [idSize]byte(id), aead: aead, macKey: mac}, nil
}

// newAEAD returns AES-256-GCM with a random nonce in front of each ciphertext. A
// key is safe for 2^32 seals: over the seven days of a ring key, that is 7000 per
// second.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, setupError(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, setupError(err)
	}
	return aead, nil
}

func setupError(err error) error {
	return junctor.Errorf(junctor.CodeInternal, "cannot set up the sealing key: %w", err)
}

// ID returns the id of the key. It is the same in every process that has the key,
// and reveals nothing about it. It precedes everything that the key wraps.
func (m *masterKey) ID() string { return hex.EncodeToString(m.id[:]) }

// Wrap encrypts plaintext and binds it to aad, which says where it belongs
// (tenant, record, field). Unwrap opens it only with the same aad.
func (m *masterKey) Wrap(plaintext, aad []byte) []byte {
	out := make([]byte, 0, idSize+len(plaintext)+m.aead.Overhead())
	return m.aead.Seal(append(out, m.id[:]...), nil, plaintext, m.bindAAD(aad)) //nolint:gosec // G407: newAEAD makes the nonce, at random
}

// Unwrap opens what Wrap returned. The error is CodeInvalid if another key
// wrapped it, if it belongs to another place, or if it was changed.
func (m *masterKey) Unwrap(wrapped, aad []byte) ([]byte, error) {
	if len(wrapped) < idSize || [idSize]byte(wrapped) != m.id {
		return nil, otherKeyError()
	}
	plaintext, err := m.aead.Open(nil, nil, wrapped[idSize:], m.bindAAD(aad))
	if err != nil {
		return nil, damagedError()
	}
	return plaintext, nil
}

func otherKeyError() error {
	return junctor.Errorf(junctor.CodeInvalid,
		"this secret was sealed with another key; start the instance with the key file or the JUNCTOR_SEAL_KEY that was in use when the secret was stored")
}

func damagedError() error {
	return junctor.Errorf(junctor.CodeInvalid, "this secret was changed or moved after it was stored; enter it again")
}

// bindAAD adds the key's id to aad, so that the id in front of a ciphertext
// cannot be exchanged.
func (m *masterKey) bindAAD(aad []byte) []byte {
	return append(m.id[:len(m.id):len(m.id)], aad...)
}

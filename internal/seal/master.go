// Package seal keeps secrets secret. It is ground, and the only package that
// encrypts: app opens a Keyring from a file or the environment, the Vault seals
// what people entrust to Junctor with it and the store keeps the result, and
// gateway and guard seal session ids and request states with a Ring. Secret is
// the type that other packages carry plaintext in.
//
// There are three layers of keys. Master keys, in a Keyring, are outside of the
// database and wrap nothing but other keys. Data keys, one for each stored
// secret, and ring keys lie in the database, wrapped. So a new master key means
// to wrap the small keys again, not to encrypt everything again.
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

// keySize is the size of every key here: AES-256.
const keySize = 32

// idSize is how much of a key's fingerprint stands in front of what it wrapped.
const idSize = 8

// Master is one key that wraps other keys. It never leaves this package.
type Master struct {
	id     [idSize]byte
	aead   cipher.AEAD
	macKey []byte // authenticates; derived apart from what encrypts
}

// FromEnv makes the master key from the text of an environment variable, as
// KeyringFromEnv does, and gives the current one.
func FromEnv(value string) (*Master, error) {
	k, err := KeyringFromEnv(value)
	if err != nil {
		return nil, err
	}
	return k.keySet.Load().current, nil
}

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

// newMaster takes a key of keySize bytes. What encrypts and what names the key
// are derived from it apart, so that the name says nothing about the key.
func newMaster(key []byte) (*Master, error) {
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
	return &Master{id: [idSize]byte(id), aead: aead, macKey: mac}, nil
}

// newAEAD is AES-256-GCM that puts a random nonce in front of what it seals.
// One key is good for 2^32 seals: a ring key of seven days for 7000 a second.
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
	return junctor.Errorf(junctor.CodeInternal, "the sealing key could not be set up: %w", err)
}

// ID names the key: the same in every process that has it, and of no use
// without it. It stands in front of all that the key wraps.
func (m *Master) ID() string { return hex.EncodeToString(m.id[:]) }

// Wrap encrypts plaintext and binds it to aad, which says where it belongs
// (tenant, record, field): Unwrap opens it only with the same aad.
func (m *Master) Wrap(plaintext, aad []byte) []byte {
	out := make([]byte, 0, idSize+len(plaintext)+m.aead.Overhead())
	return m.aead.Seal(append(out, m.id[:]...), nil, plaintext, m.bindAAD(aad)) //nolint:gosec // G407: newAEAD makes the nonce, at random
}

// Unwrap opens what Wrap made. It answers CodeInvalid when another key wrapped
// it, when it belongs elsewhere, or when it was changed.
func (m *Master) Unwrap(wrapped, aad []byte) ([]byte, error) {
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
		"this secret was sealed with another key: start with the key file or JUNCTOR_SEAL_KEY that was in use when it was stored")
}

func damagedError() error {
	return junctor.Errorf(junctor.CodeInvalid, "this secret was changed, or moved from where it was stored: enter it again")
}

func (m *Master) bindAAD(aad []byte) []byte {
	return append(m.id[:len(m.id):len(m.id)], aad...)
}

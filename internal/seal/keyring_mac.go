package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Authenticate returns the message authentication code (MAC) of a message, and
// the id of the current master key. The MAC key is derived from the master key
// and used for nothing else. The purpose is part of the MAC: a code for one
// purpose is invalid for another.
func (k *Keyring) Authenticate(purpose string, message []byte) (keyID string, mac []byte) {
	m := k.keySet.Load().current
	return m.ID(), m.computeMAC(purpose, message)
}

// CheckMAC returns nil if one of the keys made this code for this message and
// purpose. Otherwise the error is CodeInvalid; for an unknown key it says which
// key is needed.
func (k *Keyring) CheckMAC(purpose, keyID string, message, mac []byte) error {
	id, err := hex.DecodeString(keyID)
	if err != nil || len(id) != idSize {
		return junctor.Errorf(junctor.CodeInvalid, "%q is not a valid id of a sealing key", keyID)
	}
	m := k.findKey(id)
	if m == nil {
		return junctor.Errorf(junctor.CodeInvalid,
			"the sealing key with the id %s is required, but only %s are available; use the key file or the JUNCTOR_SEAL_KEY that was in use then", keyID, strings.Join(k.IDs(), ", "))
	}
	if !hmac.Equal(mac, m.computeMAC(purpose, message)) {
		return junctor.Errorf(junctor.CodeInvalid, "the authentication code under the key %s is wrong, because the data was changed after it was created", keyID)
	}
	return nil
}

// computeMAC separates purpose and message by a byte that no purpose contains.
func (m *masterKey) computeMAC(purpose string, message []byte) []byte {
	h := hmac.New(sha256.New, m.macKey)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(message)
	return h.Sum(nil)
}

// OpenExistingKeyring is OpenKeyring for a file that must exist: it never creates
// a key. The error is CodeNotFound if there is no file.
func OpenExistingKeyring(path string) (*Keyring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, junctor.Errorf(junctor.CodeNotFound, "no sealing key found at %s", path)
	}
	return OpenKeyring(path)
}

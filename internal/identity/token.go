package identity

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// A token is jct_, the first 8 characters of its key's id, _, and 32 random
// bytes in base 62, always 43 digits. It has only letters, digits and
// underscores, so that it survives shells, headers and a double click. Its first
// 12 characters are shown in lists; they reveal nothing about the rest.
const (
	tokenPrefix  = "jct_"
	prefixLength = len(tokenPrefix) + 8
	secretDigits = 43
	tokenLength  = prefixLength + 1 + secretDigits
)

// newID returns a new id of a key, user or login: 16 characters with 80 random bits.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// newToken returns a new token of the key with that id.
func newToken(id string) string { return tokenPrefix + id[:8] + "_" + newSecret() }

// newSecret returns 32 random bytes in base 62, padded to secretDigits.
func newSecret() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process first
	digits := new(big.Int).SetBytes(secret[:]).Text(62)
	return strings.Repeat("0", secretDigits-len(digits)) + digits
}

// prefixOf returns the part of a token that may be shown. It is empty for a token that an
// operator chose, because its first characters may be most of the secret.
func prefixOf(token string) string {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return ""
	}
	return token[:prefixLength]
}

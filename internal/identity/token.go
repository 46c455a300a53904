package identity

import (
	"crypto/rand"
	"math/big"
	"strings"
)

// A token is jct_, the first 8 characters of its key's id, _, and 32 random
// bytes in base 62, always 43 digits: letters, digits and underscores only, so
// that it survives shells, headers and a double click. Its first 12 characters
// are shown later to recognise it by; they tell nothing about the rest.
const (
	tokenPrefix  = "jct_"
	prefixLength = len(tokenPrefix) + 8
	secretDigits = 43
	tokenLength  = prefixLength + 1 + secretDigits
)

// newID makes the id of a key: 16 characters with 80 random bits.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// newToken makes the token of the key with that id.
func newToken(id string) string { return tokenPrefix + id[:8] + "_" + newSecret() }

// newSecret makes 32 random bytes in base 62.
func newSecret() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process first
	digits := new(big.Int).SetBytes(secret[:]).Text(62)
	return strings.Repeat("0", secretDigits-len(digits)) + digits
}

// prefixOf is what may be shown of a token: nothing of one that was not made
// here, since its first characters may be all there is to it.
func prefixOf(token string) string {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return ""
	}
	return token[:prefixLength]
}

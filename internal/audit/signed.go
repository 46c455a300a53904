package audit

import "crypto/ed25519"

// Signed is the last head, and the key to check it with: kept elsewhere, they show
// later whether the copy in SQL still has what it had.
func (j *Journal) Signed() (Head, ed25519.PublicKey) {
	j.headMu.Lock()
	defer j.headMu.Unlock()
	key, _ := j.signingKey.Public().(ed25519.PublicKey) // it is one
	return j.head, key
}

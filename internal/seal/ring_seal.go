package seal

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSealed is the longest text that Open decodes. Junctor seals a few KiB at
// most.
const maxSealed = 64 << 10

// Seal returns the sealed form of plaintext, as base64url text. Open returns the
// plaintext only for the same purpose.
func (r *SessionRing) Seal(purpose string, plaintext []byte) string {
	return string(r.AppendSealed(nil, purpose, plaintext))
}

// AppendSealed appends the text that Seal returns to dst.
func (r *SessionRing) AppendSealed(dst []byte, purpose string, plaintext []byte) []byte {
	k := r.keys.Load().sealingKey(r.options.Now())
	raw := make([]byte, 0, ringIDSize+len(plaintext)+k.aead.Overhead())
	raw = k.aead.Seal(append(raw, k.id[:]...), nil, plaintext, k.bindPurpose(purpose)) //nolint:gosec // G407: newAEAD makes the nonce, at random
	return base64.RawURLEncoding.AppendEncode(dst, raw)
}

// sealingKey returns the newest key that has settled or, if none has, the oldest.
func (ks *ringKeys) sealingKey(now time.Time) *ringKey {
	for _, k := range slices.Backward(ks.all) {
		if now.Sub(k.created) >= settleTime {
			return k
		}
	}
	return ks.all[0]
}

// bindPurpose returns the data that a ciphertext is bound to: the key's id and
// the purpose.
func (k *ringKey) bindPurpose(purpose string) []byte {
	return append(append(make([]byte, 0, ringIDSize+len(purpose)), k.id[:]...), purpose...)
}

// Open returns the plaintext that Seal sealed for this purpose. Whatever is wrong
// with text, the error is the same, with CodeInvalid: it does not reveal how
// close a forger came.
func (r *SessionRing) Open(purpose, text string) ([]byte, error) {
	if len(text) > maxSealed {
		return nil, notSealedError()
	}
	return r.OpenUnbounded(purpose, text)
}

// OpenUnbounded is Open without the limit on the length. Use it only for text from
// trusted places.
func (r *SessionRing) OpenUnbounded(purpose, text string) ([]byte, error) {
	// A plaintext has exactly one text. So be strict about the last bits, and about
	// line breaks, which the decoder would skip.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(text) || len(raw) < ringIDSize {
		return nil, notSealedError()
	}
	k := r.findKey([ringIDSize]byte(raw))
	if k == nil {
		return nil, notSealedError()
	}
	plaintext, err := k.aead.Open(nil, nil, raw[ringIDSize:], k.bindPurpose(purpose))
	if err != nil {
		return nil, notSealedError()
	}
	return plaintext, nil
}

func notSealedError() error {
	return junctor.Errorf(junctor.CodeInvalid, "this handle is invalid, because it was changed, has expired, or belongs to another instance")
}

// findKey returns the key with an id, or nil. Another replica may have added an
// unknown key, so the store is read again. It is read at most once per
// rereadInterval, because anyone can send ids that do not exist.
func (r *SessionRing) findKey(id [ringIDSize]byte) *ringKey {
	if k := r.keys.Load().byID[id]; k != nil {
		return k
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.keys.Load().byID[id]; k != nil {
		return k
	}
	now := r.options.Now()
	if since := now.Sub(r.lastReread); since >= 0 && since < rereadInterval {
		return nil
	}
	r.lastReread = now
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	keys, err := r.readKeys(ctx)
	if err != nil || len(keys) == 0 {
		return nil // the known keys stay in use
	}
	r.keys.Store(indexKeys(keys))
	return r.keys.Load().byID[id]
}

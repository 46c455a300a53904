package seal

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSealed is the longest text that Open looks at. What the product seals is
// a few KiB at most.
const maxSealed = 64 << 10

// Seal appends to dst the sealed form of plaintext, as base64url text. purpose
// says what it is for: Open gives it back for the same purpose only.
func (r *Ring) Seal(dst []byte, purpose string, plaintext []byte) []byte {
	k := r.keys.Load().sealingKey(r.options.Now())
	raw := make([]byte, 0, ringIDSize+len(plaintext)+k.aead.Overhead())
	raw = k.aead.Seal(append(raw, k.id[:]...), nil, plaintext, k.bindPurpose(purpose)) //nolint:gosec // G407: newAEAD makes the nonce, at random
	return base64.RawURLEncoding.AppendEncode(dst, raw)
}

// sealingKey is the newest key that has settled; the oldest where none has.
func (ks *ringKeys) sealingKey(now time.Time) *ringKey {
	for _, k := range slices.Backward(ks.all) {
		if now.Sub(k.created) >= settleTime {
			return k
		}
	}
	return ks.all[0]
}

func (k *ringKey) bindPurpose(purpose string) []byte {
	return append(append(make([]byte, 0, ringIDSize+len(purpose)), k.id[:]...), purpose...)
}

// Open gives back what Seal sealed for this purpose. Whatever is wrong with
// text, the answer is the same error with CodeInvalid: it says nothing about
// how close a forger came.
func (r *Ring) Open(purpose, text string) ([]byte, error) {
	if len(text) > maxSealed {
		return nil, notSealedError()
	}
	return r.OpenLong(purpose, text)
}

// OpenLong is Open for what is long, and comes from where not everybody writes.
func (r *Ring) OpenLong(purpose, text string) ([]byte, error) {
	// One text for one plaintext: strict about the last bits, and about line
	// breaks, which the decoder would skip.
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
	return junctor.Errorf(junctor.CodeInvalid, "this handle is not valid here: it was changed, is too old, or is from elsewhere")
}

// findKey looks a key up; one that is not known may be another replica's, so the
// store is asked again, though not more often than rereadEvery: anybody can
// send ids that nobody made.
func (r *Ring) findKey(id [ringIDSize]byte) *ringKey {
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
		return nil // the keys that are known stay in use
	}
	r.keys.Store(indexKeys(keys))
	return r.keys.Load().byID[id]
}

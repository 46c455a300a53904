package seal

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
)

// RingKeyStore is a KeyStore whose keys can be wrapped again.
type RingKeyStore interface {
	KeyStore
	// ReplaceRingKey replaces the wrapped key old by now, if old is what is
	// stored under id. It reports whether it did.
	ReplaceRingKey(ctx context.Context, id string, old, now []byte) (bool, error)
}

// ringTable shows the keys of a SessionRing to rotation, as a WrappedKeyTable. There are only
// a few, and the id of their master key precedes the bytes, so no query is
// needed.
type ringTable struct{ store RingKeyStore }

// ListStale implements WrappedKeyTable.
func (t ringTable) ListStale(ctx context.Context, keyID string, after WrappedKey, limit int) ([]WrappedKey, error) {
	all, err := t.listKeys(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w WrappedKey) bool { return w.KeyID == keyID || w.Field <= after.Field })
	return all[:min(limit, len(all))], nil
}

// Replace implements WrappedKeyTable.
func (t ringTable) Replace(ctx context.Context, old, now WrappedKey) (bool, error) {
	return t.store.ReplaceRingKey(ctx, old.Field, old.Wrapped, now.Wrapped)
}

// Count implements WrappedKeyTable.
func (t ringTable) Count(ctx context.Context, keyID string) (n int, err error) {
	all, err := t.listKeys(ctx)
	for _, w := range all {
		if w.KeyID == keyID {
			n++
		}
	}
	return n, err
}

// listKeys returns all keys of the ring, by id.
func (t ringTable) listKeys(ctx context.Context) ([]WrappedKey, error) {
	stored, err := t.store.RingKeys(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]WrappedKey, len(stored))
	for i, s := range stored {
		out[i] = WrappedKey{
			Record: "ring", Field: s.ID, Wrapped: s.Wrapped, aad: ringAAD(s.ID),
			KeyID: hex.EncodeToString(s.Wrapped[:min(idSize, len(s.Wrapped))]),
		}
	}
	slices.SortFunc(out, func(a, b WrappedKey) int { return strings.Compare(a.Field, b.Field) })
	return out, nil
}

package seal

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// KeyStore keeps the keys of a SessionRing, wrapped. All replicas share one.
type KeyStore interface {
	// RingKeys returns all keys, in any order.
	RingKeys(ctx context.Context) ([]StoredKey, error)
	// AddRingKey adds a key.
	AddRingKey(ctx context.Context, key StoredKey) error
	// DeleteRingKeys deletes the keys that were created before a time.
	DeleteRingKeys(ctx context.Context, before time.Time) error
}

// StoredKey is a ring key as the store keeps it.
type StoredKey struct {
	ID        string
	CreatedAt time.Time
	Wrapped   []byte
}

// RingOptions say when keys are added and deleted. The zero value is used in
// production; tests set other values.
type RingOptions struct {
	RotateAfter time.Duration    // age of the newest key at which a new one is added; default 7 days
	KeepFor     time.Duration    // how long a key still opens after it stopped sealing; default 31 days
	Now         func() time.Time // default time.Now
}

const (
	defaultRotate = 7 * 24 * time.Hour
	defaultKeep   = 31 * 24 * time.Hour

	// settleTime is how long a new key only opens. Other replicas read unknown
	// keys at most once per rereadInterval. By the time they receive something
	// that is sealed with the new key, they can read it.
	settleTime     = time.Minute
	rereadInterval = time.Second

	// storeTimeout bounds the query of the store that Open may need.
	storeTimeout = 2 * time.Second

	ringIDSize = 6 // bytes; 8 characters in base64url
)

// SessionRing seals data that clients keep for Junctor: session ids and request states.
// It has its own keys, which expire by time and are in the store, wrapped by a
// master key. All methods may be called from any goroutine.
type SessionRing struct {
	store   KeyStore
	master  Wrapper
	options RingOptions
	keys    atomic.Pointer[ringKeys]

	mu         sync.Mutex // one goroutine reads the store at a time
	lastReread time.Time  // when findKey last read the store
}

// ringKeys is an immutable set of ring keys.
type ringKeys struct {
	all  []*ringKey // oldest first; never empty
	byID map[[ringIDSize]byte]*ringKey
}

// ringKey is one key of a SessionRing, ready for use.
type ringKey struct {
	id      [ringIDSize]byte
	created time.Time
	aead    cipher.AEAD
}

// OpenSessionRing reads the keys of the store. It adds a first or new key if that is
// due, and deletes the keys that nothing can need any more.
func OpenSessionRing(ctx context.Context, store KeyStore, master Wrapper, opt RingOptions) (*SessionRing, error) {
	if store == nil || master == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a ring needs a store and a master key")
	}
	if opt.RotateAfter <= 0 {
		opt.RotateAfter = defaultRotate
	}
	if opt.KeepFor <= 0 {
		opt.KeepFor = defaultKeep
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	r := &SessionRing{store: store, master: master, options: opt}
	if err := r.Rotate(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Rotate reads the store again, adds a key if the newest is old enough, and
// deletes expired keys. Call it regularly, such as every hour. Several replicas
// may call it at once.
func (r *SessionRing) Rotate(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys, err := r.readKeys(ctx)
	if err != nil {
		return err
	}
	now := r.options.Now()
	if len(keys) == 0 || now.Sub(keys[len(keys)-1].created) >= r.options.RotateAfter {
		if err := r.addKey(ctx, now); err != nil {
			return err
		}
		if keys, err = r.readKeys(ctx); err != nil {
			return err
		}
		if len(keys) == 0 {
			return junctor.Errorf(junctor.CodeInternal, "the store lost the session key that was just added to it")
		}
	}
	// A key seals until its successor has settled. After that it opens for Keep.
	first := 0
	for first < len(keys)-1 && now.Sub(keys[first+1].created) > settleTime+r.options.KeepFor {
		first++
	}
	if first > 0 {
		if err := r.store.DeleteRingKeys(ctx, keys[first].created); err != nil {
			return err
		}
	}
	r.keys.Store(indexKeys(keys[first:]))
	return nil
}

// addKey creates a key and stores it while its master key is guaranteed to be
// current.
func (r *SessionRing) addKey(ctx context.Context, now time.Time) error {
	release, err := r.master.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return r.store.AddRingKey(ctx, r.newKey(now))
}

// newKey creates a random key and wraps it. The caller holds the master key.
func (r *SessionRing) newKey(now time.Time) StoredKey {
	var id [ringIDSize]byte
	key := make([]byte, keySize)
	rand.Read(id[:])
	rand.Read(key)
	name := base64.RawURLEncoding.EncodeToString(id[:])
	return StoredKey{ID: name, CreatedAt: now.UTC(), Wrapped: r.master.Wrap(key, ringAAD(name))}
}

func ringAAD(id string) []byte { return []byte("ring key\x00" + id) }

// readKeys returns the keys of the store, oldest first. The caller holds mu.
func (r *SessionRing) readKeys(ctx context.Context) ([]*ringKey, error) {
	stored, err := r.store.RingKeys(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]*ringKey, 0, len(stored))
	for _, s := range stored {
		k, err := r.unwrapKey(s)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	slices.SortStableFunc(keys, func(a, b *ringKey) int { return a.created.Compare(b.created) })
	return keys, nil
}

// unwrapKey returns a stored key, ready for use. A key that is known already is
// not unwrapped again.
func (r *SessionRing) unwrapKey(s StoredKey) (*ringKey, error) {
	id, err := base64.RawURLEncoding.Strict().DecodeString(s.ID)
	if err != nil || len(id) != ringIDSize {
		return nil, junctor.Errorf(junctor.CodeInternal, "the store contains a session key with an invalid id")
	}
	if old := r.keys.Load(); old != nil {
		if k := old.byID[[ringIDSize]byte(id)]; k != nil {
			return k, nil
		}
	}
	key, err := r.master.Unwrap(s.Wrapped, ringAAD(s.ID))
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &ringKey{id: [ringIDSize]byte(id), created: s.CreatedAt, aead: aead}, nil
}

func indexKeys(keys []*ringKey) *ringKeys {
	byID := make(map[[ringIDSize]byte]*ringKey, len(keys))
	for _, k := range keys {
		byID[k.id] = k
	}
	return &ringKeys{all: keys, byID: byID}
}

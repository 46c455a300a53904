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

// KeyStore keeps the keys of a Ring, wrapped. Replicas share one.
type KeyStore interface {
	// RingKeys gives all keys, in any order.
	RingKeys(ctx context.Context) ([]StoredKey, error)
	// AddRingKey keeps one more.
	AddRingKey(ctx context.Context, key StoredKey) error
	// DeleteRingKeys forgets the keys that were created before a time.
	DeleteRingKeys(ctx context.Context, before time.Time) error
}

// StoredKey is a ring key as the store keeps it.
type StoredKey struct {
	ID        string
	CreatedAt time.Time
	Wrapped   []byte
}

// RingOptions says when keys come and go. The zero value is what products use.
type RingOptions struct {
	Rotate time.Duration    // a new key when the newest is older; 0 is 7 days
	Keep   time.Duration    // how long a key still opens after it stopped sealing; 0 is 31 days
	Now    func() time.Time // nil is time.Now
}

const (
	defaultRotate = 7 * 24 * time.Hour
	defaultKeep   = 31 * 24 * time.Hour

	// settleTime is how long a new key only opens. Other replicas look for an
	// unknown key at most every rereadEvery, so by the time they are shown
	// something sealed with it, their next look finds it.
	settleTime     = time.Minute
	rereadInterval = time.Second

	// storeTimeout bounds the look into the store that Open may need.
	storeTimeout = 2 * time.Second

	ringIDSize = 6 // bytes; 8 characters in base64url
)

// Ring seals what clients hold for us: session ids and request states. Its keys
// are its own and are retired by time; they lie in the store wrapped by a
// master key. All methods may be called from any goroutine.
type Ring struct {
	store   KeyStore
	master  Wrapper
	options RingOptions
	keys    atomic.Pointer[ringKeys]

	mu         sync.Mutex // one reader of the store at a time
	lastReread time.Time  // when Open last looked
}

type ringKeys struct {
	all  []*ringKey // oldest first; never empty
	byID map[[ringIDSize]byte]*ringKey
}

type ringKey struct {
	id      [ringIDSize]byte
	created time.Time
	aead    cipher.AEAD
}

// OpenRing reads the keys of the store, makes the first or the next one if it
// is time to, and forgets those that nothing can need any more.
func OpenRing(ctx context.Context, store KeyStore, master Wrapper, opt RingOptions) (*Ring, error) {
	if store == nil || master == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a ring needs a store and a master key")
	}
	if opt.Rotate <= 0 {
		opt.Rotate = defaultRotate
	}
	if opt.Keep <= 0 {
		opt.Keep = defaultKeep
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	r := &Ring{store: store, master: master, options: opt}
	if err := r.Rotate(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Rotate reads the store again, adds a key when the newest is old enough, and
// deletes what is past keeping. Call it now and then (every hour will do); it
// is no harm when several replicas do.
func (r *Ring) Rotate(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys, err := r.readKeys(ctx)
	if err != nil {
		return err
	}
	now := r.options.Now()
	if len(keys) == 0 || now.Sub(keys[len(keys)-1].created) >= r.options.Rotate {
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
	// A key seals until its successor has settled, and opens for Keep after.
	first := 0
	for first < len(keys)-1 && now.Sub(keys[first+1].created) > settleTime+r.options.Keep {
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

// addKey makes a key and stores it while its master key is sure to be current.
func (r *Ring) addKey(ctx context.Context, now time.Time) error {
	release, err := r.master.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	return r.store.AddRingKey(ctx, r.newKey(now))
}

func (r *Ring) newKey(now time.Time) StoredKey {
	var id [ringIDSize]byte
	key := make([]byte, keySize)
	rand.Read(id[:])
	rand.Read(key)
	name := base64.RawURLEncoding.EncodeToString(id[:])
	return StoredKey{ID: name, CreatedAt: now.UTC(), Wrapped: r.master.Wrap(key, ringAAD(name))}
}

func ringAAD(id string) []byte { return []byte("ring key\x00" + id) }

// readKeys gives the keys of the store, oldest first. The caller holds mu.
func (r *Ring) readKeys(ctx context.Context) ([]*ringKey, error) {
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

func (r *Ring) unwrapKey(s StoredKey) (*ringKey, error) {
	id, err := base64.RawURLEncoding.Strict().DecodeString(s.ID)
	if err != nil || len(id) != ringIDSize {
		return nil, junctor.Errorf(junctor.CodeInternal, "the store holds a session key with a broken id")
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

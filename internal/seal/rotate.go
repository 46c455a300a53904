package seal

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// rewrapBatchSize is how many keys are wrapped again at a time.
const rewrapBatchSize = 64

// WrappedKey is a key in the database as rotation sees it: where it belongs,
// and the master key that has wrapped it.
type WrappedKey struct {
	Tenant  junctor.TenantID
	Record  string
	Field   string
	KeyID   string
	Wrapped []byte

	aad []byte // where it is bound otherwise than a data key
}

// Rewrapper is a table of wrapped keys, ordered by tenant, record and field.
type Rewrapper interface {
	// Stale gives the next keys that another master key than keyID has
	// wrapped, behind the place of after, whose zero value is the beginning.
	Stale(ctx context.Context, keyID string, after WrappedKey, limit int) ([]WrappedKey, error)
	// Replace puts now in the place of old, if old is still there: same place,
	// same key id, same bytes. It says whether it did.
	Replace(ctx context.Context, old, now WrappedKey) (bool, error)
	// Count says how many keys the master key keyID has wrapped.
	Count(ctx context.Context, keyID string) (int, error)
}

// Syncer is a Rewrapper whose writes survive the end of the process at once, but
// a power cut only after Sync. Where a table is one, rotation calls it before it
// removes a key: a database that lost its last writes must not find the key to
// what they replaced gone.
type Syncer interface {
	Sync(ctx context.Context) error
}

// Rotation is what a rotation did.
type Rotation struct {
	KeyID     string   `json:"key_id"`           // the current key
	Rewrapped int      `json:"rewrapped"`        // keys that were wrapped again
	Broken    int      `json:"broken,omitempty"` // keys that no master key opens; what they seal is to be entered again
	Removed   []string `json:"removed"`          // old master keys that are no longer on file
	Unused    []string `json:"unused,omitempty"` // old master keys that can be taken out of JUNCTOR_SEAL_KEY
}

// Rotate makes a new master key current, wraps all keys of the tables with it,
// and removes the master keys that nothing needs any more. The tables must be
// all that this keyring has wrapped. Everything opens at every moment, and if
// the process dies at any point, what it left is whole: the next Rotate or
// Resume does the rest.
//
// Keys from the environment are the operator's to add and to take away. There,
// Rotate wraps everything with the first one, and refuses when it is the only
// one.
func (k *Keyring) Rotate(ctx context.Context, tables ...Rewrapper) (Rotation, error) {
	if len(tables) == 0 {
		return Rotation{}, junctor.Errorf(junctor.CodeInternal, "a rotation needs the tables whose keys it wraps again")
	}
	if k.path != "" {
		if err := k.changeKeys(ctx, addKey); err != nil {
			return Rotation{}, err
		}
	} else if len(k.keySet.Load().fileIDs) == 1 {
		return Rotation{}, junctor.Errorf(junctor.CodeConflict,
			"the sealing key comes from JUNCTOR_SEAL_KEY, which only you can change: put a new key and a comma in front of it (new,old), "+
				"restart, rotate once more, and then take the old key away")
	}
	return k.Resume(ctx, tables...)
}

// addKey adds a new current key.
func addKey(keys []fileKey) ([]fileKey, error) {
	text := newKeyText()
	raw, err := decodeKey(text)
	if err != nil {
		return nil, setupError(err)
	}
	m, err := newMaster(raw)
	if err != nil {
		return nil, err
	}
	next := []fileKey{{text: text, master: m, created: time.Now(), current: true}}
	for _, old := range keys {
		old.current = false
		next = append(next, old)
	}
	return next, nil
}

// Resume finishes a rotation that was cut short; where there is none, it does
// nothing.
func (k *Keyring) Resume(ctx context.Context, tables ...Rewrapper) (Rotation, error) {
	r := Rotation{Removed: []string{}}
	if len(tables) == 0 {
		return r, junctor.Errorf(junctor.CodeInternal, "a rotation needs the tables whose keys it wraps again")
	}
	for _, t := range tables {
		if err := k.rewrapTable(ctx, t, &r); err != nil {
			return r, err
		}
	}
	for _, t := range tables {
		if s, ok := t.(Syncer); ok {
			if err := s.Sync(ctx); err != nil {
				return r, err
			}
		}
	}
	if err := k.runTestStep("before the removal"); err != nil {
		return r, err
	}
	err := k.removeUnusedKeys(ctx, tables, &r)
	r.KeyID = k.CurrentID()
	return r, err
}

// rewrapTable goes once through a table. Once is enough: since the key became
// current, nothing was stored under another.
func (k *Keyring) rewrapTable(ctx context.Context, t Rewrapper, r *Rotation) error {
	var after WrappedKey
	for {
		n, last, err := k.rewrapBatch(ctx, t, after, r)
		if err != nil || n < rewrapBatchSize {
			return err
		}
		after = last
	}
}

func (k *Keyring) rewrapBatch(ctx context.Context, t Rewrapper, after WrappedKey, r *Rotation) (int, WrappedKey, error) {
	release, err := k.Hold(ctx)
	if err != nil {
		return 0, after, err
	}
	defer release()
	current := k.keySet.Load().current
	page, err := t.Stale(ctx, current.ID(), after, rewrapBatchSize)
	if err != nil {
		return 0, after, err
	}
	for _, old := range page {
		after = old
		aad := old.aad
		if aad == nil {
			aad = bindingFor("data key", old.Tenant, old.Record, old.Field)
		}
		key, err := k.Unwrap(old.Wrapped, aad)
		if err != nil {
			r.Broken++ // it stays as it is, and so does the key it names
			continue
		}
		now := old
		now.KeyID, now.Wrapped = current.ID(), current.Wrap(key, aad)
		clear(key)
		if err := k.runTestStep("before a key"); err != nil {
			return 0, after, err
		}
		done, err := t.Replace(ctx, old, now)
		if err != nil {
			return 0, after, err
		}
		if done { // else it was stored anew or deleted meanwhile
			r.Rewrapped++
		}
	}
	return len(page), after, nil
}

// removeUnusedKeys removes the master keys that wrap nothing. It counts while nobody can
// store, so that a count of none stays true.
func (k *Keyring) removeUnusedKeys(ctx context.Context, tables []Rewrapper, r *Rotation) error {
	if k.path == "" {
		for _, id := range k.keySet.Load().fileIDs[1:] {
			n, err := countWrapped(ctx, tables, id)
			if err != nil {
				return err
			}
			if n == 0 {
				r.Unused = append(r.Unused, id)
			}
		}
		return nil
	}
	return k.changeKeys(ctx, func(keys []fileKey) ([]fileKey, error) {
		var next []fileKey
		for _, key := range keys {
			n := 0
			if !key.current {
				var err error
				if n, err = countWrapped(ctx, tables, key.master.ID()); err != nil {
					return nil, err
				}
			}
			if key.current || n > 0 {
				next = append(next, key)
				continue
			}
			r.Removed = append(r.Removed, key.master.ID())
		}
		if len(r.Removed) == 0 {
			return nil, nil
		}
		return next, nil
	})
}

func countWrapped(ctx context.Context, tables []Rewrapper, keyID string) (int, error) {
	sum := 0
	for _, t := range tables {
		n, err := t.Count(ctx, keyID)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

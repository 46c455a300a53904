package seal

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// rewrapBatchSize is how many keys are wrapped again while the keyring is held.
const rewrapBatchSize = 64

// WrappedKey is a wrapped key in the database, as rotation sees it: its place,
// and the master key that wrapped it.
type WrappedKey struct {
	Tenant  junctor.TenantID
	Record  string
	Field   string
	KeyID   string
	Wrapped []byte

	aad []byte // set if the key is not bound like a data key
}

// WrappedKeyTable is a table of wrapped keys, ordered by tenant, record and field.
type WrappedKeyTable interface {
	// Stale returns the next keys that were wrapped by another master key than
	// keyID, after the place of after. Its zero value stands for the beginning.
	ListStale(ctx context.Context, keyID string, after WrappedKey, limit int) ([]WrappedKey, error)
	// Replace replaces old by now if old is still stored: same place, same key
	// id, same bytes. It reports whether it did.
	Replace(ctx context.Context, old, now WrappedKey) (bool, error)
	// Count returns how many keys the master key keyID has wrapped.
	Count(ctx context.Context, keyID string) (int, error)
}

// Syncer is a WrappedKeyTable whose writes survive the end of the process at once, but
// a power cut only after Sync. Rotation calls Sync before it removes a master
// key. Otherwise, a database that lost its last writes could need a key that is
// gone.
type Syncer interface {
	// Sync returns once all earlier writes survive a power cut.
	Sync(ctx context.Context) error
}

// RotationResult is the result of a rotation.
type RotationResult struct {
	KeyID     string   `json:"key_id"`           // the current key
	Rewrapped int      `json:"rewrapped"`        // keys that were wrapped again
	Broken    int      `json:"broken,omitempty"` // keys that no master key opens; their secrets must be entered again
	Removed   []string `json:"removed"`          // old master keys that were removed from the file
	Unused    []string `json:"unused,omitempty"` // old master keys that can be removed from JUNCTOR_SEAL_KEY
}

// Rotate makes a new master key current, wraps all keys of the tables with it,
// and removes the master keys that nothing needs any more. The tables must
// contain everything that this keyring has wrapped. Every secret can be opened at
// every moment. If the process dies at any point, the stored state is consistent,
// and the next Rotate or Resume continues.
//
// Only the operator can add or remove keys from the environment. With such keys,
// Rotate wraps everything with the first one; if it is the only one, Rotate
// returns CodeConflict.
func (k *Keyring) Rotate(ctx context.Context, tables ...WrappedKeyTable) (RotationResult, error) {
	if len(tables) == 0 {
		return RotationResult{}, junctor.Errorf(junctor.CodeInternal, "a rotation needs the tables whose keys it wraps again")
	}
	if k.path != "" {
		if err := k.changeKeys(ctx, addKey); err != nil {
			return RotationResult{}, err
		}
	} else if len(k.keySet.Load().fileIDs) == 1 {
		return RotationResult{}, junctor.Errorf(junctor.CodeConflict,
			"the sealing key is set by JUNCTOR_SEAL_KEY, which only you can change: put a new key and a comma in front of it (new,old), "+
				"restart, rotate again, and then remove the old key")
	}
	return k.Resume(ctx, tables...)
}

// addKey returns the keys with a new current key in front.
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

// Resume finishes an interrupted rotation. If there is none, it does nothing.
func (k *Keyring) Resume(ctx context.Context, tables ...WrappedKeyTable) (RotationResult, error) {
	r := RotationResult{Removed: []string{}}
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

// rewrapTable goes through a table once. That is enough: since the key became
// current, nothing was stored under another one.
func (k *Keyring) rewrapTable(ctx context.Context, t WrappedKeyTable, r *RotationResult) error {
	var after WrappedKey
	for {
		n, last, err := k.rewrapBatch(ctx, t, after, r)
		if err != nil || n < rewrapBatchSize {
			return err
		}
		after = last
	}
}

// rewrapBatch wraps up to rewrapBatchSize keys after a place again, while it
// holds the keyring. It returns how many keys it read, and the last of them.
func (k *Keyring) rewrapBatch(ctx context.Context, t WrappedKeyTable, after WrappedKey, r *RotationResult) (int, WrappedKey, error) {
	release, err := k.Hold(ctx)
	if err != nil {
		return 0, after, err
	}
	defer release()
	current := k.keySet.Load().current
	page, err := t.ListStale(ctx, current.ID(), after, rewrapBatchSize)
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
			r.Broken++ // it stays unchanged, and so does the master key that it names
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
		if done { // otherwise it was replaced or deleted meanwhile
			r.Rewrapped++
		}
	}
	return len(page), after, nil
}

// removeUnusedKeys removes the master keys that wrap nothing. It counts while no
// process can store anything, so a count of zero stays true.
func (k *Keyring) removeUnusedKeys(ctx context.Context, tables []WrappedKeyTable, r *RotationResult) error {
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

// countWrapped returns how many keys of all tables a master key has wrapped.
func countWrapped(ctx context.Context, tables []WrappedKeyTable, keyID string) (int, error) {
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

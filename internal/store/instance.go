package store

import (
	"context"
	"crypto/rand"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Instance returns the id of this database's instance. The first call creates it, and it
// never changes.
func (s *Store) Instance(ctx context.Context) (string, error) {
	id, err := s.readInstanceID(ctx)
	if err != nil {
		return "", s.wrapError(ctx, err, "read the instance id")
	}
	if id != "" {
		return id, nil
	}
	// The first process decides; all others read its id back.
	_, err = s.execWrite(ctx, `INSERT INTO instance (tenant_id, id, created_at) VALUES (?, ?, ?) ON CONFLICT (tenant_id) DO NOTHING`,
		string(junctor.DefaultTenant), rand.Text(), toMicros(time.Now()))
	if err == nil {
		id, err = s.readInstanceID(ctx)
	}
	if err != nil {
		return "", s.wrapError(ctx, err, "create the instance id")
	}
	return id, nil
}

// readInstanceID returns the stored id; "" if there is none yet.
func (s *Store) readInstanceID(ctx context.Context) (string, error) {
	ids, err := readAll(ctx, s, func(row scanner) (string, error) {
		var id string
		err := row.Scan(&id)
		return id, err
	}, `SELECT id FROM instance WHERE tenant_id = ?`, string(junctor.DefaultTenant))
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// RingKey is one key of the ring that seals sessions and states. It is wrapped by a key
// that is not in the database.
type RingKey struct {
	ID        string
	CreatedAt time.Time
	Wrapped   []byte
}

// RingKeys lists the ring, oldest first.
func (s *Store) RingKeys(ctx context.Context) ([]RingKey, error) {
	list, err := readAll(ctx, s, func(row scanner) (RingKey, error) {
		var k RingKey
		var created int64
		err := row.Scan(&k.ID, &created, &k.Wrapped)
		k.CreatedAt = fromMicros(created)
		return k, err
	}, `SELECT id, created_at, wrapped FROM ring_keys WHERE tenant_id = ? ORDER BY created_at, id`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the key ring")
	}
	return list, nil
}

// AddRingKey adds a key to the ring; conflict if its id is taken.
func (s *Store) AddRingKey(ctx context.Context, k RingKey) error {
	_, err := s.execWrite(ctx, `INSERT INTO ring_keys (tenant_id, id, created_at, wrapped) VALUES (?, ?, ?, ?)`,
		string(junctor.DefaultTenant), k.ID, toMicros(k.CreatedAt), k.Wrapped)
	if err != nil {
		return s.wrapError(ctx, err, "add the key %q to the ring", k.ID)
	}
	return nil
}

// DeleteRingKeys deletes the keys of the ring that were made before a time. What they
// sealed cannot be opened any more.
func (s *Store) DeleteRingKeys(ctx context.Context, before time.Time) error {
	_, err := s.execWrite(ctx, `DELETE FROM ring_keys WHERE tenant_id = ? AND created_at < ?`,
		string(junctor.DefaultTenant), toMicros(before))
	if err != nil {
		return s.wrapError(ctx, err, "retire keys of the ring")
	}
	return nil
}

// ReplaceRingKey stores another wrapping of a ring key. It is a compare-and-swap: if the
// stored wrapping is not old, because another replica rewrapped the key meanwhile, nothing
// changes and done is false.
func (s *Store) ReplaceRingKey(ctx context.Context, id string, old, now []byte) (done bool, err error) {
	n, err := s.execWrite(ctx, `UPDATE ring_keys SET wrapped = ? WHERE id = ? AND wrapped = ?`, nonNilBytes(now), id, nonNilBytes(old))
	if err != nil {
		return false, s.wrapError(ctx, err, "wrap the ring's key %s again", id)
	}
	return n == 1, nil
}

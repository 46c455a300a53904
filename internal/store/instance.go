package store

import (
	"context"
	"crypto/rand"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Instance gives the id of this database's instance. It is made at the first
// call and never changes.
func (s *Store) Instance(ctx context.Context) (string, error) {
	id, err := s.instance(ctx)
	if err != nil {
		return "", s.fail(ctx, err, "read the instance id")
	}
	if id != "" {
		return id, nil
	}
	// Whoever comes first, in whichever process, decides; all read it back.
	_, err = s.do(ctx, `INSERT INTO instance (tenant_id, id, created_at) VALUES (?, ?, ?) ON CONFLICT (tenant_id) DO NOTHING`,
		string(junctor.DefaultTenant), rand.Text(), micros(time.Now()))
	if err == nil {
		id, err = s.instance(ctx)
	}
	if err != nil {
		return "", s.fail(ctx, err, "make the instance id")
	}
	return id, nil
}

// instance is the stored id; "" when there is none yet.
func (s *Store) instance(ctx context.Context) (string, error) {
	ids, err := all(ctx, s, func(row scanner) (string, error) {
		var id string
		err := row.Scan(&id)
		return id, err
	}, `SELECT id FROM instance WHERE tenant_id = ?`, string(junctor.DefaultTenant))
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// RingKey is one key of the ring that seals sessions and states, wrapped by a
// key that is not in the database.
type RingKey struct {
	ID        string
	CreatedAt time.Time
	Wrapped   []byte
}

// RingKeys lists the ring, oldest first.
func (s *Store) RingKeys(ctx context.Context) ([]RingKey, error) {
	list, err := all(ctx, s, func(row scanner) (RingKey, error) {
		var k RingKey
		var created int64
		err := row.Scan(&k.ID, &created, &k.Wrapped)
		k.CreatedAt = fromMicros(created)
		return k, err
	}, `SELECT id, created_at, wrapped FROM ring_keys WHERE tenant_id = ? ORDER BY created_at, id`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.fail(ctx, err, "read the key ring")
	}
	return list, nil
}

// AddRingKey adds a key to the ring; conflict when its id is taken.
func (s *Store) AddRingKey(ctx context.Context, k RingKey) error {
	_, err := s.do(ctx, `INSERT INTO ring_keys (tenant_id, id, created_at, wrapped) VALUES (?, ?, ?, ?)`,
		string(junctor.DefaultTenant), k.ID, micros(k.CreatedAt), k.Wrapped)
	if err != nil {
		return s.fail(ctx, err, "add the key %q to the ring", k.ID)
	}
	return nil
}

// DeleteRingKeys retires the ring's keys that were made before a time.
func (s *Store) DeleteRingKeys(ctx context.Context, before time.Time) error {
	_, err := s.do(ctx, `DELETE FROM ring_keys WHERE tenant_id = ? AND created_at < ?`,
		string(junctor.DefaultTenant), micros(before))
	if err != nil {
		return s.fail(ctx, err, "retire keys of the ring")
	}
	return nil
}

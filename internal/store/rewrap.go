package store

import "context"

// ReplaceRingKey gives a key of the ring another wrap, unless it was changed
// since old was read: then it changes nothing and says so.
func (s *Store) ReplaceRingKey(ctx context.Context, id string, old, now []byte) (done bool, err error) {
	n, err := s.do(ctx, `UPDATE ring_keys SET wrapped = ? WHERE id = ? AND wrapped = ?`, filled(now), id, filled(old))
	if err != nil {
		return false, s.fail(ctx, err, "wrap the ring's key %s again", id)
	}
	return n == 1, nil
}

// Sync makes what was written outlast a power cut, not only a kill.
func (s *Store) Sync(ctx context.Context) error {
	statement := s.dialect.Sync()
	if statement == "" {
		return nil
	}
	if _, err := s.write.ExecContext(ctx, statement); err != nil {
		return s.fail(ctx, err, "write the database to the disk")
	}
	return nil
}

// Secrets lists the tenant's secrets, sealed, by owner and name.
func (t *Tenant) Secrets(ctx context.Context) ([]Secret, error) {
	list, err := all(ctx, t.s, scanSecret, `SELECT `+secretColumns+` FROM secrets WHERE tenant_id = ? ORDER BY owner, name`, string(t.id))
	if err != nil {
		return nil, t.s.fail(ctx, err, "list secrets")
	}
	return list, nil
}

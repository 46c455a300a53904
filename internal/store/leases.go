package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Lease is a leader lease: work that one replica does at a time.
type Lease struct {
	Name    string
	Replica string        // the id of the replica that holds it, or held it last
	Left    time.Duration // remaining time by the clock of the database; 0 or less if no replica holds it
	Fence   int64
}

// Leases lists all leases that were ever taken, by name.
func (s *Store) Leases(ctx context.Context) ([]Lease, error) {
	list, err := readAll(ctx, s, func(row scanner) (l Lease, err error) {
		var left int64
		err = row.Scan(&l.Name, &l.Replica, &left, &l.Fence)
		l.Left = time.Duration(left) * time.Microsecond
		return l, err
	}, `SELECT name, replica, CASE WHEN until = 0 THEN 0 ELSE until - `+s.dialect.Now()+` END, fence FROM leases WHERE tenant_id = ? ORDER BY name`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the leases")
	}
	return list, nil
}

// TakeLease takes a leader lease, or renews it, for the time life. held is false while
// another replica holds it. fence is greater than that of every former holder, so that a
// write with an old fence can be refused. The clock is that of the database, which all
// replicas share.
func (s *Store) TakeLease(ctx context.Context, name, replica string, life time.Duration) (fence int64, held bool, err error) {
	now := s.dialect.Now()
	err = s.runTx(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, s.dialect.Bind(`INSERT INTO leases (tenant_id, name, replica, until, fence) VALUES (?, ?, ?, `+now+` + ?, 1)
			ON CONFLICT (tenant_id, name) DO UPDATE SET replica = excluded.replica, until = excluded.until,
				fence = leases.fence + CASE WHEN leases.replica = excluded.replica THEN 0 ELSE 1 END
			WHERE leases.replica = excluded.replica OR leases.until <= `+now+` RETURNING fence`), string(junctor.DefaultTenant), name, replica, life.Microseconds())
		return row.Scan(&fence)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, s.wrapError(ctx, err, "take the lease %q", name)
	}
	return fence, true, nil
}

// DropLease releases a lease if the replica holds it.
func (s *Store) DropLease(ctx context.Context, name, replica string) error {
	if _, err := s.execWrite(ctx, `UPDATE leases SET until = 0 WHERE tenant_id = ? AND name = ? AND replica = ?`, string(junctor.DefaultTenant), name, replica); err != nil {
		return s.wrapError(ctx, err, "give back the lease %q", name)
	}
	return nil
}

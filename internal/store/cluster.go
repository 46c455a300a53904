package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Lease is work that one process does at a time.
type Lease struct {
	Name  string
	Node  string        // the id of the process that has it, or had it last
	Left  time.Duration // for how long, by the clock of the database; not above 0 where nobody has it
	Fence int64
}

// Leases lists all that were ever taken, by name.
func (s *Store) Leases(ctx context.Context) ([]Lease, error) {
	list, err := all(ctx, s, func(row scanner) (l Lease, err error) {
		var left int64
		err = row.Scan(&l.Name, &l.Node, &left, &l.Fence)
		l.Left = time.Duration(left) * time.Microsecond
		return l, err
	}, `SELECT name, node, CASE WHEN until = 0 THEN 0 ELSE until - `+s.dialect.Now()+` END, fence FROM leases WHERE tenant_id = ? ORDER BY name`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.fail(ctx, err, "list the leases")
	}
	return list, nil
}

// Clock is what time it is to the database.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	now, err := one(ctx, s, scanCount, `SELECT `+s.dialect.Now())
	if err != nil {
		return time.Time{}, s.fail(ctx, err, "ask the database what time it is")
	}
	return fromMicros(now), nil
}

// SchemaVersion is the number of the newest migration that was made.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	version, err := one(ctx, s, scanCount, `SELECT MAX(version_id) FROM `+VersionTable)
	if err != nil {
		return 0, s.fail(ctx, err, "read the version of the schema")
	}
	return version, nil
}

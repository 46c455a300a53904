package store

import (
	"context"
	"database/sql"

	junctor "github.com/junctor-mcp/junctor"
)

// DayCount is the number of calls that a party made on one day.
type DayCount struct {
	Tenant junctor.TenantID
	Party  string
	Day    int64 // since 1970, in UTC
	Calls  int64
}

// DayCounts returns the counts of all tenants from a day on.
func (s *Store) DayCounts(ctx context.Context, day int64) ([]DayCount, error) {
	list, err := readAll(ctx, s, func(row scanner) (DayCount, error) {
		var c DayCount
		err := row.Scan(&c.Tenant, &c.Party, &c.Day, &c.Calls)
		return c, err
	}, `SELECT tenant_id, party, day, calls FROM day_counts WHERE day >= ? ORDER BY tenant_id, party, day`, day)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read the calls of the day")
	}
	return list, nil
}

// PutDayCounts stores counts, in place of those for the same party and day, and deletes
// those of days before keep. A stored count never falls: a replica that starts with an
// empty memory must not give calls back.
func (s *Store) PutDayCounts(ctx context.Context, counts []DayCount, keep int64) error {
	err := s.runTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, `DELETE FROM day_counts WHERE day < ?`, keep); err != nil {
			return err
		}
		for _, c := range counts {
			if _, err := s.exec(ctx, tx, `INSERT INTO day_counts (tenant_id, party, day, calls) VALUES (?, ?, ?, ?)
				ON CONFLICT (tenant_id, party, day) DO UPDATE SET calls = excluded.calls WHERE excluded.calls > day_counts.calls`,
				string(c.Tenant), c.Party, c.Day, c.Calls); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.wrapError(ctx, err, "store the calls of the day")
	}
	return nil
}

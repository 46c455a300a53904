package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Node is a process that uses the database, from its start to its end.
type Node struct {
	ID        string // of this run
	Name      string // of its data directory: that of its journal
	URL       string // where the others reach it; "" is nowhere
	Version   string
	StartedAt time.Time
	Silent    time.Duration // for how long it was not seen, by the clock of the database
}

// forgetNodes is how long the row of a process is kept that is not seen any more.
const forgetNodes = time.Minute

// SeeNode notes that a process lives, and lists all of them that were seen in the
// last minute, it among them, oldest first.
func (s *Store) SeeNode(ctx context.Context, n Node) ([]Node, error) {
	now := s.dialect.Now()
	// An update first: only what comes and goes is told of.
	seen, err := s.do(ctx, `UPDATE nodes SET url = ?, seen_at = `+now+` WHERE tenant_id = ? AND id = ?`, n.URL, string(junctor.DefaultTenant), n.ID)
	if err == nil && seen == 0 {
		_, err = s.do(ctx, `INSERT INTO nodes (tenant_id, id, name, url, version, started_at, seen_at) VALUES (?, ?, ?, ?, ?, `+now+`, `+now+`)`,
			string(junctor.DefaultTenant), n.ID, n.Name, n.URL, n.Version)
	}
	if err != nil {
		return nil, s.fail(ctx, err, "note that this process lives")
	}
	return s.Nodes(ctx)
}

// Nodes lists the processes that were seen in the last minute, oldest first, and
// forgets the others.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	rows, err := all(ctx, s, func(row scanner) (Node, error) {
		var n Node
		var started, silent int64
		err := row.Scan(&n.ID, &n.Name, &n.URL, &n.Version, &started, &silent)
		n.StartedAt, n.Silent = fromMicros(started), time.Duration(silent)*time.Microsecond
		return n, err
	}, `SELECT id, name, url, version, started_at, `+s.dialect.Now()+` - seen_at FROM nodes WHERE tenant_id = ? ORDER BY started_at, id`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.fail(ctx, err, "list the processes")
	}
	live := rows[:0]
	for _, n := range rows {
		if n.Silent <= forgetNodes {
			live = append(live, n)
		}
	}
	if len(live) < len(rows) {
		_, err = s.do(ctx, `DELETE FROM nodes WHERE tenant_id = ? AND seen_at < `+s.dialect.Now()+` - ?`, string(junctor.DefaultTenant), forgetNodes.Microseconds())
	}
	if err != nil {
		return nil, s.fail(ctx, err, "forget processes that ended")
	}
	return live, nil
}

// LeaveNode says that a process ends.
func (s *Store) LeaveNode(ctx context.Context, id string) error {
	if _, err := s.do(ctx, `DELETE FROM nodes WHERE tenant_id = ? AND id = ?`, string(junctor.DefaultTenant), id); err != nil {
		return s.fail(ctx, err, "note that this process ends")
	}
	return nil
}

// TakeLease takes work that one process does at a time, or keeps it for as long
// again. held is false while another has it. fence is greater than that of all
// who had it before.
func (s *Store) TakeLease(ctx context.Context, name, node string, life time.Duration) (fence int64, held bool, err error) {
	now := s.dialect.Now()
	err = s.tx(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, s.dialect.Bind(`INSERT INTO leases (tenant_id, name, node, until, fence) VALUES (?, ?, ?, `+now+` + ?, 1)
			ON CONFLICT (tenant_id, name) DO UPDATE SET node = excluded.node, until = excluded.until,
				fence = leases.fence + CASE WHEN leases.node = excluded.node THEN 0 ELSE 1 END
			WHERE leases.node = excluded.node OR leases.until <= `+now+` RETURNING fence`), string(junctor.DefaultTenant), name, node, life.Microseconds())
		return row.Scan(&fence)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, s.fail(ctx, err, "take the lease %q", name)
	}
	return fence, true, nil
}

// DropLease gives work back, where the process has it.
func (s *Store) DropLease(ctx context.Context, name, node string) error {
	if _, err := s.do(ctx, `UPDATE leases SET until = 0 WHERE tenant_id = ? AND name = ? AND node = ?`, string(junctor.DefaultTenant), name, node); err != nil {
		return s.fail(ctx, err, "give back the lease %q", name)
	}
	return nil
}

// Tell says something to all processes that share the database, this one among
// them. It does nothing where a database has one process.
func (s *Store) Tell(ctx context.Context, text string) error {
	statement := s.dialect.Tell()
	if statement == "" {
		return nil
	}
	if _, err := s.exec(ctx, s.write, statement, text); err != nil {
		return s.fail(ctx, err, "tell the other processes")
	}
	return nil
}

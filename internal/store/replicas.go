package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Replica is a replica, from its start to its end.
type Replica struct {
	ID        string // of this run
	Name      string // of its data directory: that of its journal
	URL       string // address at which other replicas reach it; "" if there is none
	Version   string
	StartedAt time.Time
	Silent    time.Duration // time since it was last seen, by the clock of the database
}

// replicaRowLife is how long the row of a replica is kept after the replica was last seen.
const replicaRowLife = time.Minute

// SeeReplica records that a replica is alive, and lists all replicas that were seen in the
// last minute, including this one, oldest first.
func (s *Store) SeeReplica(ctx context.Context, n Replica) ([]Replica, error) {
	now := s.dialect.Now()
	// An update first: a trigger notifies replicas of inserts and deletes only.
	seen, err := s.execWrite(ctx, `UPDATE replicas SET url = ?, seen_at = `+now+` WHERE tenant_id = ? AND id = ?`, n.URL, string(junctor.DefaultTenant), n.ID)
	if err == nil && seen == 0 {
		_, err = s.execWrite(ctx, `INSERT INTO replicas (tenant_id, id, name, url, version, started_at, seen_at) VALUES (?, ?, ?, ?, ?, `+now+`, `+now+`)`,
			string(junctor.DefaultTenant), n.ID, n.Name, n.URL, n.Version)
	}
	if err != nil {
		return nil, s.wrapError(ctx, err, "store that this replica is alive")
	}
	return s.Replicas(ctx)
}

// Replicas lists the replicas that were seen in the last minute, oldest first, and deletes
// the rows of the others.
func (s *Store) Replicas(ctx context.Context) ([]Replica, error) {
	rows, err := readAll(ctx, s, func(row scanner) (Replica, error) {
		var n Replica
		var started, silent int64
		err := row.Scan(&n.ID, &n.Name, &n.URL, &n.Version, &started, &silent)
		n.StartedAt, n.Silent = fromMicros(started), time.Duration(silent)*time.Microsecond
		return n, err
	}, `SELECT id, name, url, version, started_at, `+s.dialect.Now()+` - seen_at FROM replicas WHERE tenant_id = ? ORDER BY started_at, id`, string(junctor.DefaultTenant))
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the replicas")
	}
	live := rows[:0]
	for _, n := range rows {
		if n.Silent <= replicaRowLife {
			live = append(live, n)
		}
	}
	if len(live) < len(rows) {
		_, err = s.execWrite(ctx, `DELETE FROM replicas WHERE tenant_id = ? AND seen_at < `+s.dialect.Now()+` - ?`, string(junctor.DefaultTenant), replicaRowLife.Microseconds())
	}
	if err != nil {
		return nil, s.wrapError(ctx, err, "delete the replicas that ended")
	}
	return live, nil
}

// LeaveReplica removes a replica that ends.
func (s *Store) LeaveReplica(ctx context.Context, id string) error {
	if _, err := s.execWrite(ctx, `DELETE FROM replicas WHERE tenant_id = ? AND id = ?`, string(junctor.DefaultTenant), id); err != nil {
		return s.wrapError(ctx, err, "store that this replica ends")
	}
	return nil
}

// Tell sends a text to all replicas that share the database, including this one. It does
// nothing on a database that only one process uses. The text has less than 8000 bytes.
func (s *Store) Tell(ctx context.Context, text string) error {
	statement := s.dialect.Tell()
	if statement == "" {
		return nil
	}
	if _, err := s.exec(ctx, s.write, statement, text); err != nil {
		return s.wrapError(ctx, err, "notify the other replicas")
	}
	return nil
}

// Clock returns the time of the database.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	now, err := readOne(ctx, s, scanCount, `SELECT `+s.dialect.Now())
	if err != nil {
		return time.Time{}, s.wrapError(ctx, err, "read the clock of the database")
	}
	return fromMicros(now), nil
}

package replicas

import (
	"database/sql"
	"testing"
	"time"
)

// held says which replica, by its number, holds each lease, and its fence; -1 is
// one that is gone.
func (c *cluster) held(db *sql.DB) (holders map[string]int, fences map[string]int64) {
	c.Helper()
	rows, err := db.QueryContext(c.Context(), `SELECT l.name, l.fence, coalesce(n.url, '') FROM leases l LEFT JOIN replicas n ON n.id = l.replica`)
	if err != nil {
		c.Fatal(err)
	}
	defer rows.Close()
	holders, fences = map[string]int{}, map[string]int64{}
	for rows.Next() {
		var name, url string
		var fence int64
		if err := rows.Scan(&name, &fence, &url); err != nil {
			c.Fatal(err)
		}
		holders[name], fences[name] = -1, fence
		for n, in := range c.replicas {
			if in.URL == url {
				holders[name] = n
			}
		}
	}
	if err := rows.Err(); err != nil {
		c.Fatal(err)
	}
	return holders, fences
}

// TestWorkMoves kills the replica that does the work of all: another takes it over.
// One that stops in order hands it on.
func TestWorkMoves(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	db, err := sql.Open("pgx", c.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	work := []string{"schedules", "documents", "retention", "chains"}
	c.until("somebody does all work", func() bool {
		holders, _ := c.held(db)
		for _, name := range work {
			if n, ok := holders[name]; !ok || n < 0 {
				return false
			}
		}
		return true
	})
	for _, stop := range []struct {
		how string
		do  func(n int)
	}{
		{"killed", c.kill},
		{"stopped", func(n int) {
			c.leave(n)
			c.replicas[n].Stop(t, patience)
		}},
	} {
		holders, before := c.held(db)
		gone := holders["schedules"]
		stop.do(gone)
		begun := time.Now()
		c.until("the work moves", func() bool {
			now, fences := c.held(db)
			for _, name := range work {
				if holders[name] != gone {
					continue
				}
				if n := now[name]; n < 0 || n == gone || fences[name] <= before[name] {
					return false
				}
			}
			return true
		})
		t.Logf("figure: the work of a replica that is %s is taken over within %d ms", stop.how, time.Since(begun).Milliseconds())
	}
}

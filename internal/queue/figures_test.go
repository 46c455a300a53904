package queue_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
)

// fill stores jobs without the queue, which would take long for so many: of each
// lane so many in one line, of which the first is held, and as many that ended and are
// kept.
func (r *rig) fill(db store.Database, lanes, each int) {
	r.Helper()
	tx, err := db.Write.BeginTx(r.Context(), nil)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	payload := `{"text":"` + strings.Repeat("x", 600) + `"}`
	for lane := range lanes {
		for _, part := range []struct {
			id, first, state string
			blocks           int
			ended            any
		}{{"w", "held", "waiting", 1, nil}, {"d", "dead", "done", 0, r.clock.Now().UnixMicro()}} {
			_, err := tx.ExecContext(r.Context(), db.Dialect.Bind(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				INSERT INTO jobs (tenant_id, id, queue, lane, order_key, seq, blocks, event, trigger_id, agent, tool, payload, state, held, run_at, lease, lease_until, owner, lost, attempt, base,
					max_attempts, skip_after, error, created_at, ended_at)
				SELECT ?, CAST(? AS TEXT) || i, 'q', ?, ?, i, ?, '', '', '', '', ?, CASE WHEN i = 1 THEN CAST(? AS TEXT) ELSE ? END, 'x', 0, 0, 0, '', 0, 0, 0, 0, 0, '', 0, CAST(? AS BIGINT) FROM n`),
				each, string(tenant), fmt.Sprintf("%s%d-", part.id, lane), fmt.Sprintf("%s lane%02d", tenant, lane), fmt.Sprintf("k%d", lane), part.blocks, payload, part.first, part.state, part.ended)
			if err != nil {
				r.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		r.Fatal(err)
	}
	if !strings.HasSuffix(r.Name(), "sqlite") { // as PostgreSQL does by itself after a while
		if _, err := db.Write.ExecContext(r.Context(), "VACUUM ANALYZE jobs"); err != nil {
			r.Fatal(err)
		}
	}
}

// TestFiguresOfManyJobs counts jobs while very many wait and are kept. How long that
// takes is for make prove; here only what comes of it.
func TestFiguresOfManyJobs(t *testing.T) {
	t.Parallel()
	const lanes = 20
	perLane := 100
	long := os.Getenv("JUNCTOR_PROVE") != ""
	if long {
		perLane = 10_000
	}
	each(t, func(r *rig) {
		st := r.open()
		r.fill(st.Database(), lanes, perLane)
		q := r.queue("a")
		add(r.T, q, job("", "lane00"), job("", "lane00"), job("held", "lane01"), job("", "other"))
		if n := len(r.claim(q)); n != 4 {
			r.Fatalf("%d jobs were leased", n)
		}
		held := add(r.T, q, job("h", "lane01"))
		if n, err := q.Hold(r.Context(), tenant, queue.Filter{Queue: "q", IDs: held}); n != 1 || err != nil {
			r.Fatal(n, err)
		}
		due := add(r.T, q, job("", "lane02"))
		if err := q.StopLane(r.Context(), "q", tenant, "gone", "why"); err != nil {
			r.Fatal(err)
		}
		since := r.clock.Now()
		r.clock.Add(time.Second)

		begin := time.Now()
		s, err := q.Stats(r.Context(), "q")
		counted := time.Since(begin)
		if err != nil {
			r.Fatal(err)
		}
		want := map[queue.State]int{queue.StateWaiting: lanes * (perLane - 1), queue.StateReady: len(due), queue.StateLeased: 4, queue.StateHeld: lanes + 1, queue.StateDead: lanes}
		for state, n := range want {
			if s.Counts[state] != n {
				r.Errorf("%s: %d, want %d", state, s.Counts[state], n)
			}
		}
		if !s.OldestReady.Equal(since) || s.Lanes[queue.LaneStopped] != 1 {
			r.Errorf("oldest at %s, want %s; lanes %v", s.OldestReady, since, s.Lanes)
		}

		begin = time.Now()
		list, err := q.Lanes(r.Context(), "q", tenant)
		listed := time.Since(begin)
		if err != nil || len(list) != lanes+2 {
			r.Fatalf("%d lanes, %v", len(list), err)
		}
		for i, wantJobs := range map[int]int{0: perLane + 2, 1: perLane + 2, 2: perLane + 1, 3: perLane} {
			if l := list[i+1]; l.Name != fmt.Sprintf("lane%02d", i) || l.Jobs != wantJobs || l.State != queue.LaneClosed || l.Held != 1+map[int]int{1: 1}[i] {
				r.Errorf("%+v, want %d jobs", l, wantJobs)
			}
		}
		if gone := list[0]; gone.Name != "gone" || gone.State != queue.LaneStopped || gone.Jobs != 0 || gone.Reason != "why" {
			r.Errorf("%+v", gone)
		}
		if others, err := q.Lanes(r.Context(), "q", "another"); err != nil || len(others) != 0 {
			r.Errorf("another tenant's lanes: %+v, %v", others, err)
		}
		if long {
			r.Logf("figure: %s: with %d waiting and %d kept jobs, counting the depth of the queue takes %s, listing the endpoints %s",
				r.Name()[strings.LastIndex(r.Name(), "/")+1:], lanes*perLane, lanes*perLane, counted.Round(time.Millisecond), listed.Round(time.Millisecond))
			if counted > time.Second || listed > time.Second {
				r.Error("that is longer than a second")
			}
		}
	})
}

// TestFiguresReadIndexesAlone asks each engine how it counts: without the rows of jobs,
// of which there may be very many. Those that are leased are looked up one by one.
func TestFiguresReadIndexesAlone(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		db := r.open().Database()
		r.fill(db, 10, 200)
		q := r.queue("a")
		conn, err := db.Read.Conn(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		defer conn.Close()
		explain, rows, index, one := "EXPLAIN QUERY PLAN ", " jobs ", "COVERING INDEX", "(id=?)"
		if !strings.HasSuffix(r.Name(), "sqlite") {
			explain, rows, index, one = "EXPLAIN ", " on jobs", "Index Only Scan", "jobs_pkey"
			// A table as small as this one is read whole, unless that is forbidden.
			for _, way := range []string{"seqscan", "bitmapscan"} {
				if _, err := conn.ExecContext(r.Context(), "SET enable_"+way+" = off"); err != nil {
					r.Fatal(err)
				}
			}
		}
		from, to := string(tenant)+" ", string(tenant)+"!"
		for name, statement := range map[string]struct {
			text  string
			looks int // at single jobs
			args  []any
		}{
			"the depth of the queue": {q.CountJobs(), 1, []any{"q", "q", "q", "q", "q"}},
			"the endpoints":          {q.CountLanes(), 0, []any{"q", from, to, "q", from, to}},
		} {
			plan := r.plan(conn, explain+db.Dialect.Bind(statement.text), statement.args...)
			if !strings.Contains(plan, index) || strings.Count(plan, one) != statement.looks || strings.Contains(plan, "TEMP B-TREE") {
				r.Errorf("%s:\n%s", name, plan)
			}
			for line := range strings.Lines(plan) {
				if strings.Contains(line, rows) && !strings.Contains(line, index) && !strings.Contains(line, one) {
					r.Errorf("%s: rows of jobs are read:\n%s", name, plan)
				}
			}
		}
	})
}

func (r *rig) plan(conn *sql.Conn, query string, args ...any) string {
	r.Helper()
	rows, err := conn.QueryContext(r.Context(), query, args...)
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		r.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		line, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range line {
			into[i] = &line[i]
		}
		if err := rows.Scan(into...); err != nil {
			r.Fatal(err)
		}
		fmt.Fprintln(&plan, " ", line[len(line)-1]) // what it does stands last
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return plan.String()
}

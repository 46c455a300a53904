package queue_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// claims counts what is written down of leases.
func claims(t testing.TB, db store.Database) (n int) {
	t.Helper()
	if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM job_claims`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What is written down of leases goes when they have ended, and stays until then:
// an end that is told twice ends one lease.
func TestClaimsGoWithTheirLeases(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		a, b := r.queue("a"), r.queue("b")
		db := r.open().Database()
		add(t, a, job("", "x"), job("", "x"))
		leases := r.claim(a)
		settle(t, a, leases[0], queue.OutcomeFinished)
		if _, err := a.Settle(t.Context(), leases[0], queue.AttemptResult{Outcome: queue.OutcomeFinished}); junctor.CodeOf(err) != junctor.CodeConflict {
			t.Errorf("settled twice: %v", err)
		}
		add(t, a, job("", "x"))
		more := r.claim(a)
		if n := claims(t, db); n != 2 {
			t.Errorf("%d claims are written down while two have leases, want 2", n)
		}
		settle(t, a, more[0], queue.OutcomeFinished)
		add(t, a, job("", "x"))
		if r.claim(a); claims(t, db) != 2 {
			t.Errorf("%d claims are written down while two have leases, want 2", claims(t, db))
		}

		// One lease is extended, the other one's process says nothing any more.
		r.clock.Add(lease / 2)
		if lost, err := a.ExtendLeases(t.Context(), leases[1:]); err != nil || len(lost) != 0 {
			t.Fatalf("lost %v, %v", idsOf(lost), err)
		}
		r.clock.Add(lease / 2)
		if got := r.claim(b); len(got) != 1 || got[0].ID == leases[1].ID {
			t.Errorf("leased %v, want the one that was not extended", idsOf(got))
		}
		r.clock.Add(lease / 2)
		if got := r.claim(b); len(got) != 1 || got[0].ID != leases[1].ID {
			t.Errorf("leased %v, want the one that was extended once", idsOf(got))
		}
		if n := claims(t, db); n != 2 {
			t.Errorf("%d claims are written down, want the newer two", n)
		}
		r.clock.Add(lease)
		if n, err := b.Drop(t.Context(), tenant, queue.Filter{Queue: "q"}); err != nil || n != 2 {
			t.Fatalf("dropped %d, %v", n, err)
		}
		if got := r.claim(a); len(got) != 0 || claims(t, db) != 0 {
			t.Errorf("leased %v, and %d claims are left", idsOf(got), claims(t, db))
		}
	})
}

// A clock that was set back makes leases end before they would have.
func TestLeasesRunOutByTheClockThatExtendedThem(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		a, b := r.queue("a"), r.queue("b")
		add(t, a, job("", "x"))
		leases := r.claim(a)
		r.clock.Add(-time.Hour)
		if lost, err := a.ExtendLeases(t.Context(), leases); err != nil || len(lost) != 0 {
			t.Fatalf("lost %v, %v", idsOf(lost), err)
		}
		r.clock.Add(lease - time.Microsecond)
		if got := r.claim(b); len(got) != 0 {
			t.Fatalf("leased %v too early", idsOf(got))
		}
		r.clock.Add(time.Microsecond)
		if got := r.claim(b); len(got) != 1 {
			t.Error("it was not leased again")
		}
	})
}

var leased = regexp.MustCompile(`\b(state|lease|lease_until|owner)\b`)

// stuck is an index of SQLite that names the state, and has no job that can be leased.
const stuck = `jobs_stuck ON jobs (queue, state, lane) WHERE state IN ('held', 'dead')`

// Leasing changes nothing that an index holds: PostgreSQL would write the row
// into all of them.
func TestLeasingWritesNoIndex(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		query := `SELECT indexdef FROM pg_indexes WHERE tablename = 'jobs'`
		if strings.HasSuffix(t.Name(), "sqlite") {
			query = `SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'jobs' AND sql IS NOT NULL`
		}
		rows, err := r.open().Database().Read.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close() // rows.Err reports errors
		indexes := 0
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			if indexes++; leased.MatchString(strings.TrimSuffix(text, stuck)) {
				t.Errorf("an index holds what a lease changes: %s", text)
			}
		}
		if err := rows.Err(); err != nil || indexes < 5 {
			t.Errorf("%d indexes, %v", indexes, err)
		}
	})
}

// A replica of the version before leases jobs and writes nothing down: what it had
// is found a little later.
func TestLeasesThatNobodyWroteDown(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q, db := r.queue("a"), r.open().Database()
		id := add(t, q, job("", "x"))[0]
		_, err := db.Write.ExecContext(t.Context(), db.Dialect.Bind(`UPDATE jobs SET state = 'leased', lease = 1, lease_until = ?, owner = 'before' WHERE id = ?`), r.clock.Now().Add(lease).UnixMicro(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.claim(q); len(got) != 0 {
			t.Fatalf("leased %v, which another has", idsOf(got))
		}
		r.clock.Add(time.Minute)
		if got := r.claim(q); len(got) != 1 || got[0].Token() != 2 || got[0].LostLeases != 1 {
			t.Errorf("leased %+v once the lease had run out", got)
		}
	})
}

// Leases of a database where nobody wrote them down still hold, and run out in time.
func TestLeasesOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "junctor.db")
	t.Run("sqlite", func(t *testing.T) {
		leasedBefore(t, func(ctx context.Context) (*store.Raw, error) { return sqlite.Raw(ctx, file) },
			func(ctx context.Context) (*store.Store, error) { return sqlite.Open(ctx, file) })
	})
	t.Run("postgres", func(t *testing.T) {
		url := server.Database(t)
		leasedBefore(t, func(ctx context.Context) (*store.Raw, error) { return postgres.Raw(ctx, url) },
			func(ctx context.Context) (*store.Store, error) { return postgres.Open(ctx, url) })
	})
}

func leasedBefore(t *testing.T, raw func(context.Context) (*store.Raw, error), open func(context.Context) (*store.Store, error)) {
	t.Helper()
	before, err := raw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const before28 = 27
	if err := before.MigrateTo(t.Context(), before28); err != nil {
		t.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
	}
	r := newRig(t, open)
	until := r.clock.Now().Add(lease).UnixMicro()
	if _, err := before.Write.ExecContext(t.Context(), `INSERT INTO tenants (tenant_id, name, created_at) VALUES ('acme', 'Acme', 1)`); err != nil {
		t.Fatal(err)
	}
	for _, job := range []struct {
		id, state, owner string
		until            int64
	}{{"one", "leased", "a", until}, {"two", "leased", "a", until + 1}, {"three", "leased", "b", until + 1}, {"four", "done", "", 0}} {
		_, err := before.Write.ExecContext(t.Context(), before.Dialect.Bind(`INSERT INTO jobs VALUES
			('acme', ?, 'q', 'acme x', '', 1, 0, NULL, '', '', '', '', '{}', ?, '', 2, 3, ?, ?, 0, 0, 0, 0, 0, '', 4, NULL, '')`), job.id, job.state, job.until, job.owner)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	q := r.queue("c")
	jobs, _, err := q.List(t.Context(), "acme", queue.Filter{Queue: "q", States: []queue.State{queue.StateLeased}})
	if err != nil || len(jobs) != 3 || jobs[0].State != queue.StateLeased {
		t.Fatalf("leased: %+v, %v", jobs, err)
	}
	if got := r.claim(q); len(got) != 0 {
		t.Errorf("leased %v, which others have", idsOf(got))
	}
	r.clock.Add(lease)
	if got := r.claim(q); len(got) != 1 || got[0].ID != "one" || got[0].Token() != 4 || got[0].LostLeases != 1 {
		t.Errorf("leased %+v once the first lease had run out", got)
	}
	if err := q.TakeBackLeases(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if got := r.claim(q); len(got) != 1 || got[0].ID != "three" {
		t.Errorf("leased %v once one owner was known to be gone", idsOf(got))
	}
	r.clock.Add(time.Microsecond)
	if got := r.claim(q); len(got) != 1 || got[0].ID != "two" {
		t.Errorf("leased %v once the last lease had run out", idsOf(got))
	}
}

// Jobs are not leased if it cannot be stored which ones were: nobody would find them when
// their leases expire. They wait for the next attempt.
func TestClaimThatCannotBeStored(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		q, db := r.queue("a"), r.open().Database()
		id := add(r.T, q, job("k", "lane"))[0]
		refuse, allow := `CREATE TRIGGER refuse BEFORE INSERT ON job_claims BEGIN SELECT RAISE(ABORT, 'full'); END`, `DROP TRIGGER refuse`
		if !strings.HasSuffix(r.Name(), "sqlite") {
			refuse, allow = `ALTER TABLE job_claims ADD CONSTRAINT refuse CHECK (queue = '') NOT VALID`, `ALTER TABLE job_claims DROP CONSTRAINT refuse`
		}
		if _, err := db.Write.ExecContext(r.Context(), refuse); err != nil {
			r.Fatal(err)
		}
		if got, _, err := q.Claim(r.Context(), "q", 100, plenty); err == nil || len(got) != 0 {
			r.Errorf("leased %v, %v", idsOf(got), err)
		}
		if _, err := db.Write.ExecContext(r.Context(), allow); err != nil {
			r.Fatal(err)
		}
		if got := r.claim(q); len(got) != 1 || got[0].ID != id || claims(r.T, db) != 1 {
			r.Errorf("leased %v, %d claims", idsOf(got), claims(r.T, db))
		}
	})
}

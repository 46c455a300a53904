package queue_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"

	gocmp "github.com/google/go-cmp/cmp"
)

// What an attempt came to is read as it was noted, whatever the other side said.
func TestAttemptsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		id := add(t, q, job("", "x"))[0]
		at := time.UnixMicro(1_700_000_000_000_001).UTC()
		want := []queue.Attempt{
			{Number: 1, StartedAt: at, DurationMS: 30_000, Outcome: "failed", Kind: "timeout", Error: "line\nline\t\"quoted\" \\ é \u2028", Note: "<&>", Call: "c1"},
			{Number: 2, StartedAt: at, Outcome: "failed", Status: 503, Error: "n\u00fcll and half \ufffd"},
			{Number: 3, StartedAt: at, DurationMS: 1, Outcome: "delivered", Answer: "{\"a\":[1,\"}{\"]}\n"},
		}
		for i, a := range want {
			class := queue.OutcomeRetry
			if i == len(want)-1 {
				class = queue.OutcomeFinished
			}
			if i == 1 {
				a.Error = "n\x00\u00fcll and half \xc3"
			}
			leases := r.claim(q)
			if len(leases) != 1 {
				t.Fatalf("attempt %d: %d leases", i+1, len(leases))
			}
			if _, err := q.Settle(t.Context(), leases[0], queue.AttemptResult{Outcome: queue.OutcomeNotStarted, Attempt: queue.Attempt{Outcome: "none"}}); err != nil {
				t.Fatal(err)
			}
			leases = r.claim(q) // what was not begun leaves no trace
			if _, err := q.Settle(t.Context(), leases[0], queue.AttemptResult{Outcome: class, Attempt: a}); err != nil {
				t.Fatal(err)
			}
			r.clock.Add(time.Minute)
		}
		got, err := q.Attempts(t.Context(), tenant, id)
		if d := gocmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		if got, err := q.Attempts(t.Context(), "other", id); err != nil || len(got) != 0 {
			t.Errorf("another tenant sees %v, %v", got, err)
		}
	})
}

// Attempts of a database that kept them in a table of their own are still there.
func TestAttemptsOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "junctor.db")
	t.Run("sqlite", func(t *testing.T) {
		older(t, func(ctx context.Context) (*store.Raw, error) { return sqlite.Raw(ctx, file) },
			func(ctx context.Context) (*store.Store, error) { return sqlite.Open(ctx, file) })
	})
	t.Run("postgres", func(t *testing.T) {
		url := server.Database(t)
		older(t, func(ctx context.Context) (*store.Raw, error) { return postgres.Raw(ctx, url) },
			func(ctx context.Context) (*store.Store, error) { return postgres.Open(ctx, url) })
	})
}

func older(t *testing.T, raw func(context.Context) (*store.Raw, error), open func(context.Context) (*store.Store, error)) {
	t.Helper()
	before, err := raw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const withTable = 24
	if err := before.MigrateTo(t.Context(), withTable); err != nil {
		t.Fatalf("%v (cause %v)", err, junctor.AsError(err).Cause)
	}
	for _, row := range []string{
		`INSERT INTO tenants (tenant_id, name, created_at) VALUES ('acme', 'Acme', 1)`,
		`INSERT INTO jobs VALUES ('acme', 'one', 'q', 'acme x', '', 1, 0, NULL, '', '', '', '', '{}', 'done', '', 2, 3, 0, '', 0, 2, 0, 0, 0, '', 4, 5)`,
		`INSERT INTO jobs VALUES ('acme', 'two', 'q', 'acme x', '', 1, 0, NULL, '', '', '', '', '{}', 'ready', '', 2, 3, 0, '', 0, 0, 0, 0, 0, '', 4, NULL)`,
		`INSERT INTO job_attempts VALUES ('acme', 'one', 10, 1700000000000002, 4, 'delivered', '', 0, '', '{"a":"é"}', '', '')`,
		`INSERT INTO job_attempts VALUES ('acme', 'one', 9, 1700000000000001, 3, 'failed', 'timeout', 503, 'it said "no"', '', 'n', 'c')`,
	} {
		if _, err := before.Write.ExecContext(t.Context(), row); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, open)
	q := r.queue("a")
	want := []queue.Attempt{
		{Number: 9, StartedAt: time.UnixMicro(1700000000000001).UTC(), DurationMS: 3, Outcome: "failed", Kind: "timeout", Status: 503, Error: `it said "no"`, Note: "n", Call: "c"},
		{Number: 10, StartedAt: time.UnixMicro(1700000000000002).UTC(), DurationMS: 4, Outcome: "delivered", Answer: `{"a":"é"}`},
	}
	got, err := q.Attempts(t.Context(), "acme", "one")
	if d := gocmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if got, err := q.Attempts(t.Context(), "acme", "two"); err != nil || len(got) != 0 {
		t.Errorf("of a job that was never tried: %v, %v", got, err)
	}
	jobs, _, err := q.List(t.Context(), "acme", queue.Filter{Queue: "q"})
	if ids := []string{jobs[0].ID, jobs[1].ID}; err != nil || !slices.Equal(ids, []string{"two", "one"}) {
		t.Errorf("listed %v, %v", ids, err)
	}
}

// A window of time holds the jobs that were added in it, to the microsecond.
func TestAWindowOfJobs(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.T
		q := r.queue("a")
		var ids []string
		var times []time.Time
		for range 4 {
			r.clock.Add(1001 * time.Nanosecond)
			ids, times = append(ids, add(t, q, job("", "x"))...), append(times, r.clock.Now())
		}
		got, _, err := q.List(t.Context(), tenant, queue.Filter{Queue: "q", From: times[1], To: times[3]})
		if err != nil || len(got) != 2 || got[0].ID != ids[2] || got[1].ID != ids[1] {
			t.Errorf("listed %d, %v", len(got), err)
		}
		if n, err := q.Drop(t.Context(), tenant, queue.Filter{Queue: "q", From: times[3]}); err != nil || n != 1 {
			t.Errorf("dropped %d, %v", n, err)
		}
	})
}

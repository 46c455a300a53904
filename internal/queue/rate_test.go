package queue_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// How many jobs a second go through that do nothing, with every commit on disk.
// Times are for make prove; here only that all of them do.
func TestRate(t *testing.T) {
	long := os.Getenv("JUNCTOR_PROVE") != ""
	if !long {
		t.Parallel()
	}
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "junctor.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		rate(t, st, long, 2000)
	})
	t.Run("postgres", func(t *testing.T) {
		s, err := pgtest.Start(pgtest.Options{Safe: long})
		pgtest.Need(t, err)
		defer s.Stop()
		st, err := postgres.Open(t.Context(), s.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		rate(t, st, long, 0)
	})
}

func rate(t *testing.T, st *store.Store, long bool, goal float64) {
	t.Helper()
	q, err := queue.New(queue.Options{DB: st.Database(), Owner: "a", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	jobs := 1000
	if long {
		jobs = 30000
	}
	begin := time.Now()
	for n := 0; n < jobs; n += 500 {
		batch := make([]queue.Job, 500)
		for i := range batch {
			batch[i] = job("", "x")
		}
		err := q.Write(t.Context(), func(ctx context.Context, tx *queue.Tx) error {
			_, err := tx.Enqueue(ctx, batch...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	added := time.Since(begin)
	begin = time.Now()
	done := 0
	var wg sync.WaitGroup
	slots := make(chan struct{}, 1000)
	for done < jobs {
		slots <- struct{}{} // until there is room for one
		leases, _, err := q.Claim(t.Context(), "q", 1+cap(slots)-len(slots), plenty)
		if err != nil {
			t.Fatal(err)
		}
		<-slots
		done += len(leases)
		for _, l := range leases {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if _, err := q.Settle(t.Context(), l, queue.AttemptResult{Outcome: queue.OutcomeFinished, Attempt: queue.Attempt{StartedAt: time.Now(), Outcome: "ok"}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	took := time.Since(begin)
	if s, err := q.Stats(t.Context(), "q"); err != nil || s.Counts[queue.StateReady]+s.Counts[queue.StateLeased] != 0 {
		t.Errorf("left: %+v, %v", s, err)
	}
	a, d := float64(jobs)/added.Seconds(), float64(jobs)/took.Seconds()
	groups, writes := q.Commits()
	t.Logf("figure: %s: %.0f jobs per second done (goal %.0f), %.0f added, every commit on disk; %d writes in %d commits", filepath.Base(t.Name()), d, goal, a, writes, groups)
	if long && d < goal {
		t.Errorf("%.0f jobs a second, want %.0f", d, goal)
	}
}

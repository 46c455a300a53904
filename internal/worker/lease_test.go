package worker_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to lock the database

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// TestALeaseThatCannotBeExtended locks the database while a delivery is under way:
// it is let go before its lease ends, since another process may have it then, and
// is made again once there is a database.
func TestALeaseThatCannotBeExtended(t *testing.T) {
	t.Parallel()
	path := storetest.Fresh(t)
	st, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	q, err := queue.New(queue.Options{DB: st.Database(), Owner: "a", Logger: log, LeaseDuration: 3 * time.Second, Jitter: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close(); _ = st.Close() })
	var began atomic.Int64
	ended := make(chan error, 1)
	r := &rig{T: t, q: q, p: &pipeline{answer: func(ctx context.Context, _ *guard.Op, _ string, _ int) (catalog.Result, error) {
		if began.Add(1) > 1 {
			return fine()
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return catalog.Result{}, ctx.Err()
	}}}
	if r.w, err = worker.New(worker.Options{Queue: q, Pipeline: r.p, Endpoints: bare{}, Meter: meter{}, Logger: log}); err != nil {
		t.Fatal(err)
	}
	r.run()
	id := r.place(order("s", "a"))[0]
	r.until("the delivery is under way", func() bool { return began.Load() == 1 })

	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	select {
	case why := <-ended:
		if !strings.Contains(why.Error(), "could not be extended") {
			t.Errorf("it ended because %v", why)
		}
	case <-time.After(time.Minute):
		t.Fatal("the delivery goes on although nobody could extend its lease")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.until("it is delivered after all", func() bool { return r.state(id) == queue.StateDone })
	if n := began.Load(); n != 2 {
		t.Errorf("it was attempted %d times, want 2", n)
	}
}

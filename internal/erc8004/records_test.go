package erc8004

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// raised keeps what was raised, by its key: a transaction may run twice.
type raised struct {
	order []string
	by    map[string]junctor.RaisedEvent
}

func (r *raised) Raise(_ context.Context, _ *queue.Tx, _ junctor.TenantID, e junctor.RaisedEvent) error {
	if _, again := r.by[e.Dedupe]; !again {
		r.order = append(r.order, e.Dedupe)
	}
	r.by[e.Dedupe] = e
	return nil
}

func records(t *testing.T, db store.Database) (*Records, *raised) {
	t.Helper()
	q, err := queue.New(queue.Options{DB: db, Owner: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	r := &raised{by: map[string]junctor.RaisedEvent{}}
	return &Records{Tenant: junctor.DefaultTenant, DB: db, Queue: q, Raiser: r, Names: map[uint64]string{31337: "local"}, Now: time.Now}, r
}

func onBoth(t *testing.T, test func(t *testing.T, db store.Database)) {
	t.Helper()
	run := func(t *testing.T, open func(context.Context) (*store.Store, error)) {
		t.Helper()
		st, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, st.Database())
	}
	t.Run("sqlite", func(t *testing.T) {
		path := storetest.Fresh(t)
		run(t, func(ctx context.Context) (*store.Store, error) { return sqlite.Open(ctx, path) })
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Seeded(t, &server, postgres.Open)
		run(t, func(ctx context.Context) (*store.Store, error) { return postgres.Open(ctx, url) })
	})
}

// The database keeps what the contract says, whatever the chain does.
func TestRecordsAreALedger(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		runs := 0
		rapid.Check(t, func(rt *rapid.T) {
			if runs++; runs > 25 {
				return // each is a whole chain in a database
			}
			r, got := records(t, db)
			// A chain of its own for each run, in the same tables.
			chain := testChain(uint64(rapid.IntRange(0, 3).Draw(rt, "confirmations")))
			chain.ID = uint64(runs)
			r.Names[chain.ID] = "local"
			c := newModelChain()
			c.id = chain.ID
			events := func() int { return rapid.IntRange(0, 2).Draw(rt, "events") }
			model := &modelLedger{counted: func(Seen) {}}
			both := twins{model, r}
			w := newWatcher(chain, c, both, quiet())
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				if rapid.Bool().Draw(rt, "fork") {
					c.reorg(rapid.IntRange(1, 5).Draw(rt, "depth"), events)
				} else {
					c.mine(events())
				}
				if _, err := w.pollChain(context.Background()); err != nil {
					rt.Fatal(err)
				}
			}
			same(rt, model, r, got, chain.ID)
		})
	})
}

// twins takes each step twice.
type twins struct {
	model *modelLedger
	sql   *Records
}

func (b twins) Blocks(ctx context.Context, chain uint64, limit int) ([]Block, error) {
	return b.sql.Blocks(ctx, chain, limit)
}

func (b twins) Take(ctx context.Context, s Step) error {
	return errors.Join(b.sql.Take(ctx, s), b.model.Take(ctx, s))
}

func same(t *rapid.T, model *modelLedger, r *Records, got *raised, chain uint64) {
	all, err := r.List(context.Background(), Filter{Chain: chain, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(model.rows) {
		t.Fatalf("%d events in the database, %d in the model", len(all), len(model.rows))
	}
	counted, retracted := 0, 0
	for _, want := range model.rows {
		for _, e := range all {
			if e.ID() != want.ID() {
				continue
			}
			if e.State != want.state || e.Retracted != want.retracted {
				t.Fatalf("%s is %s, taken back %d times; the model has %s and %d", e.ID(), e.State, e.Retracted, want.state, want.retracted)
			}
			counted += e.Counted
			retracted += e.Retracted
		}
	}
	if len(got.order) != counted+retracted {
		t.Fatalf("%d events were raised, %d came to count and %d were taken back", len(got.order), counted, retracted)
	}
}

func TestRecordsRefuseASecondReader(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		one, _ := records(t, db)
		two, got := records(t, db)
		c := newModelChain()
		c.mine(1)
		a, b := newWatcher(testChain(0), c, one, quiet()), newWatcher(testChain(0), c, two, quiet())
		for _, w := range []*Watcher{a, b} {
			if _, err := w.pollChain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.mine(1)
		if _, err := a.pollChain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.pollChain(t.Context()); err == nil {
			t.Error("the second reader goes on from where the chain no longer is")
		}
		if len(got.order) != 0 {
			t.Errorf("the second reader raised %d events", len(got.order))
		}
		if _, err := b.pollChain(t.Context()); err != nil {
			t.Errorf("the second reader does not find its place again: %v", err)
		}
	})
}

// The effects of all events of a step are stored before any of them is raised, in the
// same transaction: feedback that follows a transfer finds the tokens suspended.
func TestEffectsComeBeforeDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		r, got := records(t, db)
		c := newModelChain()
		c.mine(2)
		c.mine(2)
		r.Storing = func(context.Context, *queue.Tx, Seen) error { return errors.New("a test") }
		if _, err := newWatcher(testChain(0), c, r, quiet()).pollChain(t.Context()); err == nil || len(got.order) != 0 {
			t.Errorf("%v, %d events were raised though one was not stored", err, len(got.order))
		}
		stored := map[string]bool{}
		r.Storing = func(ctx context.Context, tx *queue.Tx, e Seen) error {
			stored[e.ID()] = true
			if len(got.order) > 0 {
				t.Errorf("%d events were raised before %s was stored", len(got.order), e.ID())
			}
			return store.SuspendEndpoints(ctx, tx, r.Tenant, e.Of().String(), "a test")
		}
		if _, err := newWatcher(testChain(0), c, r, quiet()).pollChain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(stored) != 4 || len(got.order) != 4 {
			t.Errorf("%d events were stored and %d raised, want 4", len(stored), len(got.order))
		}
	})
}

func TestRecordsRaiseEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, db store.Database) {
		t.Helper()
		r, got := records(t, db)
		var told []string
		r.Notify = func(e Seen) { told = append(told, e.ID()) }
		c := newModelChain()
		c.mine(2)
		w := newWatcher(testChain(1), c, r, quiet())
		look := func() {
			t.Helper()
			if _, err := w.pollChain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		look()
		if len(got.order) != 0 || len(told) != 2 {
			t.Fatalf("%d events count before their time, %d were told", len(got.order), len(told))
		}
		c.mine(0)
		look()
		if len(got.order) != 2 {
			t.Fatalf("%d events count", len(got.order))
		}
		e := got.by[got.order[0]]
		if e.Source != "chain:local" || e.Type != "NewFeedback" || e.Agent != fmt.Sprintf("eip155:31337:%s/2", identityAt) || len(e.Data) == 0 {
			t.Errorf("%+v", e)
		}
		c.reorg(2, func() int { return 0 })
		look()
		if len(got.order) != 4 || got.by[got.order[3]].Type != "NewFeedback.retracted" || got.by[got.order[3]].Dedupe != e.Dedupe+".retracted" {
			t.Errorf("%q", got.order)
		}
		if all, err := r.List(t.Context(), Filter{Agent: e.Agent, State: "orphaned", Limit: 10}); err != nil || len(all) != 2 {
			t.Errorf("%d events of the agent are orphaned, %v", len(all), err)
		}
	})
}
